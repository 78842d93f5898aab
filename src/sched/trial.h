/// Places taken on trial, one task at a time, and all given back at the end: how many tasks would
/// find one?
#pragma once

#include <span>
#include <vector>

#include "sched/workspace.h"

namespace tutti {

class Trial {
 public:
  /// REQUIRES: the workspace is in step with State, and outlives the trial.
  Trial(const State& state, Workspace& workspace) : state_(state), workspace_(workspace) {}
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  /// Takes the best place for one task of the role, by the first alternative that finds one: of all
  /// nodes, or of some, ascending.
  bool hold_one(const GangShape::Role& role);
  bool hold_one(const GangShape::Role& role, std::span<const NodeIndex> within);

 private:
  struct Held {
    ShapeIndex shape;
    NodeIndex node;
    DeviceSet devices;
  };
  void hold(ShapeIndex shape, NodeIndex node);

  const State& state_;
  Workspace& workspace_;
  std::vector<Held> held_;
};

}  // namespace tutti
