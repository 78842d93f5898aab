#include "sched/queue_trial.h"

#include <set>

#include "sched/cycle.h"

namespace tutti {
namespace {

bool waits(const State& state, JobId id) {
  const Job& job = state.jobs()[state.find(id)];
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    if (state.gangs()[GangIndex(job.first_gang.value() + at)].holding > 0) return false;
  }
  return true;
}

std::vector<QueueTrial::Above> above_limits(const State& state, const Queue& queue,
                                            const QueueUsage& used) {
  std::vector<QueueTrial::Above> out;
  for (const NamedAmount& limit : queue.spec.limit) {
    const auto lane = state.fleet().lanes().find(limit.name);
    std::int64_t uses = 0;
    std::int64_t may_use = limit.amount;
    if (limit.name == "gpu") {
      uses = used.gpu_milli;
      may_use = queue.gpu_milli_limit;
    } else if (lane && lane->value() < used.lanes.size()) {
      uses = used.lanes[lane->value()];
    }
    if (uses > may_use) out.push_back({{limit.name, uses}, limit});
  }
  return out;
}

}  // namespace

QueueTrial try_queue(const State& state, const PolicyFactory& factory, const QueueSpec& queue) {
  QueueTrial out;
  State tried = state;
  tried.apply(QueueSet{queue}, state.now());
  const QueueIndex index = *tried.find_queue(queue.name);
  out.above = above_limits(tried, tried.queue(index), tried.queue_usage(index));
  Workspace workspace(factory);
  const Cycle cycle;
  std::set<JobId> seen;
  do {
    workspace.sync(tried);
    const Plan plan = cycle.run(tried, workspace);
    if (plan.actions.empty()) break;
    for (const Action& action : plan.actions) {
      const JobId job = action.task.job;
      if (action.kind != ActionKind::place || !seen.insert(job).second) continue;
      if (waits(state, job)) out.would_start.push_back(job);
    }
    tried.apply(PlanDecided{plan.actions}, state.now());
    workspace.sync(tried);
  } while (workspace.pending().any_awake());
  return out;
}

}  // namespace tutti
