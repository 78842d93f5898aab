#include "sim/snapshot.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "engine/engine.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

/// Pods that were placed run on; nothing is reported.
class EndlessBackend final : public Backend {
 public:
  explicit EndlessBackend(std::uint64_t& placed) : placed_(placed) {}
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

Order order_of(const Snapshot& snapshot) {
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
      (closed ? order.pinned : order.running).push_back(job);
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

/// Devices that could be those which a bound pod holds: the fullest that still have room, whatever
/// their node accepts today. False when there are too few.
bool guess_devices(const State& state, const ShapeRow& shape, NodeIndex node, DeviceSet& out) {
  const Fleet& fleet = state.fleet();
  const std::uint32_t begin = fleet.device_begin(node);
  for (std::size_t request = 0; request < shape.spec.devices.size(); ++request) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = begin; row < fleet.device_end(node); ++row) {
      const TypeIndex type = fleet.device_type(row);
      const Hold& hold = shape.hold[type.value()];
      const std::int64_t memory = fleet.types()[type.value()].memory_mib;
      const bool room =
          state.usage().used_permille(row) + hold.compute_permille <= DeviceRequest::whole &&
          (memory == 0 || state.usage().used_mib(row) + hold.memory_mib <= memory);
      if (hold.request == request && room && !out.contains(row - begin)) rows.push_back(row);
    }
    const std::size_t count = shape.spec.devices[request].count;
    if (rows.size() < count) return false;
    std::ranges::stable_sort(rows, std::greater<>(),
                             [&](std::uint32_t row) { return state.usage().used_permille(row); });
    for (std::size_t at = 0; at < count; ++at) out.add(rows[at] - begin);
  }
  return true;
}

/// The jobs of a dump where the dump says that they stand.
class Recorded {
 public:
  explicit Recorded(const Snapshot& snapshot) : snapshot_(snapshot) {}

  Result<void> apply(const Event& event) {
    TRY(state_.admissible(event));
    state_.apply(event, Instant{});
    return {};
  }

  /// Submits the job and places its bound pods. What was decided, for another engine to repeat.
  Result<PlanDecided> stand(std::size_t job) {
    TRY(apply(JobSubmitted{JobId(job), snapshot_.workload.jobs[job].spec}));
    PlanDecided plan;
    const std::vector<std::string>& nodes = snapshot_.standing[job].nodes;
    for (std::uint32_t ordinal = 0; ordinal < nodes.size(); ++ordinal) {
      const auto node = state_.fleet().find(nodes[ordinal]);
      if (nodes[ordinal].empty() || !node) continue;
      const TaskId id{JobId(job), ordinal};
      const auto action = guess(id, *node);
      if (!action) continue;
      state_.apply(PlanDecided{{*action}}, Instant{});
      plan.actions.push_back(*action);
    }
    return plan;
  }
  const State& state() const { return state_; }

 private:
  /// The first alternative of which the node has the devices.
  std::optional<Action> guess(const TaskId& id, NodeIndex node) const {
    const Task& task = state_.tasks()[state_.find(id)];
    const GangShape& gang = state_.gang_shape(state_.gangs()[task.gang].shape);
    for (const ShapeIndex shape : gang.roles[task.role].alternatives) {
      Action action{.task = id, .attempt = 1, .shape = shape, .node = node, .devices = {}};
      if (guess_devices(state_, state_.shape(shape), node, action.devices)) return action;
    }
    return std::nullopt;
  }

  const Snapshot& snapshot_;
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

SnapshotResult figures(const Snapshot& snapshot, const Order& order, const State& state, bool map) {
  SnapshotResult result;
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
    }
  }
  std::int64_t permille = 0;
  for (std::uint32_t row = 0; row < state.fleet().device_count(); ++row) {
    permille += DeviceRequest::whole - free_permille(state, row);
  }
  result.gpus_allocated = static_cast<double>(permille) / 1000;
  count_room(state, result);
  result.left_by_model = left_by_model(state);
  if (map) result.map = node_map(snapshot.fleet, state);
  result.state_hash = state.hash();
  return result;
}

Result<Engine::Step> said(Engine& engine, std::vector<Event> events) {
  Engine::Step step = TRY(engine.step(events, Instant{}));
  if (!step.refused.empty()) return fail(std::move(step.refused.front().why));
  return step;
}

}  // namespace

Result<SnapshotResult> place_again(const Snapshot& snapshot, const PolicyRecipe& policy, bool map) {
  const Order order = order_of(snapshot);
  const std::vector<Event> fleet =
      TRY(fleet_events(snapshot.fleet, snapshot.workload, std::nullopt));
  Recorded recorded(snapshot);
  for (const Event& event : fleet) TRY(recorded.apply(event));
  std::vector<PlanDecided> pinned;
  for (const std::size_t job : order.pinned) pinned.push_back(TRY(recorded.stand(job)));
  if (policy.name == present_policy) {
    for (const std::size_t job : order.running) TRY(recorded.stand(job));
    for (const std::size_t job : order.waiting) TRY(recorded.stand(job));
    return figures(snapshot, order, recorded.state(), map);
  }
  TRY(check_recipe(policy));
  const RecipeFactory factory(policy);
  NullJournal journal;
  std::uint64_t placed = 0;
  EndlessBackend backend(placed);
  Engine engine(journal, backend, factory);
  TRY(said(engine, fleet));
  // Both states have seen the same events until now, so rows and shapes have the same numbers. One
  // step, so that nothing else is placed between them.
  std::vector<Event> standing;
  for (std::size_t at = 0; at < pinned.size(); ++at) {
    const std::size_t job = order.pinned[at];
    standing.emplace_back(JobSubmitted{JobId(job), snapshot.workload.jobs[job].spec});
    standing.emplace_back(std::move(pinned[at]));
  }
  if (!standing.empty()) TRY(said(engine, std::move(standing)));
  for (const auto* jobs : {&order.running, &order.waiting}) {
    for (const std::size_t job : *jobs) {
      TRY(said(engine, {JobSubmitted{JobId(job), snapshot.workload.jobs[job].spec}}));
    }
  }
  SnapshotResult result = figures(snapshot, order, engine.state(), map);
  result.decisions = placed;
  return result;
}

}  // namespace tutti
