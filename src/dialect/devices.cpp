#include "dialect/devices.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dialect/tutti_read.h"
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

/// A figure of the whole card, as far as a slice has it; none where nobody knows its part.
std::optional<std::int64_t> part_of(const Attribute& figure, const MigLayout* layout,
                                    const MigProfile* profile) {
  const std::string_view name = figure.name;
  const bool rate = name.ends_with("_tflops") || name.ends_with("_tops");
  const bool bandwidth = name == "memory_bandwidth_gb_per_s";
  if (name.ends_with("_power_w") || name.starts_with("interconnect")) return std::nullopt;
  if (!rate && !bandwidth) return figure.number;
  if (profile == nullptr) return std::nullopt;
  if (rate) return figure.number * profile->compute_slices / layout->compute_slices;
  return figure.number * profile->size / layout->memory_slices;
}

}  // namespace

bool become_slice(DeviceType& card, const Catalog* catalog, std::string_view profile) {
  const Catalog::Entry* const entry = catalog == nullptr ? nullptr : catalog->entry(card.model);
  const MigLayout* const layout = entry == nullptr ? nullptr : catalog->layout(entry->mig);
  const MigProfile* const known = layout == nullptr ? nullptr : layout->find(profile);
  card.profile = known == nullptr ? profile : known->name;
  card.memory_mib = known == nullptr ? 0 : known->memory_mib;
  std::vector<Attribute> attributes;
  for (Attribute& figure : card.attributes) {
    const auto part = part_of(figure, layout, known);
    if (!part) continue;
    figure.number = *part;
    attributes.push_back(std::move(figure));
  }
  card.attributes = std::move(attributes);
  return known != nullptr;
}

std::vector<const Catalog::Entry*> models_called(const Catalog* catalog, std::string_view word) {
  if (catalog == nullptr) return {};
  auto known = catalog->meanings(word);
  if (!known.empty()) return known;
  const std::string folded = folded_word(word);
  const bool bytes = folded.size() > 2 && folded.ends_with("gb") &&
                     std::string_view("0123456789").contains(folded[folded.size() - 3]);
  if (bytes) known = catalog->meanings(std::string_view(folded).substr(0, folded.size() - 1));
  return known;
}

std::vector<std::string_view> model_words(const Catalog& catalog) {
  std::vector<std::string_view> out;
  for (const Catalog::Entry* entry : catalog.all()) {
    out.insert(out.end(), entry->families.begin(), entry->families.end());
    out.push_back(entry->type.model);
  }
  for (const Catalog::Entry* entry : catalog.all()) {
    out.insert(out.end(), entry->aliases.begin(), entry->aliases.end());
  }
  return out;
}

std::optional<CountedModel> counted_model(std::string_view text) {
  const auto trimmed = [](std::string_view part) {
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    return part;
  };
  const std::size_t cross = std::min(text.find('x'), text.size());
  const auto count = whole_number(trimmed(text.substr(0, cross)));
  const std::string_view model = trimmed(text.substr(std::min(cross + 1, text.size())));
  if (!count || model.empty()) return std::nullopt;
  return CountedModel{*count, model};
}

DeviceType device_type_of(const Catalog* catalog, std::string_view name) {
  const auto known = models_called(catalog, name);
  if (!known.empty()) return known.front()->type;
  return {.model = std::string(name)};
}

std::string models_text(const Catalog* catalog, std::span<const std::string_view> words) {
  std::vector<std::string> models;
  const auto add = [&](std::string model) {
    if (std::ranges::find(models, model) == models.end()) models.push_back(std::move(model));
  };
  for (const std::string_view word : words) {
    const auto meanings = models_called(catalog, word);
    for (const Catalog::Entry* entry : meanings) add(quoted(entry->type.model));
    if (meanings.empty()) add(quoted(word));
  }
  if (models.size() == 1) return "model == " + models.front();
  std::string list;
  for (const std::string& model : models) list += (list.empty() ? "" : ", ") + model;
  return "model in (" + list + ")";
}

}  // namespace tutti
