#include "sched/gang.h"

#include "base/check.h"
#include "sched/gang_search.h"

namespace tutti {
namespace {

std::uint32_t standing(const State& state, const Gang& gang, const GangShape::Role& role) {
  std::uint32_t count = 0;
  for (std::uint32_t offset = 0; offset < role.count; ++offset) {
    const TaskIndex task(gang.first_task.value() + role.first_task + offset);
    const TaskPhase phase = state.tasks()[task].phase;
    if (phase != TaskPhase::pending && phase != TaskPhase::stopping) ++count;
  }
  return count;
}

}  // namespace

bool whole(const State& state, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    if (standing(state, gang, role) < role.min) return false;
  }
  return true;
}

bool looks_at_others(const State& state, Workspace& workspace, GangIndex index) {
  for (const GangShape::Role& role : state.gang_shape(state.gangs()[index].shape).roles) {
    for (const ShapeIndex shape : role.alternatives) {
      if (workspace.follows_others(state, shape)) return true;
    }
  }
  return false;
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
    const std::uint32_t there = standing(state, gang, role);
    const std::int64_t missing = role.min > there ? role.min - there : 0;
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

bool place_gang(Txn& txn, GangIndex index) { return GangSearch(txn, index).run(); }

}  // namespace tutti
