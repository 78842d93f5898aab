/// Trying placements on top of State, with an undo log: all of a gang, or none of it.
///
/// State stays as it is; the workspace's mirror carries what was tried. A Txn that is destroyed
/// without `finish` undoes everything.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/plan.h"
#include "sched/workspace.h"

namespace tutti {

class Txn {
 public:
  using Mark = std::size_t;

  Txn(const State& state, Workspace& workspace);
  ~Txn();
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  const State& state() const { return state_; }
  View view() const { return workspace_.view(state_); }
  Workspace& workspace() { return workspace_; }

  Mark mark() const { return plan_.actions.size(); }
  /// Undoes everything since the mark, newest first.
  void rollback(Mark mark);
  /// Nothing since the mark will be undone: gangs that wait for such tasks near them try again.
  void keep(Mark mark);

  /// Would one more task of the shape stay within the hard limits of the queue and those above it?
  bool within_limits(QueueIndex queue, ShapeIndex shape) const;
  /// Does the queue, or one above it, have a limit?
  bool limited(QueueIndex queue) const;
  /// Books the task. REQUIRES: it is pending, and fits there.
  void place(TaskIndex task, ShapeIndex shape, NodeIndex node, const DeviceSet& devices);
  /// The same, on the devices that the policies prefer.
  void place(TaskIndex task, ShapeIndex shape, NodeIndex node);
  /// Tells the task to stop; it holds what it has until its end is reported.
  void evict(TaskIndex task);
  /// Puts the placements since the mark in order of their nodes, role by role, and deals them to
  /// the same tasks in order of the tasks: neighbouring ranks stand on neighbouring nodes.
  /// REQUIRES: placements of tasks of one gang only.
  void deal_in_node_order(Mark mark);
  void note(const Decision& decision) { plan_.decisions.push_back(decision); }
  /// Stays counted when the transaction is undone.
  void took(RarePath path) { workspace_.took(path); }

  std::size_t size() const { return plan_.actions.size(); }
  const Action& action(std::size_t at) const { return plan_.actions[at]; }
  Plan finish() &&;

 private:
  void charge(const Action& action, int sign);

  const State& state_;
  Workspace& workspace_;
  Plan plan_;
  bool finished_ = false;
};

}  // namespace tutti
