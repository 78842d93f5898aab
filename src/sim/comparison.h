/// Runs every policy on every workload with every seed, on several threads, and sums up.
///
/// Results do not depend on the number of threads: each run is a function of its inputs, and sums
/// are formed in a fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/fill.h"

namespace tutti {

struct Comparison {
  std::vector<PolicyRecipe> policies;
  std::vector<Workload> workloads;
  std::vector<std::uint64_t> seeds;
  std::int64_t load_permille = 1300;
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
  std::map<unsigned, Figure> unallocated_gpu_percent;  ///< By arrival mark, where reached.
  std::map<unsigned, Figure> fragmented_gpu_percent;
  std::map<std::string, double> failed_before_100;  ///< Mean per run.
  std::uint64_t decisions = 0;                      ///< Of all seeds together.
  double seconds = 0;                               ///< Wall time, of all seeds together.
  std::uint64_t state_hash = 0;                     ///< Over the seeds in order.
};

/// Called after each run, from one thread at a time.
using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// In the order workload, policy. The first error of any run ends it.
Result<std::vector<RunSummary>> compare(const FleetFile& fleet, const Comparison& comparison,
                                        const Progress& progress);

/// {"runs": [...]}, as `tutti sim --json` writes it.
std::string to_json(const std::vector<RunSummary>& runs);
/// For people.
std::string to_table(const std::vector<RunSummary>& runs);

}  // namespace tutti
