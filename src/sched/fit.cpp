#include "sched/fit.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

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

/// Does it stand for its slices only?
bool is_cut(std::span<const Device> devices, std::uint32_t ordinal) {
  return std::ranges::any_of(devices, [&](const Device& each) { return each.parent == ordinal; });
}

Reject device_reject(const TaskClass& task, const View& view, NodeIndex node, unsigned number) {
  const DeviceRequest& request = task.spec().devices[number];
  const Fleet& fleet = view.fleet();
  std::int64_t typed = 0;
  std::int64_t healthy = 0;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    if (task.row->hold[fleet.device_type(row).value()].request != number) continue;
    if (is_cut(fleet.devices(node), row - fleet.device_begin(node))) continue;
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

/// Shares of the request that one device has room for, at most `most`.
std::int64_t shares_of(const Usage& usage, const DeviceRequest& request, const Hold& hold,
                       std::uint32_t row, std::int64_t most) {
  if (!enough(usage, request, hold, row)) return 0;
  if (!request.shared()) return 1;
  std::int64_t shares = most;
  if (hold.compute_permille > 0) {
    shares = std::min<std::int64_t>(shares, usage.open_permille()[row] / hold.compute_permille);
  }
  if (hold.memory_mib > 0) {
    shares = std::min<std::int64_t>(shares, usage.open_mib()[row] / hold.memory_mib);
  }
  return shares;
}

/// How many tasks can each take one share of `count` different devices.
std::int64_t deal(const std::vector<std::int64_t>& shares, std::int64_t count) {
  std::int64_t tasks = std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) / count;
  while (true) {
    // No device serves a task twice.
    std::int64_t sum = 0;
    for (const std::int64_t each : shares) sum += std::min(each, tasks);
    if (sum >= tasks * count) return tasks;
    tasks = sum / count;
  }
}

/// How many tasks side by side find devices for one of their requests, at most `most`.
std::int64_t device_slots(const TaskClass& task, const View& view, NodeIndex node, unsigned number,
                          std::int64_t most) {
  const DeviceRequest& request = task.spec().devices[number];
  const Fleet& fleet = view.fleet();
  const TypeIndex type = fleet.uniform_type(node);
  if (type.valid() && !request.shared() && !request.closeness.required) {
    const bool ours = task.row->hold[type.value()].request == number;
    return ours ? std::min<std::int64_t>(most, view.usage.offer(node).whole_open / request.count)
                : 0;
  }
  const auto devices = fleet.devices(node);
  std::vector<std::int64_t> shares(devices.size());
  for (std::size_t at = 0; at < devices.size(); ++at) {
    const auto row = static_cast<std::uint32_t>(fleet.device_begin(node) + at);
    const Hold& hold = task.row->hold[fleet.device_type(row).value()];
    if (hold.request == number) shares[at] = shares_of(view.usage, request, hold, row, most);
  }
  if (!request.closeness.required) return std::min(most, deal(shares, request.count));
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < devices.size(); ++at) {
    if (shares[at] == 0) continue;
    std::vector<std::int64_t> near;
    const std::uint32_t here = vicinity(request, devices[at]);
    for (std::size_t other = at; other < devices.size(); ++other) {
      if (vicinity(request, devices[other]) == here) {
        near.push_back(std::exchange(shares[other], 0));
      }
    }
    sum += deal(near, request.count);
  }
  return std::min(most, sum);
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
  // A port is for one.
  std::int64_t count = task.spec().ports.empty() ? most : 1;
  for (const Resources::Amount& part : task.row->request) {
    count = std::min(count, view.usage.free(node, part.lane) / part.amount);
  }
  for (unsigned number = 0; number < task.spec().devices.size() && count > 0; ++number) {
    count = device_slots(task, view, node, number, count);
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

namespace {

/// Devices of one node that nobody can tell apart.
struct Alike {
  std::uint32_t vicinity = 0;  ///< 0 where the request does not ask for closeness.
  std::vector<std::uint8_t> ordinals;
};

std::vector<Alike> alike(const TaskClass& task, const View& view, NodeIndex node, unsigned number) {
  const DeviceRequest& request = task.spec().devices[number];
  const Fleet& fleet = view.fleet();
  std::vector<std::uint8_t> ordinals;
  candidates(task, view, node, number, ordinals);
  const auto look = [&](std::uint8_t ordinal) {
    const std::uint32_t row = fleet.device_begin(node) + ordinal;
    const Device& device = fleet.device(row);
    return std::tuple(view.usage.open_permille()[row], view.usage.open_mib()[row],
                      fleet.device_type(row), device.island, device.numa);
  };
  std::ranges::stable_sort(ordinals, {}, look);
  std::vector<Alike> out;
  for (std::size_t at = 0; at < ordinals.size(); ++at) {
    if (at == 0 || look(ordinals[at]) != look(ordinals[at - 1])) {
      const Device& device = fleet.devices(node)[ordinals[at]];
      out.push_back({request.closeness.required ? vicinity(request, device) : 0, {}});
    }
    out.back().ordinals.push_back(ordinals[at]);
  }
  return out;
}

/// Enumerates the choices of one task on one node, request by request, kind by kind.
class Choices {
 public:
  Choices(const TaskClass& task, const View& view, NodeIndex node, std::size_t most,
          std::vector<DeviceSet>& out)
      : task_(task), most_(most), out_(out) {
    for (unsigned number = 0; number < task.spec().devices.size(); ++number) {
      kinds_.push_back(alike(task, view, node, number));
    }
  }

  bool run() {
    choose(0, DeviceSet());
    return complete_;
  }

 private:
  void choose(std::size_t request, const DeviceSet& chosen) {
    if (request == kinds_.size()) {
      complete_ &= out_.size() < most_;
      if (complete_) out_.push_back(chosen);
      return;
    }
    take(request, 0, task_.spec().devices[request].count, chosen);
  }

  /// Takes `left` more devices for the request, of kinds from `from` on.
  void take(std::size_t request, std::size_t from, std::size_t left, const DeviceSet& chosen) {
    if (!complete_) return;
    if (left == 0) return choose(request + 1, chosen);
    const std::size_t count = task_.spec().devices[request].count;
    for (std::size_t kind = from; kind < kinds_[request].size(); ++kind) {
      const Alike& here = kinds_[request][kind];
      if (left == count) {
        home_ = here.vicinity;
      } else if (here.vicinity != home_) {
        continue;
      }
      DeviceSet more = chosen;
      for (std::size_t took = 1; took <= std::min(left, here.ordinals.size()); ++took) {
        more.add(here.ordinals[took - 1]);
        take(request, kind + 1, left - took, more);
        home_ = here.vicinity;  // A later request may have had another one.
      }
    }
  }

  const TaskClass& task_;
  std::size_t most_;
  std::vector<DeviceSet>& out_;
  std::vector<std::vector<Alike>> kinds_;  ///< By request.
  std::uint32_t home_ = 0;
  bool complete_ = true;
};

}  // namespace

bool device_choices(const TaskClass& task, const View& view, NodeIndex node, std::size_t most,
                    std::vector<DeviceSet>& out) {
  return Choices(task, view, node, most, out).run();
}

}  // namespace tutti
