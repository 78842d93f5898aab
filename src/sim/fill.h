/// Filling a fleet: tasks arrive and never leave. How much of the fleet can be used in the end?
///
/// The experiment of the FGD paper (reference in policy/fragmentation.h): jobs in random order,
/// tuned to a multiple of the fleet's accelerators, nodes in random order (equal ratings fall to
/// the lower index, so the order of the nodes is the tie-break).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/workload.h"
#include "policy/registry.h"
#include "sim/report.h"

namespace tutti {

/// Arrived accelerators, in % of the fleet's, at which figures are taken.
inline constexpr std::array<unsigned, 8> arrival_marks{50, 80, 90, 95, 100, 110, 120, 130};

struct FillOptions {
  std::uint64_t seed = 42;
  std::int64_t load_permille = 1300;  ///< Of the fleet's accelerators.
  bool map = false;                   ///< Keep the fleet as it is after the last arrival.
};

/// One run. Percentages are of the fleet's accelerators, averaged over the arrivals at a mark;
/// where a large job steps over a mark, its figures are those before that job.
struct FillResult {
  struct AtMark {
    std::uint32_t arrivals = 0;
    double unallocated = 0;
    double fragmented = 0;
  };
  std::array<AtMark, arrival_marks.size()> at_marks;
  std::map<std::string, std::uint32_t> failed_before_100;  ///< Tasks, by size_name.
  /// After the last arrival that does not exceed 0, 1, 2, ... % of the fleet.
  std::vector<Report::Point> curve;
  std::vector<Report::Left> left_by_model;
  std::optional<Report::NodeMap> map;
  std::uint64_t decisions = 0;
  double seconds = 0;  ///< Of wall time, filled in by the caller, who has a clock.
  std::uint64_t state_hash = 0;
};

/// Fails where the fleet or the workload is not admissible.
Result<FillResult> fill(const FleetFile& fleet, const Workload& workload,
                        const PolicyRecipe& policy, const FillOptions& options);

}  // namespace tutti
