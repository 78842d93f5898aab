/// Jobs that this fleet can never run, and why: what a simulation alone would only show as a lower
/// figure.
///
/// Each kind of job is tried alone on the emptied fleet with everything repaired, and without the
/// tasks of others that it must be near, which may be there one day. One that finds no place even
/// there never starts. The first few kinds are explained (sched/explain.h).
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
    bool shown = false;      ///< To people, with what would help: it is among the first few.
    std::string why;         ///< Lines, each ended; empty beyond the first 50 kinds.
  };
  std::vector<Kind> kinds;   ///< In the order of the workload.
  std::uint64_t jobs = 0;    ///< Of all these kinds.
  std::vector<bool> by_job;  ///< Is it one of them? By its row in the workload.
};

/// O(kinds of jobs * nodes), and an explanation for the first few kinds.
Result<NeverStarts> never_start(const FleetFile& fleet, const Workload& workload);

/// For people: the first few kinds; empty without any.
std::string to_text(const NeverStarts& never);

/// The first line as it is, those below it further to the right.
std::string indented(const std::string& lines);

}  // namespace tutti
