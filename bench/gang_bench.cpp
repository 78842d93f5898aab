/// Gangs with rack topology on 10 000 nodes of 8 accelerators, in racks of 16.
///
/// `gang_1000_rack`: a random 70 % of the racks are full; 62 sub-groups of 16 tasks and one of 8,
/// 8 accelerators each, every sub-group within one rack. `gang_infeasible`: enough free nodes for
/// 100 such sub-groups, but only 62 racks can hold one; 63 are asked for.
#include <benchmark/benchmark.h>

#include <chrono>
#include <numeric>

#include "base/check.h"
#include "base/prng.h"
#include "bench/case.h"
#include "policy/registry.h"
#include "sched/cycle.h"

namespace tutti::bench {
namespace {

constexpr unsigned rack_size = 16;
constexpr unsigned devices = 8;

class GangFleet {
 public:
  /// `free_in_rack[r]` nodes of rack r are free.
  explicit GangFleet(const std::vector<unsigned>& free_in_rack)
      : factory_(*builtin_policy("default")), workspace_(factory_) {
    for (std::size_t rack = 0; rack < free_in_rack.size(); ++rack) {
      for (unsigned at = 0; at < rack_size; ++at) {
        NodeSpec node{.name = "r" + std::to_string(rack) + "n" + std::to_string(at),
                      .capacity = {{"cpu", 128'000}, {"memory", std::int64_t{768} << 30}}};
        node.devices.assign(devices, DeviceSpec{.type = {.model = "A100-80G"}});
        node.labels.set("rack", "r" + std::to_string(rack));
        node.cordoned = at >= free_in_rack[rack];
        apply(NodeReported{node});
      }
    }
  }

  void submit(const std::vector<GroupSpec>& groups) {
    JobSpec spec{.name = "gang"};
    spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = groups})};
    apply(JobSubmitted{JobId(next_job_++), std::make_shared<const JobSpec>(std::move(spec))});
  }

  /// Decides on what waits. `undo` afterwards, and the next call sees the same.
  Plan decide() { return Cycle().run(state_, workspace_); }

  void undo(const Plan& plan) {
    for (const Action& action : plan.actions) {
      workspace_.release(state_, action.shape, action.node, action.devices);
    }
    workspace_.pending().add(state_, GangIndex(0));
    workspace_.pending().wake(Wake::capacity_freed);
  }

 private:
  void apply(const Event& event) {
    now_.us += 1;
    state_.apply(event, now_);
  }

  RecipeFactory factory_;
  Workspace workspace_;
  State state_;
  Instant now_;
  std::uint64_t next_job_ = 1;
};

GroupSpec group(unsigned tasks, unsigned copies) {
  TaskShape shape{.resources = {{"cpu", 8'000}}};
  shape.devices = {DeviceRequest{.count = devices}};
  const RoleSpec role{.name = "worker", .count = tasks, .min = tasks, .alternatives = {shape}};
  return {.closeness = {"rack", true}, .copies = copies, .roles = {role}};
}

std::shared_ptr<GangFleet> feasible(std::size_t racks, unsigned groups) {
  std::vector<unsigned> free(racks, 0);
  std::vector<std::size_t> order(racks);
  std::iota(order.begin(), order.end(), 0);
  Prng prng(42);
  shuffle(std::span(order), prng);
  for (std::size_t at = 0; at < racks * 3 / 10; ++at) free[order[at]] = rack_size;
  auto fleet = std::make_shared<GangFleet>(free);
  fleet->submit({group(rack_size, groups), group(rack_size / 2, 1)});
  return fleet;
}

std::shared_ptr<GangFleet> infeasible(std::size_t racks, unsigned whole) {
  std::vector<unsigned> free(racks, 0);
  unsigned left = (100 - 62) * whole / 62 * rack_size;
  for (std::size_t at = 0; at < racks; ++at) {
    free[at] = at < whole ? rack_size : std::min(left, rack_size - 1);
    if (at >= whole) left -= free[at];
  }
  auto fleet = std::make_shared<GangFleet>(free);
  fleet->submit({group(rack_size, whole + 1)});
  return fleet;
}

void measure(benchmark::State& state, const std::shared_ptr<GangFleet>& fleet, std::size_t wanted) {
  using Clock = std::chrono::steady_clock;
  for (auto _ : state) {
    const auto begin = Clock::now();
    const Plan plan = fleet->decide();
    const std::chrono::duration<double> took = Clock::now() - begin;
    state.SetIterationTime(took.count());
    CHECK(plan.actions.size() == wanted, plan.actions.size(), wanted);
    fleet->undo(plan);
  }
}

}  // namespace

void register_gangs() {
  benchmark::RegisterBenchmark("gang_1000_rack",
                               [](benchmark::State& state) {
                                 measure(state, feasible(625, 62), 62 * rack_size + rack_size / 2);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark(
      "gang_infeasible", [](benchmark::State& state) { measure(state, infeasible(625, 62), 0); })
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

std::span<const Case> gang_cases() {
  static const std::vector<Case> cases{
      {"gang_rack", {62}, [](std::int64_t racks) -> Body {
         return [fleet = feasible(static_cast<std::size_t>(racks), 5)]() -> std::uint64_t {
           const Plan plan = fleet->decide();
           fleet->undo(plan);
           return plan.actions.size();
         };
       }}};
  return cases;
}

}  // namespace tutti::bench
