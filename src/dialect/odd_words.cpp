/// Notes on words of files that nobody knows.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "dialect/devices.h"
#include "dialect/mentions.h"
#include "format/text.h"

namespace tutti {
namespace {

/// The words that an attribute may have; none where it is a number.
using Attributes = std::map<std::string_view, std::set<std::string_view>, std::less<>>;

void add_type(const DeviceType& type, Attributes& out) {
  if (!type.vendor.empty()) out["vendor"].insert(type.vendor);
  if (!type.profile.empty()) out["profile"].insert(type.profile);
  for (const Attribute& attribute : type.attributes) {
    std::set<std::string_view>& words = out[attribute.name];
    if (!attribute.text.empty()) words.insert(attribute.text);
  }
}

/// What the catalog and a fleet know. Points into both.
struct Known {
  Attributes attributes;
  std::set<std::string_view> models;  ///< Of the fleet.
  std::set<std::string_view> labels;  ///< The same.
  std::set<std::string_view> levels;  ///< The same, of its topology.
};

Known known_to(const FleetFile* fleet, const Catalog& catalog) {
  Known out;
  for (const std::string_view kind : {"gpu", "npu", "tpu", "fpga", "nic"}) {
    out.attributes["kind"].insert(kind);
  }
  out.attributes["memory"];
  out.attributes["model"];
  for (const Catalog::Entry* entry : catalog.all()) add_type(entry->type, out.attributes);
  for (const MigLayout& layout : catalog.layouts()) {
    for (const MigProfile& profile : layout.profiles) {
      out.attributes["profile"].insert(profile.name);
    }
  }
  if (fleet == nullptr) return out;
  const DeviceType* last = nullptr;  // Cards come in rows of equal ones.
  for (const NodeSpec& node : fleet->nodes) {
    for (const Label& label : node.labels.all()) out.labels.insert(label.key);
    for (const DeviceSpec& device : node.devices) {
      if (last == nullptr || device.type != *last) add_type(device.type, out.attributes);
      if (last == nullptr || device.type.model != last->model) out.models.insert(device.type.model);
      last = &device.type;
    }
  }
  for (const TreeSpec& tree : fleet->trees) {
    out.levels.insert(tree.levels.begin(), tree.levels.end());
  }
  return out;
}

std::vector<std::string_view> listed(const std::set<std::string_view>& words) {
  return {words.begin(), words.end()};
}

/// "1g.10gb": what people call a slice of a card.
bool names_a_slice(const Attributes& attributes, std::string_view word) {
  const auto profiles = attributes.find("profile");
  return profiles != attributes.end() && profiles->second.contains(word);
}

Error note(const Mention& mention, std::string what, std::string hint) {
  return {Code::not_found, std::move(what), mention.where, std::move(hint)};
}

Error odd_model(const Mention& mention, const Known& known, const Catalog& catalog) {
  std::string what = fmt::format("the catalog does not know {}", quote(mention.name));
  if (names_a_slice(known.attributes, mention.name)) {
    return note(
        mention, std::move(what),
        fmt::format("a slice is asked for with gpu: {{where: profile == {}}}, and described "
                    "with devices: [{{model: A100-80G, profile: {}}}]",
                    mention.name, mention.name));
  }
  std::vector<std::string_view> words = model_words(catalog);
  words.insert(words.end(), known.models.begin(), known.models.end());
  std::erase(words, mention.name);  // A fleet that calls its cards so does not explain the word.
  const auto near = closest(mention.name, words);
  return note(mention, std::move(what),
              near ? fmt::format("did you mean {}?", quote(*near))
                   : "tutti catalog lists what it knows, and --catalog FILE adds to it");
}

std::optional<Error> odd_attribute(const Mention& mention, const Known& known) {
  const auto at = known.attributes.find(mention.name);
  if (at == known.attributes.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, words] : known.attributes) names.push_back(name);
    return note(mention, fmt::format("no device has an attribute {}", quote(mention.name)),
                did_you_mean(mention.name, names));
  }
  const std::set<std::string_view>& words = at->second;
  if (mention.value.empty() || words.empty() || words.contains(mention.value)) return std::nullopt;
  return note(mention, fmt::format("no device has the {} {}", mention.name, quote(mention.value)),
              did_you_mean(mention.value, listed(words)));
}

std::optional<Error> odd_level(const Mention& mention, const Known& known) {
  if (mention.name == "host" || known.labels.contains(mention.name)) return std::nullopt;
  std::set<std::string_view> words = known.labels;
  words.insert("host");
  return note(mention, fmt::format("no node has a label {}", quote(mention.name)),
              did_you_mean(mention.name, listed(words)));
}

std::optional<Error> odd(const Mention& mention, const Known& known, const Catalog& catalog) {
  switch (mention.of) {
    case Mention::Of::model:
      if (!models_called(&catalog, mention.name).empty()) return std::nullopt;
      return odd_model(mention, known, catalog);
    case Mention::Of::attribute:
      return odd_attribute(mention, known);
    case Mention::Of::label:
      if (known.levels.empty() || known.levels.contains(mention.name)) return std::nullopt;
      return note(mention, fmt::format("{} is no level of the topology", quote(mention.name)),
                  did_you_mean(mention.name, listed(known.levels)));
    case Mention::Of::amount:
      return note(mention, mention.name, "did you mean " + mention.value + "?");
    default:
      return std::nullopt;
  }
}

}  // namespace

std::vector<Error> odd_words(const FleetFile& fleet, const Catalog& catalog) {
  std::vector<Error> out;
  if (fleet.mentions.empty()) return out;
  const Known known = known_to(&fleet, catalog);
  for (const Mention& mention : fleet.mentions) {
    if (auto found = odd(mention, known, catalog)) out.push_back(*std::move(found));
  }
  return out;
}

std::vector<Error> odd_words(const Workload& workload, const FleetFile* fleet,
                             const Catalog& catalog) {
  std::vector<Error> out;
  if (workload.mentions.empty()) return out;
  const Known known = known_to(fleet, catalog);
  for (const Mention& mention : workload.mentions) {
    if (mention.of == Mention::Of::model && known.models.contains(mention.name)) continue;
    const bool level = mention.of == Mention::Of::level && fleet != nullptr;
    auto found = level ? odd_level(mention, known) : odd(mention, known, catalog);
    if (found) out.push_back(*std::move(found));
  }
  return out;
}

}  // namespace tutti
