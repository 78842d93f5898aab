/// Replaying a trace in virtual time: jobs arrive, wait, run for as long as they did, and leave.
///
/// The engine is the real one; the backend starts every task at once and reports its end after the
/// job's length. A job without a length runs until the end. Events of one instant are one step,
/// ends before arrivals. Complexity: that of the engine's decisions, plus O(log n) an event.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dialect/workload.h"
#include "model/state.h"
#include "policy/registry.h"
#include "sim/report.h"

namespace tutti {

struct ReplayOptions {
  std::uint64_t seed = 42;           ///< Orders the nodes.
  Duration until = Duration::max();  ///< Since the first arrival; then the replay ends.
  bool map = false;                  ///< Keep the fleet as it is after the last arrival.
  bool end = false;                  ///< Keep the state in which the replay ends.
};

struct ReplayResult {
  /// Waits are those from a job's arrival until the last of its gangs started; a job that never
  /// did counts as waiting until the end.
  Report::Trace trace;
  std::uint64_t not_started = 0;
  std::shared_ptr<const State> end;  ///< Where asked for and some job never started: with it
  std::vector<std::size_t>
      never_started;  ///< those jobs' rows in the workload, which are their ids.
  std::vector<Report::Left> left_by_model;  ///< After the last arrival, or where `until` ends it.
  std::optional<Report::NodeMap> map;
  std::uint64_t decisions = 0;  ///< Tasks placed.
  double seconds = 0;           ///< Of wall time, filled in by the caller.
  std::uint64_t state_hash = 0;
};

/// Fails where the fleet or the workload is not admissible.
Result<ReplayResult> replay(const FleetFile& fleet, const Workload& workload,
                            const PolicyRecipe& policy, const ReplayOptions& options);

/// The most that jobs would use at one time if each started when it arrives, in ‰ of devices.
std::int64_t peak_demand_milli(const Workload& workload);

/// Is any job known to end?
bool has_lengths(const Workload& workload);

}  // namespace tutti
