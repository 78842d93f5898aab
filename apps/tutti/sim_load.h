/// What `tutti sim` is given: its options, and the files that they name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/comparison.h"
#include "sim/files.h"

namespace tutti {

struct SimOptions {
  std::vector<std::string> fleets;
  std::string fleet;  ///< The only one of them; set by load_sim's caller.
  std::vector<std::string> workloads;
  std::vector<std::string> policies;
  std::vector<std::string> catalogs;
  std::vector<std::string> seeds;
  std::string arrivals;
  std::string until;
  std::string json;
  std::string report;
  std::size_t skip_bad = 0;
  unsigned threads = 0;
};

/// Everything that was read, ready to run.
struct SimInputs {
  Catalog catalog;
  FleetFile fleet;
  Snapshot snapshot;  ///< Of a Kubernetes dump; its fleet stands in `fleet`.
  Comparison comparison;
  std::string why;                 ///< Why these arrivals, where they were not asked for.
  std::vector<std::string> notes;  ///< What of the files does not count, and the like.
};

/// Reads all files, and finds out what is to be run.
Result<SimInputs> load_sim(const SimOptions& options, Skipped& skipped);

}  // namespace tutti
