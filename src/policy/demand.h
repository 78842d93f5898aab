/// What scores commonly ask of a task and a node; private to policy/.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sched/policy.h"

namespace tutti {

/// A task's demand in the two currencies of fragmentation: cpu and accelerators.
struct Demand {
  std::int64_t cpu = 0;    ///< milli-cores
  std::int64_t share = 0;  ///< ‰ of each device; 0 without devices.
  std::int64_t count = 0;  ///< Devices.
  std::int64_t total() const { return share * count; }
  bool shared() const { return count == 1 && share < DeviceRequest::whole; }
  friend bool operator==(const Demand&, const Demand&) = default;
};

/// Only the first device request counts: a second one (a NIC beside its GPU) follows it.
inline Demand demand_of(const ShapeRow& row) {
  Demand demand{.cpu = row.amount(lane::cpu)};
  if (!row.spec.devices.empty()) {
    demand.share = row.spec.devices.front().compute_permille;
    demand.count = row.spec.devices.front().count;
  }
  return demand;
}

/// ‰ that is open on all devices of a node together.
inline std::int64_t open_on(const View& view, NodeIndex node) {
  const Fleet& fleet = view.fleet();
  std::int64_t sum = 0;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    sum += view.usage.open_permille()[row];
  }
  return sum;
}

/// The largest node of the fleet in each currency; at least 1.
struct Largest {
  std::int64_t cpu = 1;
  std::int64_t permille = 1;

  explicit Largest(const Fleet& fleet) {
    for (std::size_t at = 0; at < fleet.size(); ++at) {
      const NodeIndex node(at);
      cpu = std::max(cpu, fleet.node(node).capacity.get(lane::cpu));
      const auto devices = static_cast<std::int64_t>(fleet.devices(node).size());
      permille = std::max(permille, devices * DeviceRequest::whole);
    }
  }
};

/// A percentage as a rating.
inline Permille percent(std::int64_t value) {
  return static_cast<Permille>(std::clamp<std::int64_t>(value, 0, 100) * 10);
}

}  // namespace tutti
