#include "sched/suppose.h"

#include <map>

#include "sched/cycle.h"

namespace tutti {
namespace {

/// Has nothing of it a place? What the events submit has none.
bool waits(const State& state, JobId id) {
  const JobIndex index = state.find(id);
  if (!index.valid()) return true;
  const Job& job = state.jobs()[index];
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    if (state.gangs()[GangIndex(job.first_gang.value() + at)].holding > 0) return false;
  }
  return true;
}

}  // namespace

Supposed suppose(const State& state, const PolicyFactory& factory, std::span<const Event> events) {
  constexpr std::int32_t terminated = 143;
  Supposed out{.state = state, .starts = {}};
  const Instant now = state.now();
  for (const Event& event : events) out.state.apply(event, now);
  Workspace workspace(factory);
  const Cycle cycle;
  std::map<JobId, std::size_t> known;
  do {
    const Plan plan = cycle.run(out.state, workspace);
    if (plan.actions.empty()) break;
    out.state.apply(PlanDecided{plan.actions}, now);
    for (const Action& action : plan.actions) {
      const JobId job = action.task.job;
      if (action.kind == ActionKind::evict) {
        out.state.apply(TaskExited{action.task, action.attempt, terminated, ExitCause::signalled},
                        now);
      } else if (waits(state, job)) {
        const auto [at, fresh] = known.try_emplace(job, out.starts.size());
        if (fresh) out.starts.push_back({job, {}});
        out.starts[at->second].nodes.push_back(action.node);
      }
    }
    workspace.sync(out.state);
  } while (workspace.pending().any_awake());
  return out;
}

}  // namespace tutti
