/// Jobs that this fleet can never run, and why: what a simulation alone would only show as a lower
/// figure.
///
/// Each kind of job is tried alone on the empty fleet. One that finds no place there is explained
/// (sched/explain.h), which also looks at the healthy fleet and at company that the job needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/workload.h"

namespace tutti {

struct NeverStarts {
  std::string workload;
  struct Kind {
    std::string job;         ///< The first of them.
    std::uint64_t jobs = 0;  ///< All that are alike.
    std::string why;         ///< Lines, each ended.
  };
  std::vector<Kind> kinds;          ///< In the order of the workload.
  std::uint64_t jobs = 0;           ///< Of all these kinds.
  std::uint64_t not_explained = 0;  ///< Kinds that find no place either, beyond the first few.
};

/// O(kinds of jobs * nodes), and an explanation for the first few kinds that find no place.
Result<NeverStarts> never_start(const FleetFile& fleet, const Workload& workload);

/// For people: the first few kinds; empty without any.
std::string to_text(const NeverStarts& never);

}  // namespace tutti
