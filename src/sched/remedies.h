/// What could happen to let a waiting gang start: candidates, kind by kind, not tried out.
///
/// Of each kind those that concern the nearest nodes come first. O(nodes + tasks) each.
#pragma once

#include <vector>

#include "sched/unblock.h"

namespace tutti {

using Facts = std::vector<Unblock>;

class Remedies {
 public:
  Remedies(const State& state, GangIndex gang);

  /// All nodes, those that lack least for the gang's first task first.
  const std::vector<NodeIndex>& nodes() const { return nodes_; }

  /// What the queue and those above it would have to grant at most, by whichever alternatives.
  Facts raised_limits() const;
  /// Tasks of others end ...
  Facts ended_strangers() const { return ended(false); }
  /// ... and those that the gang wants to be near.
  Facts ended_friends() const { return ended(true); }
  /// Nodes and devices that are not there now.
  Facts repaired() const;
  /// Every taint that keeps someone away, once.
  Facts tolerated() const;
  /// A task for each term by which its tasks must be near others than their like, on each node
  /// where one could run: `closed` nodes, which must come back first, or those that take work.
  Facts companions(bool closed) const;
  /// Are there such terms?
  bool needs_company() const;

 private:
  void raise_limits(QueueIndex queue, Facts& out) const;
  Facts ended(bool friends) const;
  bool is_friend(const TaskShape& shape) const;
  std::vector<bool> objected(const TaskShape& companion) const;

  const State& state_;
  GangIndex index_;
  const GangShape& shape_;
  std::vector<NodeIndex> nodes_;
  struct Term {
    const TaskShape* owner;
    const TaskAffinity* affinity;
  };
  std::vector<Term> company_;  ///< What the tasks must be near.
};

}  // namespace tutti
