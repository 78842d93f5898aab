#include "sim/snapshot.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "model/standing.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

/// Pods that were placed run on; nothing is reported.
class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(std::uint64_t& placed) : placed_(placed) {}
  void execute(const Action&, const State&) override { ++placed_; }
  std::vector<Observed> observe() override { return {}; }

 private:
  std::uint64_t& placed_;
};

/// Jobs by their row in the workload, oldest first.
struct Order {
  std::vector<std::size_t> pinned;  ///< Run on nodes that take no work: they stay.
  std::vector<std::size_t> running;
  std::vector<std::size_t> waiting;
};

std::uint32_t bound(const Snapshot::Standing& standing) {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(standing.nodes, [](const std::string& node) { return !node.empty(); }));
}

/// The pods that run of a job whose others wait are a job of their own, until all that runs has its
/// place; then the others join, as many together as the minimum of the gang still lacks.
struct Part {
  std::size_t job = 0;  ///< Its row.
  JobId id;
  std::shared_ptr<const JobSpec> runs;
  std::shared_ptr<const JobSpec> all;
  std::vector<std::uint32_t> pods;  ///< Those that run, among all.
  std::vector<std::string> nodes;   ///< Where.
  bool whole() const { return runs == all; }
};

Part part_of(const Snapshot& snapshot, std::size_t job) {
  const std::vector<std::string>& nodes = snapshot.standing[job].nodes;
  Part part{.job = job,
            .id = JobId(job),
            .runs = snapshot.workload.jobs[job].spec,
            .all = snapshot.workload.jobs[job].spec,
            .pods = {},
            .nodes = {}};
  std::vector<bool> runs;
  for (std::uint32_t pod = 0; pod < nodes.size(); ++pod) {
    runs.push_back(!nodes[pod].empty());
    if (!runs.back()) continue;
    part.pods.push_back(pod);
    part.nodes.push_back(nodes[pod]);
  }
  if (part.pods.size() == nodes.size()) return part;
  part.id = JobId(snapshot.standing.size() + job);
  part.runs = without_pods(*part.all, runs);
  return part;
}

/// All pods of the job in place of those that run, which keep their places.
std::vector<Event> joined(const State& state, const Part& part) {
  std::vector<Event> out;
  PlanDecided plan;
  for (std::uint32_t at = 0; at < part.pods.size(); ++at) {
    const TaskId id{part.id, at};
    const Task& task = state.tasks()[state.find(id)];
    if (!holds(task.phase)) continue;
    out.emplace_back(TaskExited{id, task.attempt, 0});
    // Equal shapes have equal rows, whatever job they are of.
    plan.actions.push_back({.task = {JobId(part.job), part.pods[at]},
                            .attempt = 1,
                            .shape = task.shape,
                            .node = task.node,
                            .devices = task.devices});
  }
  if (plan.actions.size() < part.pods.size()) out.emplace_back(JobCancelled{part.id});
  out.emplace_back(JobSubmitted{JobId(part.job), part.all});
  out.emplace_back(std::move(plan));
  return out;
}

Order order_of(const Snapshot& snapshot, bool stay) {
  std::map<std::string_view, bool> open;
  for (const NodeSpec& node : snapshot.fleet.nodes) open[node.name] = !node.cordoned;
  Order order;
  for (std::size_t job = 0; job < snapshot.standing.size(); ++job) {
    const Snapshot::Standing& standing = snapshot.standing[job];
    const bool closed = std::ranges::any_of(standing.nodes, [&](const std::string& node) {
      const auto found = open.find(node);
      return found != open.end() && !found->second;
    });
    if (bound(standing) == 0) {
      if (!standing.gated) order.waiting.push_back(job);
    } else {
      (closed || stay ? order.pinned : order.running).push_back(job);
    }
  }
  const auto by_age = [&](std::size_t a, std::size_t b) {
    return snapshot.workload.jobs[a].at < snapshot.workload.jobs[b].at;
  };
  for (auto* jobs : {&order.pinned, &order.running, &order.waiting}) {
    std::ranges::stable_sort(*jobs, by_age);
  }
  return order;
}

/// The jobs of a dump where the dump says that they stand.
class Recorded {
 public:
  Result<void> apply(const Event& event) {
    TRY(state_.admissible(event));
    state_.apply(event, Instant{});
    return {};
  }

