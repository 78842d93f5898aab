/// What simulations share about a fleet: how it enters an engine, and what is left of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/workload.h"
#include "model/state.h"
#include "sim/report.h"

namespace tutti {

/// ‰ of all devices.
std::int64_t gpu_milli_of(const FleetFile& fleet);

/// What people call one of its devices: "GPU", or "accelerator" where not all of them are GPUs.
std::string_view device_word(const FleetFile& fleet);

/// Are the queues and the levels that jobs name those of the fleet, where it has any?
Result<void> check_names(const FleetFile& fleet, const Workload& workload);

/// Trees, nodes, queues and the target mix, in the order in which an engine must be told. With a
/// seed the nodes come in random order: equal ratings fall to the lower index, so that order is the
/// tie-break. Queues that jobs name exist without limits where the fleet's file declares none; else
/// a job with another queue is an error.
Result<std::vector<Event>> fleet_events(const FleetFile& fleet, const Workload& workload,
                                        std::optional<std::uint64_t> seed);

Report::Fleet describe_fleet(const FleetFile& fleet);

/// What of a device nobody holds: of its compute or of its memory, whichever is less.
std::uint32_t free_permille(const State& state, std::uint32_t row);

/// Sorted by model. Nodes and devices that take no work leave nothing.
std::vector<Report::Left> left_by_model(const State& state);

/// In the order of the fleet's file. REQUIRES: the state has all of its nodes.
Report::NodeMap node_map(const FleetFile& fleet, const State& state);

}  // namespace tutti
