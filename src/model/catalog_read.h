/// One catalog file, decoded and checked by itself; how files join is catalog.cpp's. Private to
/// model/. Linear in the text.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/catalog.h"

namespace tutti {

struct CatalogFile {
  std::vector<Catalog::Vendor> vendors;
  std::vector<MigLayout> layouts;
  std::vector<Catalog::Entry> devices;
};

/// Errors stand at "file_name:line:column".
Result<CatalogFile> read_catalog(std::string_view yaml, std::string_view file_name);

}  // namespace tutti