  /// Submits what runs of a job and places it. What was decided, for another engine to repeat.
  Result<PlanDecided> stand(const Part& part) {
    TRY(apply(JobSubmitted{part.id, part.runs}));
    PlanDecided plan;
    for (std::uint32_t ordinal = 0; ordinal < part.nodes.size(); ++ordinal) {
      const auto node = state_.fleet().find(part.nodes[ordinal]);
      if (!node) continue;
      const TaskId id{part.id, ordinal};
      const Standing there = standing(state_, state_.find(id), *node);
      if (!there.complete) continue;
      plan.actions.push_back({.task = id,
                              .attempt = 1,
                              .shape = there.shape,
                              .node = *node,
                              .devices = there.devices});
      state_.apply(PlanDecided{{plan.actions.back()}}, Instant{});
    }
    return plan;
  }
  const State& state() const { return state_; }

 private:
  State state_;
};

std::uint32_t placed_pods(const State& state, std::size_t job) {
  const JobIndex row = state.find(JobId(job));
  if (!row.valid()) return 0;
  std::uint32_t placed = 0;
  for (std::uint32_t gang = 0; gang < state.jobs()[row].gangs; ++gang) {
    placed += state.gangs()[GangIndex(state.jobs()[row].first_gang.value() + gang)].holding;
  }
  return placed;
}

void count_room(const State& state, SnapshotResult& result) {
  constexpr std::uint32_t gang_devices = 8;
  const Fleet& fleet = state.fleet();
  std::vector<std::uint32_t> gangs(fleet.types().size());
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    const NodeIndex node(at);
    const std::uint32_t devices = fleet.device_end(node) - fleet.device_begin(node);
    if (!fleet.open(node) || devices == 0) continue;
    std::vector<std::uint32_t> free(fleet.types().size());
    std::uint32_t all_free = 0;
    for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
      if (state.usage().used_permille(row) > 0 || !fleet.offered(row)) continue;
      ++free[fleet.device_type(row).value()];
      ++all_free;
    }
    result.free_whole_nodes += all_free == devices ? 1 : 0;
    for (std::size_t type = 0; type < free.size(); ++type) gangs[type] += free[type] / gang_devices;
  }
  for (const std::uint32_t tasks : gangs) {
    result.largest_gang_8gpu = std::max(result.largest_gang_8gpu, tasks);
  }
}

SnapshotResult figures(const Snapshot& snapshot, const Order& order, const State& state,
                       const AnewOptions& options) {
  SnapshotResult result;
  std::vector<std::size_t> lost;
  for (const auto* jobs : {&order.pinned, &order.running, &order.waiting}) {
    for (const std::size_t job : *jobs) {
      // Of a gang that partly runs, places go to what runs first.
      const std::uint32_t pods = bound(snapshot.standing[job]);
      const std::uint32_t placed = placed_pods(state, job);
      result.running += pods;
      result.running_unplaced += pods - std::min(pods, placed);
      result.pending_started += placed - std::min(pods, placed);
      const auto all = static_cast<std::uint32_t>(snapshot.standing[job].pods.size());
      if (!snapshot.standing[job].gated) result.pending += all - pods;
      if (options.given && job >= *options.given) {
        ++result.given;
        result.given_started += placed == all ? 1 : 0;
      }
      const bool waits = pods < all && !snapshot.standing[job].gated;
      if (waits || placed < pods) (waits ? result.asked : lost).push_back(job);
    }
  }
  std::int64_t permille = 0;
  for (std::uint32_t row = 0; row < state.fleet().device_count(); ++row) {
    permille += DeviceRequest::whole - free_permille(state, row);
  }
  result.gpus_allocated = static_cast<double>(permille) / 1000;
  count_room(state, result);
  result.left_by_model = left_by_model(state);
  result.asked.insert(result.asked.end(), lost.begin(), lost.end());
  if (options.given) {
    std::ranges::stable_partition(result.asked,
                                  [&](std::size_t job) { return job >= *options.given; });
  }
  if (options.map) result.map = node_map(snapshot.fleet, state);
  result.end = std::make_shared<const State>(state);
  result.state_hash = state.hash();
  return result;
}

Result<Engine::Step> said(Engine& engine, std::vector<Event> events) {
  Engine::Step step = TRY(engine.step(events, Instant{}));
  if (!step.refused.empty()) return fail(std::move(step.refused.front().why));
  return step;
}

