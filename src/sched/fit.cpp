#include "sched/fit.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace tutti {
namespace {

bool enough(const Usage& usage, const DeviceRequest& request, const Hold& hold, std::uint32_t row) {
  if (usage.open_permille()[row] < hold.compute_permille || usage.open_permille()[row] == 0) {
    return false;
  }
  // A whole card is one that nobody shares; its memory is all free then.
  if (!request.shared()) return usage.open_permille()[row] == DeviceRequest::whole;
  return usage.open_mib()[row] >= hold.memory_mib;
}

/// Where devices must be near each other: the group of a device under the request's closeness.
std::uint32_t vicinity(const DeviceRequest& request, const Device& device) {
  return request.closeness.level == "numa" ? device.numa : device.island;
}

/// How many of the candidates stand in the vicinity of one of them, itself included.
std::ptrdiff_t neighbours(const View& view, NodeIndex node, const DeviceRequest& request,
                          const std::vector<std::uint8_t>& ordinals, std::uint8_t ordinal) {
  const auto devices = view.fleet().devices(node);
  return std::ranges::count_if(ordinals, [&](std::uint8_t other) {
    return vicinity(request, devices[other]) == vicinity(request, devices[ordinal]);
  });
}

/// The most candidates that share one vicinity; all of them where closeness is not required.
std::size_t together(const View& view, NodeIndex node, const DeviceRequest& request,
                     const std::vector<std::uint8_t>& ordinals) {
  if (!request.closeness.required) return ordinals.size();
  std::ptrdiff_t best = 0;
  for (const std::uint8_t each : ordinals) {
    best = std::max(best, neighbours(view, node, request, ordinals, each));
  }
  return static_cast<std::size_t>(best);
}

bool device_request_fits(const TaskClass& task, const View& view, NodeIndex node, unsigned number) {
  const DeviceRequest& request = task.spec().devices[number];
  const Fleet& fleet = view.fleet();
  if (request.closeness.required) {
    std::vector<std::uint8_t> ordinals;
    candidates(task, view, node, number, ordinals);
    return together(view, node, request, ordinals) >= request.count;
  }
  unsigned found = 0;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    const Hold& hold = task.row->hold[fleet.device_type(row).value()];
    if (hold.request != number || !enough(view.usage, request, hold, row)) continue;
    if (++found >= request.count) return true;
  }
  return false;
}

Reject device_reject(const TaskClass& task, const View& view, NodeIndex node, unsigned number) {
  const DeviceRequest& request = task.spec().devices[number];
  const Fleet& fleet = view.fleet();
  std::int64_t typed = 0;
  std::int64_t healthy = 0;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    if (task.row->hold[fleet.device_type(row).value()].request != number) continue;
    ++typed;
    healthy += fleet.offered(row) ? 1 : 0;
  }
  if (typed < request.count) {
    return {Reason::device_type_missing, number, request.count - typed};
  }
  if (healthy < request.count) return {Reason::devices_unhealthy, number, request.count - healthy};
  std::vector<std::uint8_t> ordinals;
  candidates(task, view, node, number, ordinals);
  const auto free = static_cast<std::int64_t>(ordinals.size());
  if (free < request.count) return {Reason::devices_busy, number, request.count - free};
  const auto near = static_cast<std::int64_t>(together(view, node, request, ordinals));
  if (near < request.count) return {Reason::devices_apart, number, request.count - near};
  return {};
}

/// The candidates in the order in which a task of several devices takes them: those of the
/// vicinity that holds the request with the fewest to spare first, then by ordinal.
void order_by_vicinity(const View& view, NodeIndex node, const DeviceRequest& request,
                       std::vector<std::uint8_t>& ordinals) {
  if (request.closeness.level.empty() || request.count == 1) return;
  const auto devices = view.fleet().devices(node);
  constexpr std::ptrdiff_t last = std::ptrdiff_t{2} * limits::devices_per_node;
  std::vector<std::pair<std::ptrdiff_t, std::uint8_t>> ranked;
  for (const std::uint8_t ordinal : ordinals) {
    const std::ptrdiff_t size = neighbours(view, node, request, ordinals, ordinal);
    // A vicinity too small for all comes after those that suffice, the largest first.
    ranked.emplace_back(size >= request.count ? size : last - size, ordinal);
  }
  std::ranges::sort(ranked, [&](const auto& a, const auto& b) {
    const auto key = [&](const auto& entry) {
      return std::tuple(entry.first, vicinity(request, devices[entry.second]), entry.second);
    };
    return key(a) < key(b);
  });
  for (std::size_t at = 0; at < ranked.size(); ++at) ordinals[at] = ranked[at].second;
}

}  // namespace

