#include "model/catalog.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "format/text.h"
#include "generated/catalog.h"
#include "model/catalog_read.h"

namespace tutti {
namespace {

/// Adds `fresh` to `known`, in the place of an earlier entry of the same name where that is
/// allowed.
template <class T, class Name>
Result<void> merge(std::vector<T>& known, std::vector<T> fresh, bool may_replace, Name name) {
  const std::size_t old_size = known.size();
  std::vector<bool> replaced(old_size);
  for (T& item : fresh) {
    const std::string wanted = name(item);
    const auto at = std::ranges::find(known, wanted, name);
    const auto row = static_cast<std::size_t>(at - known.begin());
    if (at == known.end()) {
      known.push_back(std::move(item));
    } else if (may_replace && row < old_size && !replaced[row]) {
      replaced[row] = true;
      *at = std::move(item);
    } else {
      return fail({.code = Code::conflict,
                   .what = fmt::format("{} stands also at {}", quote(wanted), at->where),
                   .where = item.where,
                   .hint = "give one of them another name"});
    }
  }
  return {};
}

template <class T>
std::vector<std::string_view> names_of(const std::vector<T>& items) {
  std::vector<std::string_view> out;
  out.reserve(items.size());
  for (const T& item : items) out.push_back(item.name);
  return out;
}

/// The value of a label up to the first marker.
std::string_view unmarked(std::string_view value, const std::vector<std::string>& markers) {
  for (const std::string& marker : markers) {
    if (!marker.empty()) value = value.substr(0, value.find(marker));
  }
  return value;
}

}  // namespace

std::string folded_word(std::string_view word) {
  std::string out;
  for (const char c : word) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool lower = c >= 'a' && c <= 'z';
    const bool digit = c >= '0' && c <= '9';
    const bool other = static_cast<unsigned char>(c) >= 0x80 || c == '.' || c == '+';
    if (upper || lower || digit || other) out += upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

const MigProfile* MigLayout::find(std::string_view profile) const {
  const auto at = std::ranges::find_if(profiles, [&](const MigProfile& each) {
    return std::ranges::equal(each.name, profile, [](char ours, char theirs) {
      return ours == theirs || (ours == '+' && theirs == '.');
    });
  });
  return at == profiles.end() ? nullptr : &*at;
}

// --- Reading ------------------------------------------------------------------------------------

Result<Catalog> Catalog::builtin() {
  Catalog catalog;
  for (const auto& [file_name, text] : embedded::catalog()) {
    TRY(catalog.read(text, file_name, /*may_replace=*/false));
  }
  TRY(catalog.index());
  return catalog;
}

Result<void> Catalog::add(std::string_view yaml, std::string_view file_name) {
  Catalog next = *this;
  TRY(next.read(yaml, file_name, /*may_replace=*/true));
  TRY(next.index());
  *this = std::move(next);
  return {};
}

Result<void> Catalog::read(std::string_view yaml, std::string_view file_name, bool may_replace) {
  CatalogFile file = TRY(read_catalog(yaml, file_name));
  const auto name = [](const auto& item) { return item.name; };
  const auto model = [](const Entry& entry) { return folded_word(entry.type.model); };
  TRY(merge(vendors_, std::move(file.vendors), may_replace, name));
  TRY(merge(layouts_, std::move(file.layouts), may_replace, name));
  return merge(entries_, std::move(file.devices), may_replace, model);
}

Result<void> Catalog::index() {
  TRY(check_references());
  TRY(index_words());
  index_resources();
  index_labels();
  return {};
}

Result<void> Catalog::check_references() const {
  const auto missing = [](const Entry& entry, std::string_view noun, std::string_view name,
                          const std::vector<std::string_view>& known) {
    return fail(
        {.code = Code::not_found,
         .what = fmt::format("device {}: no {} {}", quote(entry.type.model), noun, quote(name)),
         .where = entry.where,
         .hint = did_you_mean(name, known)});
  };
  for (const Entry& entry : entries_) {
    if (vendor(entry.type.vendor) == nullptr) {
      return missing(entry, "vendor", entry.type.vendor, names_of(vendors_));
    }
    if (!entry.mig.empty() && layout(entry.mig) == nullptr) {
      return missing(entry, "MIG layout", entry.mig, names_of(layouts_));
    }
  }
  return {};
}

Result<void> Catalog::index_words() {
  words_.clear();
  for (std::uint32_t row = 0; row < entries_.size(); ++row) {
    const Entry& entry = entries_[row];
    words_.push_back({folded_word(entry.type.model), false, row});
    for (const std::string& alias : entry.aliases)
      words_.push_back({folded_word(alias), false, row});
    for (const std::string& word : entry.families) words_.push_back({folded_word(word), true, row});
  }
  std::ranges::sort(words_);
  words_.erase(std::ranges::unique(words_).begin(), words_.end());
  for (std::size_t at = 1; at < words_.size(); ++at) {
    const Word& word = words_[at];
    if (word.family || word.text != words_[at - 1].text) continue;
    const Entry& first = entries_[words_[at - 1].entry];
    const Entry& second = entries_[word.entry];
    return fail({.code = Code::conflict,
                 .what = fmt::format("device {} and device {} ({}) are both called {}",
                                     quote(second.type.model), quote(first.type.model), first.where,
                                     quote(word.text)),
                 .where = second.where,
                 .hint = "a word that means several models belongs in families"});
  }
  return {};
}

void Catalog::index_resources() {
  resources_.clear();
  const auto list = [&](const std::vector<std::string>& names, Resource row) {
    for (const std::string& name : names) {
      row.name = name;
      resources_.push_back(row);
    }
  };
  for (std::uint32_t row = 0; row < vendors_.size(); ++row) {
    const Vendor& vendor = vendors_[row];
    list(vendor.resource_names, {.name = {}, .vendor = row, .entry = {}});
    list(vendor.resource_prefixes, {.name = {}, .prefix = true, .vendor = row, .entry = {}});
    list(vendor.core_resource_names, {.name = {}, .cores = true, .vendor = row, .entry = {}});
  }
  for (std::uint32_t row = 0; row < entries_.size(); ++row) {
    const Entry& entry = entries_[row];
    const std::uint32_t vendor = vendor_row(entry.type.vendor);
    list(entry.resource_names, {.name = {}, .vendor = vendor, .entry = row});
    list(entry.resource_prefixes, {.name = {}, .prefix = true, .vendor = vendor, .entry = row});
  }
  std::ranges::sort(resources_);
  std::vector<Resource> merged;
  for (Resource& row : resources_) {
    const bool again =
        !merged.empty() && merged.back().name == row.name && merged.back().prefix == row.prefix;
    if (!again)
      merged.push_back(std::move(row));
    else if (merged.back().entry != row.entry)
      merged.back().entry.reset();
  }
  resources_ = std::move(merged);
}

void Catalog::index_labels() {
  labels_.clear();
  for (std::uint32_t row = 0; row < entries_.size(); ++row) {
    for (const LabelMeaning& label : entries_[row].labels) {
      for (const std::string& value : label.values) labels_.push_back({label.key, value, row});
    }
  }
  const auto key = [](const NodeLabel& label) { return std::tie(label.key, label.value); };
  std::ranges::stable_sort(labels_, {}, key);
  std::vector<NodeLabel> merged;
  for (NodeLabel& label : labels_) {
    const bool again = !merged.empty() && key(merged.back()) == key(label);
    if (!again)
      merged.push_back(std::move(label));
    else if (merged.back().entry != label.entry)
      merged.back().entry.reset();
  }
  labels_ = std::move(merged);
}

// --- Looking up ---------------------------------------------------------------------------------

const Catalog::Entry* Catalog::entry(std::string_view word) const {
  const std::string text = folded_word(word);
  const auto at = std::ranges::lower_bound(words_, text, {}, &Word::text);
  return at == words_.end() || at->text != text ? nullptr : &entries_[at->entry];
}

std::optional<DeviceType> Catalog::find(std::string_view word) const {
  const Entry* const found = entry(word);
  if (found == nullptr) return std::nullopt;
  return found->type;
}

std::vector<const Catalog::Entry*> Catalog::meanings(std::string_view word) const {
  std::vector<const Entry*> out;
  const std::string text = folded_word(word);
  auto at = std::ranges::lower_bound(words_, text, {}, &Word::text);
  for (; at != words_.end() && at->text == text; ++at) {
    out.push_back(&entries_[at->entry]);
    if (!at->family) break;
  }
  return out;
}

const Catalog::Entry* Catalog::by_model_labels(const Labels& labels) const {
  for (const Vendor& vendor : vendors_) {
    for (const std::string& key : vendor.model_labels) {
      const std::string* const value = labels.find(key);
      if (value == nullptr) continue;
      const Entry* const found = entry(unmarked(*value, vendor.label_markers));
      if (found != nullptr) return found;
    }
  }
  return nullptr;
}

const Catalog::Entry* Catalog::find_by_labels(const Labels& labels) const {
  if (const Entry* const found = by_model_labels(labels)) return found;
  for (const Label& label : labels.all()) {
    const auto wanted = std::tie(label.key, label.value);
    const auto at = std::ranges::lower_bound(
        labels_, wanted, {}, [](const NodeLabel& each) { return std::tie(each.key, each.value); });
    const bool found = at != labels_.end() && at->key == label.key && at->value == label.value;
    if (found && at->entry) return &entries_[*at->entry];
  }
  return nullptr;
}

const Catalog::Resource* Catalog::resource_row(std::string_view name, bool prefix) const {
  const auto key = [](const Resource& row) {
    return std::pair<std::string_view, bool>(row.name, row.prefix);
  };
  const auto at = std::ranges::lower_bound(resources_, std::pair(name, prefix), {}, key);
  return at == resources_.end() || key(*at) != std::pair(name, prefix) ? nullptr : &*at;
}

std::optional<Catalog::Counted> Catalog::find_resource(std::string_view resource) const {
  const Resource* row = resource_row(resource, /*prefix=*/false);
  std::size_t length = resource.size();
  while (row == nullptr && length > 0) row = resource_row(resource.substr(0, --length), true);
  if (row == nullptr) return std::nullopt;
  return Counted{.vendor = &vendors_[row->vendor],
                 .entry = row->entry ? &entries_[*row->entry] : nullptr,
                 .cores = row->cores,
                 .rest = resource.substr(row->prefix ? length : resource.size())};
}

std::uint32_t Catalog::vendor_row(std::string_view name) const {
  const Vendor* const found = vendor(name);
  CHECK(found != nullptr, name);
  return static_cast<std::uint32_t>(found - vendors_.data());
}

const Catalog::Vendor* Catalog::vendor(std::string_view name) const {
  const auto at = std::ranges::find(vendors_, name, &Vendor::name);
  return at == vendors_.end() ? nullptr : &*at;
}

const MigLayout* Catalog::layout(std::string_view name) const {
  const auto at = std::ranges::find(layouts_, name, &MigLayout::name);
  return at == layouts_.end() ? nullptr : &*at;
}

std::string_view Catalog::visible_devices(const Entry& entry) const {
  if (!entry.visible_devices.empty()) return entry.visible_devices;
  return vendors_[vendor_row(entry.type.vendor)].visible_devices;
}

std::string_view Catalog::container_devices(const Entry& entry) const {
  if (!entry.container_devices.empty()) return entry.container_devices;
  return vendors_[vendor_row(entry.type.vendor)].container_devices;
}

std::vector<const Catalog::Entry*> Catalog::all() const {
  std::vector<const Entry*> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) out.push_back(&entry);
  return out;
}

}  // namespace tutti
