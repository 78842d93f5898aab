/// Why a gang waits: counts per reason over all nodes, the nearest miss, and whether it can ever
/// run.
///
/// Computed on request, from State alone; decisions themselves carry no text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/plan.h"
#include "sched/policy.h"

namespace tutti {

struct Explanation {
  /// Nodes that reject one task of the gang for the same reason.
  struct Count {
    Reject reject;  ///< Of the first such node; `shortfall` is the smallest of them.
    std::uint32_t nodes = 0;
  };
  Outcome outcome = Outcome::waits;
  ShapeIndex shape;           ///< The task that was looked at: the first that finds no place.
  std::uint32_t placed = 0;   ///< Tasks of the gang's minimum that would find places now ...
  std::uint32_t wanted = 0;   ///< ... of so many.
  bool over_limit = false;    ///< Its queue's limit stands in the way, whatever the nodes say.
  std::vector<Count> counts;  ///< Most nodes first.
  std::uint32_t fitting = 0;  ///< Nodes that would take one task of the shape.
  NodeIndex nearest;          ///< The node that lacks least; none when no node lacks an amount.
  Reject nearest_miss;
};

/// REQUIRES: the gang waits. O(nodes * filters), and a trial on the emptied fleet.
Explanation explain(const State& state, const PolicyFactory& factory, GangIndex gang);

/// "gpu-7 lacks 1 device", "12 nodes  not enough cpu": one reason in the words of its owner.
std::string to_text(const State& state, const Explanation& explanation, const Reject& reject);

/// Several lines: what it waits for, how many nodes reject it why, the nearest miss.
std::string to_text(const State& state, const Explanation& explanation);

}  // namespace tutti
