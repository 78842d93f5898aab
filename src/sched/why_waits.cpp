#include "sched/why_waits.h"

#include "sched/held_back.h"
#include "sched/pending.h"

namespace tutti {

std::string why_waits(const State& state, const PolicyFactory& factory, JobId id,
                      const MayName& may_name) {
  const JobIndex index = state.find(id);
  if (!index.valid()) return {};
  const Job& job = state.jobs()[index];
  if (std::string held = held_back(state, index); !held.empty()) return held;
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    const GangIndex gang(job.first_gang.value() + at);
    if (wants_place(state, gang)) return to_text(state, explain(state, factory, gang), may_name);
  }
  return {};
}

}  // namespace tutti
