/// Any bytes as a user's catalog file: it is refused with a place and changes nothing, or every
/// entry is found by its name and every MIG instance lies on its card.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/catalog.h"

namespace {

using namespace tutti;

void check_layouts(const Catalog& catalog) {
  for (const MigLayout& layout : catalog.layouts()) {
    for (const MigProfile& profile : layout.profiles) {
      CHECK(profile.max > 0 && profile.compute_slices <= layout.compute_slices, profile.name);
      CHECK(profile.max * profile.compute_slices <= layout.compute_slices, profile.name);
      for (const std::uint16_t start : profile.placements) {
        CHECK(start + profile.size <= layout.memory_slices, profile.name, start);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Catalog shipped = Catalog::builtin().value();
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Catalog catalog = shipped;
  if (const auto added = catalog.add(text, "own.yaml"); !added) {
    CHECK(added.error().where.starts_with("own.yaml:"), added.error().where, added.error().what);
    CHECK(catalog.all().size() == shipped.all().size());
    return 0;
  }
  CHECK(catalog.all().size() >= shipped.all().size());
  for (const Catalog::Entry* entry : catalog.all()) {
    CHECK(catalog.entry(entry->type.model) == entry, entry->type.model);
    CHECK(catalog.meanings(entry->type.model).size() == 1, entry->type.model);
    CHECK(catalog.vendor(entry->type.vendor) != nullptr, entry->type.vendor);
    for (const std::string& family : entry->families) CHECK(catalog.entry(family), family);
    for (const std::string& name : entry->resource_names) {
      CHECK(catalog.find_resource(name).has_value(), name);
    }
    catalog.visible_devices(*entry);
  }
  check_layouts(catalog);
  return 0;
}
