/// What would come of events: tried out on a copy of State.
///
/// Computed on request: a copy of State, and cycles until nothing moves. What is told to stop there
/// stops at once.
#pragma once

#include <span>
#include <vector>

#include "sched/policy.h"

namespace tutti {

struct Supposed {
  struct Start {
    JobId job;
    std::vector<NodeIndex> nodes;  ///< One for each task that gets a place, in their order.
  };
  State state;                ///< What it would be then.
  std::vector<Start> starts;  ///< Of jobs of which nothing has a place now, or that are new.
};

/// REQUIRES: State admits the events, one after the other.
Supposed suppose(const State& state, const PolicyFactory& factory, std::span<const Event> events);

}  // namespace tutti
