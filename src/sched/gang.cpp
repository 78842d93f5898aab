#include "sched/gang.h"

#include "base/check.h"
#include "sched/fit.h"

namespace tutti {
namespace {

/// The tasks of one role of one gang, and how many of them already count.
struct RoleTasks {
  const GangShape::Role* role = nullptr;
  TaskIndex first;
  std::uint32_t standing = 0;  ///< Hold resources, or ended.
};

RoleTasks tasks_of(const State& state, const Gang& gang, const GangShape::Role& role) {
  RoleTasks tasks{.role = &role, .first = TaskIndex(gang.first_task.value() + role.first_task)};
  for (std::uint32_t offset = 0; offset < role.count; ++offset) {
    const TaskPhase phase = state.tasks()[TaskIndex(tasks.first.value() + offset)].phase;
    if (phase != TaskPhase::pending && phase != TaskPhase::stopping) ++tasks.standing;
  }
  return tasks;
}

bool place_task(Txn& txn, TaskIndex task, const GangShape::Role& role) {
  for (const ShapeIndex shape : role.alternatives) {
    const NodeIndex node = txn.workspace().best(txn.state(), shape);
    if (!node.valid()) continue;
    const PolicySet& policies = txn.workspace().policies();
    const TaskClass& task_class = txn.workspace().task_class(txn.state(), shape);
    txn.place(task, shape, node,
              choose_devices(task_class, txn.view(), node,
                             *policies.scores[policies.device_score].score));
    return true;
  }
  return false;
}

/// True when at least `min` of the role stand in the end.
bool place_role(Txn& txn, const RoleTasks& tasks) {
  std::uint32_t standing = tasks.standing;
  for (std::uint32_t offset = 0; offset < tasks.role->count; ++offset) {
    const TaskIndex task(tasks.first.value() + offset);
    if (txn.state().tasks()[task].phase != TaskPhase::pending) continue;
    if (!place_task(txn, task, *tasks.role)) break;
    ++standing;
  }
  return standing >= tasks.role->min;
}

}  // namespace

bool whole(const State& state, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    if (tasks_of(state, gang, role).standing < role.min) return false;
  }
  return true;
}

bool over_limit(Txn& txn, GangIndex index) {
  const State& state = txn.state();
  const Gang& gang = state.gangs()[index];
  const QueueIndex queue_index = state.jobs()[gang.job].queue;
  const Queue& queue = state.queue(queue_index);
  if (queue.spec.limit.empty()) return false;
  QueueUsage wanted = txn.workspace().queue_usage()[queue_index.value()];
  wanted.lanes.resize(state.fleet().lanes().size());
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    const RoleTasks tasks = tasks_of(state, gang, role);
    const std::int64_t missing = role.min > tasks.standing ? role.min - tasks.standing : 0;
    const ShapeRow& row = state.shape(role.alternatives.front());
    for (const Resources::Amount& part : row.request) {
      wanted.lanes[part.lane.value()] += missing * part.amount;
    }
    wanted.gpu_milli += missing * row.gpu_milli;
  }
  for (std::size_t at = 0; at < queue.limit.size(); ++at) {
    if (queue.limit[at] >= 0 && wanted.lanes[at] > queue.limit[at]) return true;
  }
  return queue.gpu_milli_limit >= 0 && wanted.gpu_milli > queue.gpu_milli_limit;
}

bool place_gang(Txn& txn, GangIndex index) {
  const State& state = txn.state();
  const Gang& gang = state.gangs()[index];
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    if (!place_role(txn, tasks_of(state, gang, role))) return false;
  }
  return true;
}

}  // namespace tutti
