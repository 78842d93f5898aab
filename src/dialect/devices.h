/// What a word for a device model means.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/catalog.h"

namespace tutti {

/// Every device that a word may mean: a name, an alias or a family of the catalog, blanks around it
/// left alone, and "80GB" as good as "80G". None where the catalog is absent or does not know it.
std::vector<const Catalog::Entry*> models_called(const Catalog* catalog, std::string_view word);

/// All that the catalog's devices may be called, for hints: names and families first.
std::vector<std::string_view> model_words(const Catalog& catalog);

/// "8xA100-80G", "8 x A100-80G": a number of cards of one model.
struct CountedModel {
  std::int64_t count = 0;
  std::string_view model;
};
std::optional<CountedModel> counted_model(std::string_view text);

/// The catalog's type of that name or alias; a bare type that only has this name where the catalog
/// is absent or does not know it.
DeviceType device_type_of(const Catalog* catalog, std::string_view name);

/// The type of a slice of the card. Of a profile that the catalog knows it has the memory and its
/// part of the rates and of the bandwidth; of another one, no figure at all, and the result is
/// false. No slice has links to other cards, nor power of its own.
bool become_slice(DeviceType& card, const Catalog* catalog, std::string_view profile);

/// The text of an expression that any device meant by one of the words satisfies: `model == "T4"`.
/// REQUIRES: at least one word.
std::string models_text(const Catalog* catalog, std::span<const std::string_view> words);

}  // namespace tutti
