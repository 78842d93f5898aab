/// Jobs that wait when a run ends: why they do, and which others of their kind started.
///
/// An explanation takes long on a large fleet, so equal jobs are one kind, the first few kinds are
/// explained with what would make them start (sched/explain.h), more of them without, the rest is
/// counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/comparison.h"
#include "sim/never_start.h"

namespace tutti {

struct Waiting {
  struct Kind {
    std::string job;            ///< The first that waits, or of all when none does.
    std::uint64_t jobs = 0;     ///< All that are alike and were asked about ...
    std::uint64_t started = 0;  ///< ... and those of them that have all their places.
    bool ran = false;           ///< They run in the dump.
    bool never = false;         ///< They can never start: see NeverStarts.
    bool shown = false;         ///< To people: it is among the first few.
    std::string why;  ///< Lines, each ended; empty where all started, or there are too many.
  };
  std::string title;  ///< "waiting at present": what the kinds are.
  std::string workload;
  std::string policy;
  std::vector<Kind> kinds;
};

/// What waits in the ends that matter to the reader of a comparison: of a snapshot that of the best
/// policy and, where all is placed anew, the present one; of traces all, those of other policies
/// without what would help. `never` has one entry for each workload, in the same order. O(kinds of
/// jobs * nodes), and explanations for the first few.
Result<std::vector<Waiting>> explain_waiting(const Comparison& comparison,
                                             const std::vector<RunSummary>& runs,
                                             const std::vector<NeverStarts>& never);

/// For people; empty when nothing was asked about.
std::string to_text(const Waiting& waiting);

}  // namespace tutti