bool fits(const TaskClass& task, const View& view, NodeIndex node) {
  const ShapeRow& row = *task.row;
  if (row.impossible || !may_fit(row, view.usage, node)) return false;
  if (row.spec.devices.size() == 1 && row.needs_whole > 0) {
    // The offer answers for all devices when they are of one type and may lie anywhere.
    const TypeIndex type = view.fleet().uniform_type(node);
    const bool anywhere = !row.spec.devices.front().closeness.required;
    if (type.valid() && anywhere) return row.hold[type.value()].request == 0;
  }
  for (unsigned number = 0; number < row.spec.devices.size(); ++number) {
    if (!device_request_fits(task, view, node, number)) return false;
  }
  return true;
}

Reject fit_reject(const TaskClass& task, const View& view, NodeIndex node) {
  if (task.row->impossible) return {Reason::lane_unknown};
  for (const Resources::Amount& part : task.row->request) {
    const std::int64_t missing = part.amount - view.usage.free(node, part.lane);
    if (missing > 0) return {Reason::lane_short, part.lane.value(), missing};
  }
  for (unsigned number = 0; number < task.spec().devices.size(); ++number) {
    const Reject reject = device_reject(task, view, node, number);
    if (!reject.ok()) return reject;
  }
  return {};
}

std::uint32_t slots(const TaskClass& task, const View& view, NodeIndex node, std::uint32_t most) {
  if (!fits(task, view, node)) return 0;
  std::int64_t count = most;
  for (const Resources::Amount& part : task.row->request) {
    count = std::min(count, view.usage.free(node, part.lane) / part.amount);
  }
  const Fleet& fleet = view.fleet();
  for (unsigned number = 0; number < task.spec().devices.size(); ++number) {
    const DeviceRequest& request = task.spec().devices[number];
    std::int64_t shares = 0;
    for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
      const Hold& hold = task.row->hold[fleet.device_type(row).value()];
      if (hold.request != number || !enough(view.usage, request, hold, row)) continue;
      std::int64_t here = request.shared() ? most : 1;
      if (request.shared() && hold.compute_permille > 0) {
        here =
            std::min<std::int64_t>(here, view.usage.open_permille()[row] / hold.compute_permille);
      }
      if (request.shared() && hold.memory_mib > 0) {
        here = std::min<std::int64_t>(here, view.usage.open_mib()[row] / hold.memory_mib);
      }
      // Tasks that take several devices each cannot use more shares of one than there are tasks.
      shares += here;
    }
    count = std::min(count, shares / request.count);
  }
  return static_cast<std::uint32_t>(count);
}

void candidates(const TaskClass& task, const View& view, NodeIndex node, unsigned request,
                std::vector<std::uint8_t>& out) {
  const Fleet& fleet = view.fleet();
  const std::uint32_t begin = fleet.device_begin(node);
  out.clear();
  for (std::uint32_t row = begin; row < fleet.device_end(node); ++row) {
    const Hold& hold = task.row->hold[fleet.device_type(row).value()];
    if (hold.request != request) continue;
    if (enough(view.usage, task.spec().devices[request], hold, row)) {
      out.push_back(static_cast<std::uint8_t>(row - begin));
    }
  }
}

DeviceSet choose_devices(const TaskClass& task, const View& view, NodeIndex node,
                         const Score& score) {
  DeviceSet chosen;
  std::vector<std::uint8_t> ordinals;
  for (unsigned number = 0; number < task.spec().devices.size(); ++number) {
    const DeviceRequest& request = task.spec().devices[number];
    candidates(task, view, node, number, ordinals);
    CHECK(ordinals.size() >= request.count, node, ordinals.size(), request.count);
    if (request.count == 1 && request.shared()) {
      std::vector<Permille> rated(ordinals.size());
      score.rate_devices(task, view, node, ordinals, rated);
      const auto best = std::ranges::max_element(rated);
      chosen.add(ordinals[static_cast<std::size_t>(best - rated.begin())]);
      continue;
    }
    order_by_vicinity(view, node, request, ordinals);
    for (unsigned at = 0; at < request.count; ++at) chosen.add(ordinals[at]);
  }
  return chosen;
}

}  // namespace tutti
