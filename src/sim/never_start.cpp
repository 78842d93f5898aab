#include "sim/never_start.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "policy/registry.h"
#include "sched/explain.h"
#include "sched/gang.h"
#include "sched/what_if.h"
#include "sim/alike.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

/// An explanation tries out what would help, which takes long on a large fleet.
constexpr std::size_t shown_max = 5;
constexpr std::size_t explained_max = 50;

/// The job as if all tasks of other gangs that it must be near were there.
std::shared_ptr<const JobSpec> in_company(const std::shared_ptr<const JobSpec>& spec) {
  JobSpec out = *spec;
  bool changed = false;
  for (auto& gang : out.gangs) {
    GangSpec other = *gang;
    bool dropped = false;
    for (GroupSpec& group : other.groups) {
      for (RoleSpec& role : group.roles) {
        for (TaskShape& shape : role.alternatives) dropped |= without_company(shape);
      }
    }
    if (!dropped) continue;
    gang = std::make_shared<const GangSpec>(std::move(other));
    changed = true;
  }
  return changed ? std::make_shared<const JobSpec>(std::move(out)) : spec;
}

FleetFile repaired(FleetFile fleet) {
  for (NodeSpec& node : fleet.nodes) {
    node.cordoned = false;
    for (DeviceSpec& device : node.devices) device.device.health = Health::online;
  }
  return fleet;
}

/// A fleet that runs nothing, on which one job at a time is tried.
class EmptyFleet {
 public:
  EmptyFleet() : factory_(*builtin_policy("pack")), workspace_(factory_) {}

  Result<void> build(const FleetFile& fleet, const Workload& workload) {
    for (const Event& event : TRY(fleet_events(fleet, workload, std::nullopt))) TRY(apply(event));
    return {};
  }

  Result<Likeness> kind_of(std::shared_ptr<const JobSpec> spec) {
    const JobIndex job = TRY(submit(std::move(spec)));
    Likeness out = likeness(state_, job);
    TRY(withdraw(job));
    return out;
  }

  /// Might every gang of the job find places when it is alone?
  Result<bool> may_place(std::shared_ptr<const JobSpec> spec) {
    const JobIndex job = TRY(submit(std::move(spec)));
    workspace_.sync(state_);
    bool all = true;
    for (const GangIndex gang : gangs_of(job)) {
      if (!all) break;
      Txn txn(state_, workspace_);
      all = !over_limit(txn, gang);
      if (!all) break;
      const Placing placing = place_gang(txn, gang);
      all = placing.placed || placing.search_limit;
    }
    TRY(withdraw(job));
    return all;
  }

  /// What the job lacks, without what would help.
  Result<std::string> what_it_lacks(std::shared_ptr<const JobSpec> spec) {
    const JobIndex job = TRY(submit(std::move(spec)));
    workspace_.sync(state_);
    std::string out;
    for (const GangIndex gang : gangs_of(job)) {
      {
        Txn txn(state_, workspace_);
        if (!over_limit(txn, gang) && place_gang(txn, gang)) continue;
      }
      Explanation explanation = reasons(state_, factory_, gang);
      explanation.outcome = Outcome::never;
      out = to_text(state_, explanation);
      break;
    }
    TRY(withdraw(job));
    return out;
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
    TRY(withdraw(job));
    return why;
  }

 private:
  Result<JobIndex> submit(std::shared_ptr<const JobSpec> spec) {
    const JobId id(next_++);
    TRY(apply(JobSubmitted{id, std::move(spec)}));
    return state_.find(id);
  }
  Result<void> withdraw(JobIndex job) { return apply(JobCancelled{state_.jobs()[job].id}); }

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

struct AlikeJobs {
  std::shared_ptr<const JobSpec> first;
  std::vector<std::size_t> rows;
};

Result<std::vector<AlikeJobs>> kinds_of(const Workload& workload, EmptyFleet& fleet) {
  std::map<Likeness, std::size_t> known;
  std::vector<AlikeJobs> kinds;
  for (std::size_t row = 0; row < workload.jobs.size(); ++row) {
    const auto& spec = workload.jobs[row].spec;
    const auto [at, fresh] = known.try_emplace(TRY(fleet.kind_of(spec)), kinds.size());
    if (fresh) kinds.push_back({.first = spec, .rows = {}});
    kinds[at->second].rows.push_back(row);
  }
  return kinds;
}

}  // namespace

std::string indented(const std::string& lines) {
  std::string out;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    out += lines[at];
    if (lines[at] == '\n' && at + 1 < lines.size()) out += "  ";
  }
  return out;
}

std::string to_text(const NeverStarts& never) {
  if (never.kinds.empty()) return {};
  std::string out =
      fmt::format("{}: {} {} never start on this fleet, however empty\n", never.workload,
                  never.jobs, never.jobs == 1 ? "job can" : "jobs can");
  std::uint64_t kinds = 0;
  std::uint64_t jobs = 0;
  for (const NeverStarts::Kind& kind : never.kinds) {
    if (!kind.shown) {
      ++kinds;
      jobs += kind.jobs;
      continue;
    }
    out += "  " + kind.job;
    if (kind.jobs > 1) out += fmt::format(" and {} more like it", kind.jobs - 1);
    out += ": " + indented(kind.why);
  }
  if (kinds > 0) {
    out += fmt::format("  and {} more {} ({} {}); --json says why\n", kinds,
                       kinds == 1 ? "kind" : "kinds", jobs, jobs == 1 ? "job" : "jobs");
  }
  return out;
}

Result<NeverStarts> never_start(const FleetFile& fleet, const Workload& workload) {
  NeverStarts out{.workload = workload.name};
  out.by_job.resize(workload.jobs.size());
  EmptyFleet best;
  TRY(best.build(repaired(fleet), workload));
  std::optional<EmptyFleet> given;
  const bool spaces = many_spaces(workload);
  std::size_t explained = 0;
  for (const AlikeJobs& kind : TRY(kinds_of(workload, best))) {
    if (TRY(best.may_place(in_company(kind.first)))) continue;
    NeverStarts::Kind never{.job = full_name(*kind.first, spaces), .jobs = kind.rows.size()};
    if (explained < explained_max && !given) TRY(given.emplace().build(fleet, workload));
    never.shown = explained++ < shown_max;
    if (never.shown) {
      never.why = TRY(given->why_never(kind.first));
      if (never.why.empty()) continue;
    } else if (explained <= explained_max) {
      never.why = TRY(given->what_it_lacks(kind.first));
    }
    out.jobs += never.jobs;
    out.kinds.push_back(std::move(never));
    for (const std::size_t row : kind.rows) out.by_job[row] = true;
  }
  return out;
}

}  // namespace tutti
