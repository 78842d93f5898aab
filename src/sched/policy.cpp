#include "sched/policy.h"

#include <array>

namespace tutti {

std::string_view to_text(Reason reason) {
  constexpr std::array<std::string_view, 16> words{"none",
                                                   "not_present",
                                                   "cordoned",
                                                   "lane_short",
                                                   "lane_unknown",
                                                   "device_type_missing",
                                                   "devices_unhealthy",
                                                   "devices_busy",
                                                   "devices_apart",
                                                   "selector_mismatch",
                                                   "taint_not_tolerated",
                                                   "stack_mismatch",
                                                   "port_taken",
                                                   "affinity_unmet",
                                                   "anti_affinity_broken",
                                                   "spread_exceeded"};
  return words[static_cast<std::size_t>(reason)];
}

std::vector<Watch> Filter::counts(const TaskClass&, const TaskShape&) const { return {}; }

void Score::rate_node(std::span<const TaskClass* const> tasks, const View& view, NodeIndex node,
                      std::span<Permille> out) const {
  for (std::size_t at = 0; at < tasks.size(); ++at) {
    rate(*tasks[at], view, std::span(&node, 1), out.subspan(at, 1));
  }
}

void Score::rate_devices(const TaskClass& task, const View& view, NodeIndex node,
                         std::span<const std::uint8_t> ordinals, std::span<Permille> out) const {
  static_cast<void>(task);
  const std::uint32_t begin = view.fleet().device_begin(node);
  for (std::size_t at = 0; at < ordinals.size(); ++at) {
    out[at] = static_cast<Permille>(1000 - view.usage.open_permille()[begin + ordinals[at]]);
  }
}

}  // namespace tutti
