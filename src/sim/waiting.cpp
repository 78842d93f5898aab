#include "sim/waiting.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sched/explain.h"
#include "sched/gang.h"
#include "sim/alike.h"

namespace tutti {
namespace {

constexpr std::size_t shown_kinds_max = 5;
constexpr std::size_t explained_kinds_max = 50;
constexpr std::size_t started_shown_kinds_max = 10;

/// The first gang of the job that still wants places; none when the job has them all.
GangIndex waiting_gang(const State& state, std::size_t row) {
  const JobIndex index = state.find(JobId(row));
  if (!index.valid()) return {};
  const Job& job = state.jobs()[index];
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    const GangIndex gang(job.first_gang.value() + at);
    if (state.gangs()[gang].pending() > 0) return gang;
  }
  return {};
}

bool has_room(const State& state, const PolicyFactory& factory, GangIndex gang) {
  Workspace workspace(factory);
  workspace.sync(state);
  Txn txn(state, workspace);
  return !over_limit(txn, gang) && place_gang(txn, gang).placed && txn.size() > 0;
}

struct Asked {
  bool in_full = true;
  bool alone = true;  ///< No other of its kind waits.
};

std::string why_it_waits(const State& state, const PolicyFactory& factory, GangIndex gang,
                         const Asked& asked) {
  const Explanation explanation =
      asked.in_full ? explain(state, factory, gang) : reasons(state, factory, gang);
  if (!has_room(state, factory, gang)) return to_text(state, explanation);
  std::string out = fmt::format("there is room for {}; its turn has not come\n",
                                asked.alone ? "it" : "at least one of them");
  const std::size_t ahead = explanation.unblock.size();
  if (ahead == 0) return out;
  const Unblock& first = explanation.unblock.front();
  const bool job = first.kind == Unblock::Kind::steps_aside;
  return out + "  first comes " +
         (job ? "job " + state.jobs()[state.find(first.job)].spec->name : to_text(state, first)) +
         (ahead > 1 ? fmt::format(", and {} more", ahead - 1) : "") + "\n";
}

/// One end of a run, and what is to be said of it.
struct End {
  const Workload& workload;
  const RunSummary& run;
  const PolicyRecipe& recipe;
  const Snapshot* snapshot;  ///< Null for a trace.
  const NeverStarts& never;
  bool in_full = true;  ///< The first few with what would help.
};

struct AlikePods {
  std::vector<std::size_t> started;
  std::vector<std::size_t> waiting;
};

using Kinds = std::vector<std::pair<bool, AlikePods>>;  ///< Whether they run in the dump.

bool runs_in(const Snapshot* snapshot, std::size_t row) {
  return snapshot != nullptr &&
         std::ranges::none_of(snapshot->standing[row].nodes, &std::string::empty);
}

Kinds kinds_of(const End& end) {
  const State& state = *end.run.end;
  std::map<std::pair<bool, Likeness>, std::size_t> known;
  Kinds kinds;
  for (const std::size_t row : end.run.asked) {
    const JobIndex job = state.find(JobId(row));
    if (!job.valid()) continue;
    const bool ran = runs_in(end.snapshot, row);
    const auto [at, fresh] = known.try_emplace(std::pair(ran, likeness(state, job)), kinds.size());
    if (fresh) kinds.emplace_back(ran, AlikePods());
    AlikePods& alike = kinds[at->second].second;
    (waiting_gang(state, row).valid() ? alike.waiting : alike.started).push_back(row);
  }
  return kinds;
}

Waiting waiting_of(const End& end) {
  const State& state = *end.run.end;
  const RecipeFactory factory(end.recipe);
  Waiting out{.title = {}, .workload = end.workload.name, .policy = end.run.policy, .kinds = {}};
  const bool spaces = many_spaces(end.workload);
  std::size_t explained = 0;
  for (const auto& [ran, alike] : kinds_of(end)) {
    const std::size_t row = alike.waiting.empty() ? alike.started.front() : alike.waiting.front();
    Waiting::Kind& kind = out.kinds.emplace_back();
    kind.job = full_name(*end.workload.jobs[row].spec, spaces);
    kind.jobs = alike.started.size() + alike.waiting.size();
    kind.started = alike.started.size();
    kind.ran = ran;
    if (alike.waiting.empty()) continue;
    kind.never = end.never.by_job[row];
    if (kind.never || explained == explained_kinds_max) continue;
    kind.shown = explained++ < shown_kinds_max;
    kind.why =
        why_it_waits(state, factory, waiting_gang(state, row),
                     {.in_full = kind.shown && end.in_full, .alone = alike.waiting.size() == 1});
  }
  return out;
}

std::string more_like(std::uint64_t jobs) {
  return jobs > 1 ? fmt::format(" and {} more like it", jobs - 1) : "";
}

std::string line_of(const Waiting::Kind& kind) {
  const std::uint64_t waits = kind.jobs - kind.started;
  std::string out = "  " + kind.job + more_like(waits == 0 ? kind.jobs : waits);
  if (kind.ran) out += waits == 1 ? ", which runs at present" : ", which run at present";
  if (waits == 0) return out + (kind.jobs == 1 ? ": would start\n" : ": all would start\n");
  if (kind.started > 0) {
    out +=
        fmt::format(" ({} {})", kind.started, kind.started == 1 ? "other starts" : "others start");
  }
  return out + ": " + indented(kind.why);
}

std::string counted(std::uint64_t kinds, std::uint64_t jobs, std::string_view what) {
  if (kinds == 0) return {};
  return fmt::format("  and {} more {} ({} {}) {}\n", kinds, kinds == 1 ? "kind" : "kinds", jobs,
                     jobs == 1 ? "job" : "jobs", what);
}

std::string title_of(const Comparison& comparison, const RunSummary& run) {
  if (run.policy == present_policy) return "waiting at present";
  if (comparison.given) return fmt::format("beside what runs, with {}", run.policy);
  if (comparison.arrivals == Arrivals::snapshot) return "placed anew with " + run.policy;
  return fmt::format("{}: not started with {} when the run ended", run.workload, run.policy);
}

}  // namespace

