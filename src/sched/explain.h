/// Why a gang waits: counts per reason over all nodes, the nearest miss, and whether it can ever
/// run.
///
/// The reason that counts for a node is the first in this order: it is gone; cordoned; its labels,
/// taints, software; amounts, lane by lane; devices, request by request; ports, affinity, spread.
/// `never`: not even on the emptied, healthy fleet, with the tasks of other jobs that it must be
/// near at hand.
///
/// Computed on request, from State alone; decisions themselves carry no text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/domain_miss.h"
#include "sched/plan.h"
#include "sched/policy.h"
#include "sched/unblock.h"

namespace tutti {

struct Explanation {
  /// Nodes that reject one task of the gang for the same reason.
  struct Count {
    Reject reject;  ///< Of the first such node; `shortfall` is the smallest of them.
    std::uint32_t nodes = 0;
  };
  Outcome outcome = Outcome::waits;
  ShapeIndex shape;            ///< The task that was looked at: the first that finds no place.
  std::uint32_t running = 0;   ///< Tasks of the gang that hold places and keep them ...
  std::uint32_t stopping = 0;  ///< ... and those that must have stopped before it starts anew.
  std::uint32_t placed = 0;    ///< Tasks that it waits for (`lacking`) and that find places now ...
  std::uint32_t wanted = 0;    ///< ... of so many.
  bool over_limit = false;     ///< A limit of its queue stands in the way, whatever the nodes say.
  bool search_limit = false;   ///< Not everything was tried: it may fit after all.
  DomainMiss apart;            ///< Its tasks find places, but not as close as they must be.
  std::vector<Count> counts;   ///< Most nodes first.
  std::uint32_t fitting = 0;   ///< Nodes that would take one task of the shape.
  NodeIndex nearest;           ///< The node that lacks least; none when no node lacks an amount.
  Reject nearest_miss;
  std::vector<Unblock> unblock;  ///< What would make it start, all of it together.
  bool facts_limit = false;      ///< Not all of that was tried: there may be too many, or too few.
};

/// All but `unblock`, and whether it ever fits: `outcome` is waits. REQUIRES: the gang waits.
/// O(nodes * filters).
Explanation reasons(const State& state, const PolicyFactory& factory, GangIndex gang);

/// All of it. REQUIRES: the gang waits. O(nodes * filters), and the trials of sched/unblock.h.
Explanation explain(const State& state, const PolicyFactory& factory, GangIndex gang);

/// "gpu-7 lacks 1 device", "12 nodes  not enough cpu": one reason in the words of its owner.
std::string to_text(const State& state, const Explanation& explanation, const Reject& reject);

/// Several lines: what it waits for, how many nodes reject it why, the nearest miss.
std::string to_text(const State& state, const Explanation& explanation,
                    const MayName& may_name = {});

}  // namespace tutti
