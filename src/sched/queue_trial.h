/// What would change if a queue were given other limits: tried out on a copy of State.
///
/// Computed on request: a copy of State, and cycles until nothing moves.
#pragma once

#include <vector>

#include "sched/policy.h"

namespace tutti {

struct QueueTrial {
  std::vector<JobId> would_start;  ///< Of those that wait now, in the order in which they do.
  struct Above {
    NamedAmount used;  ///< "gpu" in thousandths of a card, all else as in limits.
    NamedAmount limit;
  };
  std::vector<Above> above;  ///< Where the queue uses more than it may; nothing is stopped for it.
};

/// REQUIRES: State admits QueueSet{queue}.
QueueTrial try_queue(const State& state, const PolicyFactory& factory, const QueueSpec& queue);

}  // namespace tutti
