#include "sim/never_start.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "policy/registry.h"
#include "sched/explain.h"
#include "sched/gang.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

/// An explanation tries out what would help, which takes long on a large fleet.
constexpr std::size_t explained_max = 5;

/// The first line as it is, those below it further to the right.
std::string indented(const std::string& lines) {
  std::string out;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    out += lines[at];
    if (lines[at] == '\n' && at + 1 < lines.size()) out += "  ";
  }
  return out;
}

/// What makes jobs alike here: the same queue, namespace and gangs.
using Likeness = std::tuple<std::string, std::string, std::vector<const GangSpec*>>;

Likeness likeness(const JobSpec& spec) {
  std::vector<const GangSpec*> gangs;
  for (const auto& gang : spec.gangs) gangs.push_back(gang.get());
  return {spec.queue, spec.space, std::move(gangs)};
}

/// The empty fleet, on which one job at a time is tried.
class EmptyFleet {
 public:
  EmptyFleet() : factory_(*builtin_policy("pack")), workspace_(factory_) {}

  Result<void> build(const FleetFile& fleet, const Workload& workload) {
    for (const Event& event : TRY(fleet_events(fleet, workload, std::nullopt))) TRY(apply(event));
    return {};
  }

  /// Does every gang of the job find places when it is alone?
  Result<bool> places(std::shared_ptr<const JobSpec> spec) {
    const JobIndex job = TRY(submit(std::move(spec)));
    bool all = true;
    for (const GangIndex gang : gangs_of(job)) {
      Txn txn(state_, workspace_);
      all = all && !over_limit(txn, gang) && place_gang(txn, gang);
    }
    TRY(apply(JobCancelled{state_.jobs()[job].id}));
    return all;
  }

  /// Why the job can never start; empty when it can.
  Result<std::string> why_never(std::shared_ptr<const JobSpec> spec) {
    const JobIndex job = TRY(submit(std::move(spec)));
    std::string why;
    for (const GangIndex gang : gangs_of(job)) {
      const Explanation explanation = explain(state_, factory_, gang);
      if (explanation.outcome != Outcome::never) continue;
      why = to_text(state_, explanation);
      break;
    }
    TRY(apply(JobCancelled{state_.jobs()[job].id}));
    return why;
  }

 private:
  Result<JobIndex> submit(std::shared_ptr<const JobSpec> spec) {
    const JobId id(next_++);
    TRY(apply(JobSubmitted{id, std::move(spec)}));
    workspace_.sync(state_);
    return state_.find(id);
  }

  std::vector<GangIndex> gangs_of(JobIndex index) const {
    const Job& job = state_.jobs()[index];
    std::vector<GangIndex> gangs;
    for (std::uint32_t at = 0; at < job.gangs; ++at)
      gangs.emplace_back(job.first_gang.value() + at);
    return gangs;
  }

  Result<void> apply(const Event& event) {
    TRY(state_.admissible(event));
    state_.apply(event, Instant{});
    return {};
  }

  RecipeFactory factory_;
  Workspace workspace_;
  State state_;
  std::uint64_t next_ = 1;
};

}  // namespace

std::string to_text(const NeverStarts& never) {
  if (never.kinds.empty()) return {};
  std::string out =
      fmt::format("{}: {} {} never start on this fleet, however empty\n", never.workload,
                  never.jobs, never.jobs == 1 ? "job can" : "jobs can");
  for (const NeverStarts::Kind& kind : never.kinds) {
    out += "  " + kind.job;
    if (kind.jobs > 1) out += fmt::format(" and {} more like it", kind.jobs - 1);
    out += ": " + indented(kind.why);
  }
  if (never.not_explained > 0) {
    out += fmt::format("  and {} other kinds of jobs find no place there\n", never.not_explained);
  }
  return out;
}

Result<NeverStarts> never_start(const FleetFile& fleet, const Workload& workload) {
  std::map<Likeness, std::size_t> known;
  std::vector<NeverStarts::Kind> kinds;
  std::vector<std::shared_ptr<const JobSpec>> firsts;
  for (const Submission& job : workload.jobs) {
    const auto [row, fresh] = known.try_emplace(likeness(*job.spec), kinds.size());
    if (fresh) {
      kinds.push_back({.job = job.spec->name});
      firsts.push_back(job.spec);
    }
    ++kinds[row->second].jobs;
  }
  EmptyFleet empty;
  TRY(empty.build(fleet, workload));
  NeverStarts out{.workload = workload.name};
  for (std::size_t at = 0; at < kinds.size(); ++at) {
    if (TRY(empty.places(firsts[at]))) continue;
    if (out.kinds.size() == explained_max) {
      ++out.not_explained;
      continue;
    }
    kinds[at].why = TRY(empty.why_never(firsts[at]));
    if (kinds[at].why.empty()) continue;
    out.jobs += kinds[at].jobs;
    out.kinds.push_back(std::move(kinds[at]));
  }
  return out;
}

}  // namespace tutti
