#include "dialect/devices.h"

#include <algorithm>
#include <string>
#include <vector>

#include "model/catalog.h"

namespace tutti {
namespace {

std::string quoted(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) {
    if (c != '"') out += c;  // Expressions know no escapes, and no model has a quote in its name.
  }
  return out + "\"";
}

}  // namespace

DeviceType device_type_of(const Catalog* catalog, std::string_view name) {
  if (catalog != nullptr) {
    if (auto known = catalog->find(name)) return *std::move(known);
  }
  return {.model = std::string(name)};
}

std::string models_text(const Catalog* catalog, std::span<const std::string_view> words) {
  std::vector<std::string> models;
  const auto add = [&](std::string model) {
    if (std::ranges::find(models, model) == models.end()) models.push_back(std::move(model));
  };
  for (const std::string_view word : words) {
    const auto meanings =
        catalog == nullptr ? std::vector<const Catalog::Entry*>{} : catalog->meanings(word);
    for (const Catalog::Entry* entry : meanings) add(quoted(entry->type.model));
    if (meanings.empty()) add(quoted(word));
  }
  if (models.size() == 1) return "model == " + models.front();
  std::string list;
  for (const std::string& model : models) list += (list.empty() ? "" : ", ") + model;
  return "model in (" + list + ")";
}

}  // namespace tutti
