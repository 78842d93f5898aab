/// Runs every policy on every workload with every seed, on several threads, and sums up.
///
/// Results do not depend on the number of threads: each run is a function of its inputs, and sums
/// are formed in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fill.h"
#include "sim/never_start.h"
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
  std::uint64_t decisions = 0;   ///< Of all seeds together.
  double seconds = 0;            ///< Wall time, of all seeds together.
  std::uint64_t state_hash = 0;  ///< Over the seeds in order.
};

/// Called after each run, from one thread at a time.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// In the order workload, policy. The first error of any run ends it.
Result<std::vector<RunSummary>> compare(const FleetFile& fleet, const Comparison& comparison,
                                        const Progress& progress);

/// {"runs": [...]}, as `tutti sim --json` writes it. A run has policy, workload, seeds, decisions,
/// decisions_per_second, seconds, state_hash, and
///   fill: unallocated_gpu_percent and fragmented_gpu_percent, {"100": {"mean": .., "sd": ..}} by
///     arrival mark, and failed_before_100, {"8": tasks};
///   trace: jobs, finished, not_started, avg_wait_s, p50_wait_s, p95_wait_s, p99_wait_s,
///     max_wait_s, gpu_utilisation_percent, makespan_s;
///   snapshot: gpus_allocated, running, running_unplaced, pending, pending_started,
///     free_whole_nodes, largest_gang_8gpu.
/// Where jobs can never start, "never_start": [{"workload": .., "job": .., "jobs": .., "why": ..}],
/// one entry for each kind of job, `why` only with the first few.
std::string to_json(const std::vector<RunSummary>& runs,
                    const std::vector<NeverStarts>& never = {});
/// For people; `device` is what they call an accelerator of the fleet, see device_word.
std::string to_table(const std::vector<RunSummary>& runs, std::string_view device = "GPU");
/// The answer in one sentence, for a fleet of so many accelerators.
std::string headline(const std::vector<RunSummary>& runs, std::uint64_t gpus,
                     std::string_view device = "GPU");

}  // namespace tutti
