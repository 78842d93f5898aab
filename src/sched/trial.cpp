#include "sched/trial.h"

#include "base/check.h"

namespace tutti {

Trial::Trial(const State& state, Workspace& workspace, GangIndex gang)
    : txn_(state, workspace),
      gang_(state.gangs()[gang]),
      shape_(state.gang_shape(gang_.shape)),
      queue_(state.jobs()[gang_.job].queue),
      next_(shape_.roles.size()) {}

TaskIndex Trial::next_pending(const GangShape::Role& role) {
  std::uint32_t& next = next_[static_cast<std::size_t>(&role - shape_.roles.data())];
  for (; next < role.count; ++next) {
    const TaskIndex task(gang_.first_task.value() + role.first_task + next);
    if (txn_.state().tasks()[task].phase != TaskPhase::pending) continue;
    ++next;
    return task;
  }
  CHECK(false, role.count);
  return TaskIndex::none();
}

Trial::Found Trial::take_one(const GangShape::Role& role,
                             std::optional<std::span<const NodeIndex>> within) {
  const State& state = txn_.state();
  Workspace& workspace = txn_.workspace();
  Found found = Found::nothing;
  for (const ShapeIndex shape : role.alternatives) {
    const NodeIndex node =
        within ? workspace.best_among(state, shape, *within) : workspace.best(state, shape);
    if (!node.valid()) continue;
    if (!txn_.within_limits(queue_, shape)) {
      found = Found::limit;
      continue;
    }
    txn_.place(next_pending(role), shape, node);
    return Found::place;
  }
  return found;
}

}  // namespace tutti
