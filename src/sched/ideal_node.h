/// Nodes that would take a gang which no node of the fleet can take: like the nearest node that
/// there is, enlarged and labelled as its tasks ask for.
///
/// They are proposals: who uses them tries them out.
#pragma once

#include <span>
#include <vector>

#include "sched/unblock.h"

namespace tutti {

/// A kind of node for each role, as many of it as the role has tasks to place, by that alternative
/// of the role or its last one. Empty where a role asks for devices of which the fleet knows none.
struct Site {
  std::span<const NodeIndex> models;  ///< All nodes, the best models first.
  NodeIndex beside;  ///< Whose domains they join; none: they make a new one of each level.
};
std::vector<Unblock> ideal_nodes(const State& state, GangIndex gang, std::size_t alternative,
                                 const Site& site);

/// One node that would hold the whole minimum.
std::vector<Unblock> ideal_node(const State& state, GangIndex gang, std::size_t alternative,
                                const Site& site);

/// Changes the labels as little as makes the selector match.
void fulfil(const Selector& selector, Labels& labels);

/// Thousandths of what is asked for that are missing; only amounts can be nearly enough. A node
/// that has some of the devices, but never enough of them, is farther than any that could have
/// them.
std::int64_t distance(const TaskClass& task, const Reject& reject);

}  // namespace tutti
