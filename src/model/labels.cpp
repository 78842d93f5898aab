#include "model/labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace tutti {
namespace {

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool compares(const Requirement& requirement, const std::string* label) {
  if (label == nullptr || requirement.values.size() != 1) return false;
  const auto have = integer(*label);
  const auto want = integer(requirement.values.front());
  if (!have || !want) return false;
  return requirement.op == Operator::greater ? *have > *want : *have < *want;
}

bool holds(const Requirement& requirement, const std::string* label) {
  const auto listed = [&] {
    return label != nullptr &&
           std::ranges::find(requirement.values, *label) != requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::in:
      return listed();
    case Operator::not_in:
      return !listed();
    case Operator::exists:
      return label != nullptr;
    case Operator::does_not_exist:
      return label == nullptr;
    case Operator::greater:
    case Operator::less:
      return compares(requirement, label);
  }
  return false;
}

}  // namespace

Labels::Labels(std::vector<Label> labels) : labels_(std::move(labels)) {
  std::ranges::stable_sort(labels_, {}, &Label::key);
  std::size_t kept = 0;
  for (std::size_t at = 0; at < labels_.size(); ++at) {
    if (at + 1 < labels_.size() && labels_[at + 1].key == labels_[at].key) continue;
    if (kept != at) labels_[kept] = std::move(labels_[at]);
    ++kept;
  }
  labels_.resize(kept);
}

const std::string* Labels::find(std::string_view key) const {
  const auto at = std::ranges::lower_bound(labels_, key, {}, &Label::key);
  return at != labels_.end() && at->key == key ? &at->value : nullptr;
}

void Labels::set(std::string_view key, std::string_view value) {
  const auto at = std::ranges::lower_bound(labels_, key, {}, &Label::key);
  if (at != labels_.end() && at->key == key) {
    at->value = value;
  } else {
    labels_.insert(at, {std::string(key), std::string(value)});
  }
}

void Labels::erase(std::string_view key) {
  std::erase_if(labels_, [&](const Label& label) { return label.key == key; });
}

std::string_view to_text(Operator op) {
  constexpr std::array<std::string_view, 6> words{"in",      "not_in", "exists", "does_not_exist",
                                                  "greater", "less"};
  return words[static_cast<std::size_t>(op)];
}

bool Selector::matches(const Labels& labels) const {
  return std::ranges::all_of(requirements, [&](const Requirement& requirement) {
    return holds(requirement, labels.find(requirement.key));
  });
}

std::string to_text(const Requirement& requirement) {
  std::string list;
  for (const std::string& value : requirement.values) {
    list += (list.empty() ? "" : ", ") + value;
  }
  switch (requirement.op) {
    case Operator::in:
      return requirement.key + (requirement.values.size() == 1 ? "=" + list : " in (" + list + ")");
    case Operator::not_in:
      return requirement.key + " not in (" + list + ")";
    case Operator::exists:
      return requirement.key;
    case Operator::does_not_exist:
      return "!" + requirement.key;
    case Operator::greater:
      return requirement.key + " > " + list;
    case Operator::less:
      return requirement.key + " < " + list;
  }
  return {};
}

std::string to_text(const Selector& selector) {
  std::string out;
  for (const Requirement& requirement : selector.requirements) {
    out += (out.empty() ? "" : ", ") + to_text(requirement);
  }
  return out;
}

}  // namespace tutti