/// Places anew, with the engine, what an order says.
class Anew {
 public:
  Anew(const Snapshot& snapshot, const RecipeFactory& factory)
      : snapshot_(snapshot), backend_(placed_), engine_(journal_, backend_, factory) {}

  Result<void> run(std::vector<Event> fleet, const Order& order) {
    Recorded recorded;
    for (const Event& event : fleet) TRY(recorded.apply(event));
    TRY(said(engine_, std::move(fleet)));
    // Both states have seen the same events until now, so rows and shapes have the same numbers.
    // One step, so that nothing else is placed between them.
    std::vector<Event> standing;
    for (const std::size_t job : order.pinned) {
      const Part& part = parts_.emplace_back(part_of(snapshot_, job));
      standing.emplace_back(JobSubmitted{part.id, part.runs});
      standing.emplace_back(TRY(recorded.stand(part)));
    }
    if (!standing.empty()) TRY(said(engine_, std::move(standing)));
    for (const std::size_t job : order.running) {
      const Part& part = parts_.emplace_back(part_of(snapshot_, job));
      TRY(said(engine_, {JobSubmitted{part.id, part.runs}}));
    }
    TRY(join_all());
    for (const std::size_t job : order.waiting) {
      TRY(said(engine_, {JobSubmitted{JobId(job), snapshot_.workload.jobs[job].spec}}));
    }
    return {};
  }
  const State& state() const { return engine_.state(); }
  std::uint64_t placed() const { return placed_; }

 private:
  Result<void> join_all() {
    std::vector<Event> all;
    for (const Part& part : parts_) {
      if (part.whole()) continue;
      std::vector<Event> some = joined(engine_.state(), part);
      std::ranges::move(some, std::back_inserter(all));
    }
    if (!all.empty()) TRY(said(engine_, std::move(all)));
    return {};
  }

  const Snapshot& snapshot_;
  NullJournal journal_;
  std::uint64_t placed_ = 0;
  CountingBackend backend_;
  Engine engine_;
  std::vector<Part> parts_;
};

/// What the dump says, and no more.
Result<void> stand_all(Recorded& recorded, const Snapshot& snapshot, const Order& order) {
  std::vector<std::size_t> running = order.pinned;
  running.insert(running.end(), order.running.begin(), order.running.end());
  for (const std::size_t job : running) {
    const Part part = part_of(snapshot, job);
    TRY(recorded.stand(part));
    if (part.whole()) continue;
    for (const Event& event : joined(recorded.state(), part)) {
      TRY(recorded.apply(event));
    }
  }
  for (const std::size_t job : order.waiting) {
    TRY(recorded.apply(JobSubmitted{JobId(job), snapshot.workload.jobs[job].spec}));
  }
  return {};
}

}  // namespace

std::size_t add_jobs(Snapshot& snapshot, const Workload& workload) {
  std::vector<Submission>& jobs = snapshot.workload.jobs;
  const std::size_t first = jobs.size();
  Instant last;
  for (const Submission& job : jobs) last = std::max(last, job.at);
  for (const Submission& job : workload.jobs) {
    jobs.push_back(job);
    // Their order is that of the file, whatever it says of times.
    jobs.back().at = last;
    Snapshot::Standing& standing = snapshot.standing.emplace_back();
    standing.pods.assign(tasks_of(*job.spec), job.spec->name);
    standing.nodes.resize(standing.pods.size());
  }
  snapshot.workload.mix = mix_of(jobs);
  return first;
}

Result<SnapshotResult> place_again(const Snapshot& snapshot, const PolicyRecipe& policy,
                                   const AnewOptions& options) {
  const Order order = order_of(snapshot, options.given.has_value());
  std::vector<Event> fleet = TRY(fleet_events(snapshot.fleet, snapshot.workload, std::nullopt));
  if (policy.name == present_policy) {
    Recorded recorded;
    for (const Event& event : fleet) TRY(recorded.apply(event));
    TRY(stand_all(recorded, snapshot, order));
    return figures(snapshot, order, recorded.state(), options);
  }
  TRY(check_recipe(policy));
  const RecipeFactory factory(policy);
  Anew anew(snapshot, factory);
  TRY(anew.run(std::move(fleet), order));
  SnapshotResult result = figures(snapshot, order, anew.state(), options);
  result.decisions = anew.placed();
  return result;
}

}  // namespace tutti
