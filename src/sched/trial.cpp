#include "sched/trial.h"

#include "sched/fit.h"

namespace tutti {

Trial::~Trial() {
  for (auto each = held_.rbegin(); each != held_.rend(); ++each) {
    workspace_.release(state_, each->shape, each->node, each->devices);
  }
}

bool Trial::hold_one(const GangShape::Role& role) {
  for (const ShapeIndex shape : role.alternatives) {
    const NodeIndex node = workspace_.best(state_, shape);
    if (!node.valid()) continue;
    hold(shape, node);
    return true;
  }
  return false;
}

bool Trial::hold_one(const GangShape::Role& role, std::span<const NodeIndex> within) {
  for (const ShapeIndex shape : role.alternatives) {
    const NodeIndex node = workspace_.best_among(state_, shape, within);
    if (!node.valid()) continue;
    hold(shape, node);
    return true;
  }
  return false;
}

void Trial::hold(ShapeIndex shape, NodeIndex node) {
  const PolicySet& policies = workspace_.policies();
  const DeviceSet devices =
      choose_devices(workspace_.task_class(state_, shape), workspace_.view(state_), node,
                     *policies.scores[policies.device_score].score);
  workspace_.hold(state_, shape, node, devices);
  held_.push_back({shape, node, devices});
}

}  // namespace tutti
