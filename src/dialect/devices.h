/// What a word for a device model means.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/device.h"

namespace tutti {

class Catalog;

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
