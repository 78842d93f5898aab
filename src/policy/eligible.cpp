#include "policy/eligible.h"

#include <algorithm>
#include <charconv>

namespace tutti {
namespace {

/// Cuts the part before the next dot off the front of `rest`.
std::string_view next_part(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('.'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

int sign(int value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

int compare_parts(std::string_view a, std::string_view b) {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  const auto read = [](std::string_view text, std::uint64_t& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
  };
  if (a.empty()) a = "0";  // "12" is "12.0".
  if (b.empty()) b = "0";
  if (read(a, left) && read(b, right)) return left < right ? -1 : left > right ? 1 : 0;
  return sign(a.compare(b));
}

bool tolerates(const TaskShape& task, const Taint& taint) {
  return std::ranges::any_of(task.tolerations,
                             [&](const Toleration& each) { return each.tolerates(taint); });
}

}  // namespace

bool selects(const TaskShape& task, const Node& node) {
  if (!task.nodes.matches(node.labels)) return false;
  if (task.nodes_any_of.empty()) return true;
  return std::ranges::any_of(task.nodes_any_of,
                             [&](const Selector& each) { return each.matches(node.labels); });
}

int untolerated(const TaskShape& task, const Node& node) {
  for (std::size_t at = 0; at < node.taints.size(); ++at) {
    const Taint& taint = node.taints[at];
    if (taint.effect != TaintEffect::prefer_no_schedule && !tolerates(task, taint)) {
      return static_cast<int>(at);
    }
  }
  return -1;
}

std::uint32_t unwelcome(const TaskShape& task, const Node& node) {
  return static_cast<std::uint32_t>(std::ranges::count_if(node.taints, [&](const Taint& taint) {
    return taint.effect == TaintEffect::prefer_no_schedule && !tolerates(task, taint);
  }));
}

int compare_versions(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const int order = compare_parts(next_part(a), next_part(b));
    if (order != 0) return order;
  }
  return 0;
}

bool stack_holds(const StackRequirement& wanted, const std::vector<StackVersion>& present) {
  return std::ranges::any_of(present, [&](const StackVersion& version) {
    if (version.name != wanted.name) return false;
    const int order = compare_versions(version.version, wanted.version);
    switch (wanted.op) {
      case Operator::in:
        return order == 0;
      case Operator::not_in:
        return order != 0;
      case Operator::greater:
        return order >= 0;
      case Operator::less:
        return order < 0;
      default:
        return true;
    }
  });
}

}  // namespace tutti
