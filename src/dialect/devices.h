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

/// The text of an expression that any device meant by one of the words satisfies: `model == "T4"`.
/// REQUIRES: at least one word.
std::string models_text(const Catalog* catalog, std::span<const std::string_view> words);

}  // namespace tutti
