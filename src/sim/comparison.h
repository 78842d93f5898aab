/// Runs every policy on every workload with every seed, on several threads, and sums up.
///
/// Results do not depend on the number of threads: each run is a function of its inputs, and sums
/// are formed in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fill.h"
#include "sim/replay.h"
#include "sim/snapshot.h"

namespace tutti {

enum class Arrivals : std::uint8_t {
  fill,      ///< Jobs arrive in random order and stay.
  trace,     ///< Jobs arrive and end when the workload says.
  snapshot,  ///< What a cluster runs is placed anew.
};

struct Comparison {
  Arrivals arrivals = Arrivals::fill;
  std::vector<PolicyRecipe> policies;
  std::vector<Workload> workloads;     ///< None for a snapshot, which brings its own.
  std::vector<std::uint64_t> seeds;    ///< A snapshot uses none of them.
  std::int64_t load_permille = 1300;   ///< fill: of the fleet's accelerators.
  Duration until = Duration::max();    ///< trace: since the first arrival.
  const Snapshot* snapshot = nullptr;  ///< snapshot: what to place anew.
  std::optional<std::size_t> given;    ///< snapshot: see AnewOptions.
  bool maps = false;                   ///< Keep the end state of the first seed.
  unsigned threads = 1;
};

/// A figure over the seeds; `sd` is that of the sample.
struct Figure {
  double mean = 0;
  double sd = 0;
};

/// One policy on one workload.
struct RunSummary {
  std::string policy;
  std::string workload;
  std::vector<std::uint64_t> seeds;
  std::map<unsigned, Figure> unallocated_gpu_percent;  ///< fill: by arrival mark, where reached.
  std::map<unsigned, Figure> fragmented_gpu_percent;
  std::map<std::string, double> failed_before_100;  ///< Mean tasks per run.
  std::vector<Report::Point> curve;                 ///< Means over the seeds that got that far.
  std::vector<Report::Left> left_by_model;          ///< Means.
  std::optional<Report::NodeMap> map;               ///< Of the first seed.
  std::optional<Report::Trace> trace;               ///< Means; over_time is that of the first seed.
  double not_started = 0;                           ///< trace: mean jobs per run.
  std::optional<SnapshotResult> snapshot;
  /// How the first seed ended, and the rows of the jobs of which to say what became of them: of a
  /// trace those that never started. None of a fill.
  std::shared_ptr<const State> end;
  std::vector<std::size_t> asked;
  std::uint64_t decisions = 0;   ///< Of all seeds together.
  double seconds = 0;            ///< Wall time, of all seeds together.
  std::uint64_t state_hash = 0;  ///< Over the seeds in order.
  double decisions_per_second() const {
    return seconds > 0 ? static_cast<double>(decisions) / seconds : 0.0;
  }
};

/// Called after each run, from one thread at a time.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// In the order workload, policy. The first error of any run ends it.
Result<std::vector<RunSummary>> compare(const FleetFile& fleet, const Comparison& comparison,
                                        const Progress& progress);

/// Whose jobs wait least, or under whom a cluster looks best placed anew; none of a fill.
std::string_view best_policy(const std::vector<RunSummary>& runs);

}  // namespace tutti
