#include "sched/txn.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "sched/fit.h"

namespace tutti {

Txn::Txn(const State& state, Workspace& workspace) : state_(state), workspace_(workspace) {
  plan_.base_version = state.version();
}

Txn::~Txn() {
  if (!finished_) rollback(0);
}

void Txn::place(TaskIndex index, ShapeIndex shape, NodeIndex node, const DeviceSet& devices) {
  const Task& task = state_.tasks()[index];
  CHECK(task.phase == TaskPhase::pending, index, to_text(task.phase));
  plan_.actions.push_back({.kind = ActionKind::place,
                           .task = state_.id_of(index),
                           .attempt = task.attempt + 1,
                           .shape = shape,
                           .node = node,
                           .devices = devices});
  workspace_.hold(state_, shape, node, devices);
  charge(plan_.actions.back(), +1);
}

void Txn::place(TaskIndex task, ShapeIndex shape, NodeIndex node) {
  const PolicySet& policies = workspace_.policies();
  place(task, shape, node,
        choose_devices(workspace_.task_class(state_, shape), view(), node,
                       *policies.scores[policies.device_score].score));
}

void Txn::evict(TaskIndex index) {
  const Task& task = state_.tasks()[index];
  plan_.actions.push_back({.kind = ActionKind::evict,
                           .task = state_.id_of(index),
                           .attempt = task.attempt,
                           .shape = task.shape,
                           .node = task.node,
                           .devices = task.devices});
}

void Txn::deal_in_node_order(Mark mark) {
  const auto begin = plan_.actions.begin() + static_cast<std::ptrdiff_t>(mark);
  const auto role = [&](const Action& action) {
    return state_.tasks()[state_.find(action.task)].role;
  };
  std::vector<std::pair<TaskId, std::uint32_t>> tasks;
  for (auto at = begin; at != plan_.actions.end(); ++at) tasks.emplace_back(at->task, at->attempt);
  std::ranges::sort(tasks);  // Tasks of a role follow each other.
  std::sort(begin, plan_.actions.end(), [&](const Action& a, const Action& b) {
    return std::tuple(role(a), a.node, a.devices.words(), a.shape) <
           std::tuple(role(b), b.node, b.devices.words(), b.shape);
  });
  for (auto at = begin; at != plan_.actions.end(); ++at) {
    std::tie(at->task, at->attempt) = tasks[static_cast<std::size_t>(at - begin)];
  }
}

void Txn::rollback(Mark mark) {
  while (plan_.actions.size() > mark) {
    const Action& action = plan_.actions.back();
    if (action.kind == ActionKind::place) {
      workspace_.release(state_, action.shape, action.node, action.devices);
      charge(action, -1);
    }
    plan_.actions.pop_back();
  }
}

void Txn::keep(Mark mark) { workspace_.settle(state_, std::span(plan_.actions).subspan(mark)); }

bool Txn::within_limits(QueueIndex index, ShapeIndex shape) const {
  const ShapeRow& row = state_.shape(shape);
  for (; index.valid(); index = state_.queue(index).parent) {
    const Queue& queue = state_.queue(index);
    if (queue.spec.limit.empty()) continue;
    const QueueUsage& usage = workspace_.queue_usage()[index.value()];
    for (const Resources::Amount& part : row.request) {
      const std::size_t at = part.lane.value();
      if (at >= queue.limit.size() || queue.limit[at] < 0) continue;
      const std::int64_t used = at < usage.lanes.size() ? usage.lanes[at] : 0;
      if (used + part.amount > queue.limit[at]) return false;
    }
    // What a task does not ask for is not refused to it, however much others have of it.
    if (queue.gpu_milli_limit >= 0 && row.gpu_milli > 0 &&
        usage.gpu_milli + row.gpu_milli > queue.gpu_milli_limit) {
      return false;
    }
  }
  return true;
}

bool Txn::limited(QueueIndex index) const {
  for (; index.valid(); index = state_.queue(index).parent) {
    if (!state_.queue(index).spec.limit.empty()) return true;
  }
  return false;
}

void Txn::charge(const Action& action, int sign) {
  const ShapeRow& row = state_.shape(action.shape);
  QueueIndex queue = state_.jobs()[state_.find(action.task.job)].queue;
  for (; queue.valid(); queue = state_.queue(queue).parent) {
    if (state_.queue(queue).spec.limit.empty()) continue;  // Only limits are asked for in a cycle.
    QueueUsage& usage = workspace_.queue_usage()[queue.value()];
    for (const Resources::Amount& part : row.request) {
      if (usage.lanes.size() <= part.lane.value()) usage.lanes.resize(part.lane.value() + 1);
      usage.lanes[part.lane.value()] += sign * part.amount;
    }
    usage.gpu_milli += sign * row.gpu_milli;
  }
}

Plan Txn::finish() && {
  finished_ = true;
  return std::move(plan_);
}

}  // namespace tutti