std::string to_text(const Waiting& waiting) {
  if (waiting.kinds.empty()) return {};
  std::string out = waiting.title + ":\n";
  std::size_t shown = 0;
  std::uint64_t kinds_started = 0;
  std::uint64_t started = 0;
  std::uint64_t kinds_waiting = 0;
  std::uint64_t others = 0;
  std::uint64_t never = 0;
  for (const Waiting::Kind& kind : waiting.kinds) {
    const std::uint64_t waits = kind.jobs - kind.started;
    if (kind.never) {
      never += waits;
    } else if (waits == 0 && shown++ >= started_shown_kinds_max) {
      ++kinds_started;
      started += kind.jobs;
    } else if (waits > 0 && !kind.shown) {
      ++kinds_waiting;
      others += waits;
    } else {
      out += line_of(kind);
    }
  }
  out += counted(kinds_started, started, "would start");
  out += counted(kinds_waiting, others, "that wait; --json says why");
  if (never == 0) return out;
  return out + fmt::format("  {} {} never start, see below\n", never,
                           never == 1 ? "job can" : "jobs can");
}

Result<std::vector<Waiting>> explain_waiting(const Comparison& comparison,
                                             const std::vector<RunSummary>& runs,
                                             const std::vector<NeverStarts>& never) {
  std::vector<Waiting> out;
  const std::string_view best = best_policy(runs);
  const bool snapshot = comparison.arrivals == Arrivals::snapshot;
  const PolicyRecipe present = TRY(builtin_policy("default"));
  const std::size_t policies = comparison.policies.size();
  for (std::size_t at = 0; at < runs.size(); ++at) {
    const RunSummary& run = runs[at];
    const bool now = run.policy == present_policy;
    const bool matters = now ? !comparison.given : run.policy == best || !snapshot;
    if (run.end == nullptr || run.asked.empty() || !matters) continue;
    Waiting& waiting = out.emplace_back(waiting_of({
        .workload = snapshot ? comparison.snapshot->workload : comparison.workloads[at / policies],
        .run = run,
        .recipe = now ? present : comparison.policies[at % policies],
        .snapshot = snapshot ? comparison.snapshot : nullptr,
        .never = never[at / policies],
        .in_full = now || run.policy == best,
    }));
    waiting.title = title_of(comparison, run);
    // They are explained as what they are, whatever the policy.
    if (!snapshot) std::erase_if(waiting.kinds, [](const auto& kind) { return kind.never; });
    if (waiting.kinds.empty()) out.pop_back();
  }
  return out;
}

}  // namespace tutti
