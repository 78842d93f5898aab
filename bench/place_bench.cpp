#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "bench/case.h"
#include "bench/openb_fleet.h"
#include "bench/place.h"
#include "sched/cycle.h"

namespace tutti::bench {
namespace {

double percentile(std::vector<double> values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

PlaceFleet::PlaceFleet(std::size_t nodes, std::string_view policy, unsigned apps)
    : factory_(*builtin_policy(policy)), workspace_(factory_), tasks_(apps) {
  for (std::size_t at = 0; at < nodes; ++at) apply(NodeReported{openb_node(at, nodes)});
  apply(tasks_.mix());
  const auto whole = static_cast<std::int64_t>(nodes) * devices_per_node * DeviceRequest::whole;
  std::size_t refused = 0;
  while (state_.queue_usage(QueueIndex(0)).gpu_milli < whole * 9 / 10) {
    submit_one();
    if (place_next()) continue;
    ++refused;
    CHECK(refused < 10 * nodes, nodes, policy);  // Else the fleet cannot be filled to 90 %.
    apply(JobCancelled{waiting_});
  }
}

Event PlaceFleet::apply(Event event) {
  now_.us += 1'000;
  state_.apply(event, now_);
  return event;
}

void PlaceFleet::submit_one() {
  waiting_ = JobId(next_job_++);
  apply(JobSubmitted{waiting_, tasks_.draw(prng_)});
}

/// Decides on what waits, and books it. False when it was refused.
bool PlaceFleet::place_next() {
  plan_ = Cycle().run(state_, workspace_);
  if (plan_.actions.empty()) return false;
  for (const Action& action : plan_.actions) running_.push_back(action.task);
  apply(PlanDecided{plan_.actions});
  return true;
}

void PlaceFleet::end_random_task() {
  const std::size_t at = prng_.below(static_cast<std::uint32_t>(running_.size()));
  std::swap(running_[at], running_.back());
  apply(TaskExited{running_.back(), 1, 0});
  running_.pop_back();
}

/// Repeats the last decision as a full scan, with its placement undone in the workspace's mirror.
void PlaceFleet::check_by_scan(Workspace& workspace, ShapeIndex shape, Figures& figures) const {
  const Action* placed = plan_.actions.empty() ? nullptr : &plan_.actions.front();
  if (placed != nullptr) workspace.release(state_, shape, placed->node, placed->devices);
  ++figures.rescanned;
  const NodeIndex chosen = placed != nullptr ? placed->node : NodeIndex::none();
  if (workspace.best_by_scan(state_, shape) != chosen) ++figures.mismatches;
  if (placed != nullptr) workspace.hold(state_, shape, placed->node, placed->devices);
}

void PlaceFleet::run(std::size_t steps, bool timed, Figures& figures) {
  using Clock = std::chrono::steady_clock;
  for (std::size_t step = 0; step < steps; ++step) {
    end_random_task();
    submit_one();
    const ShapeIndex shape = state_.tasks()[state_.find(TaskId{waiting_, 0})].shape;
    const auto begin = timed ? Clock::now() : Clock::time_point{};
    plan_ = Cycle().run(state_, workspace_);
    if (timed) {
      const std::chrono::duration<double, std::micro> took = Clock::now() - begin;
      figures.decision_us.push_back(took.count());
    }
    if (plan_.actions.empty()) {
      ++figures.refused;
    } else {
      running_.push_back(plan_.actions.front().task);
      apply(PlanDecided{plan_.actions});
    }
    if (timed && step % 100 == 99) check_by_scan(workspace_, shape, figures);
    if (timed && step + 1 == steps) {
      Workspace fresh(factory_);  // Which owes nothing to any repair.
      fresh.sync(state_);
      check_by_scan(fresh, shape, figures);
    }
    if (plan_.actions.empty()) apply(JobCancelled{waiting_});
  }
}

double PlaceFleet::unallocated_percent() const {
  const auto whole = static_cast<double>(state_.fleet().device_count()) * DeviceRequest::whole;
  const auto held = static_cast<double>(state_.queue_usage(QueueIndex(0)).gpu_milli);
  return 100.0 * (whole - held) / whole;
}

namespace {

/// The median of seven runs of as many steps as the fleet has nodes, at least 5 000.
void measure_place(benchmark::State& state, std::size_t nodes, std::string_view policy,
                   unsigned apps = 0) {
  PlaceFleet fleet(nodes, policy, apps);
  const std::size_t steps = std::clamp<std::size_t>(nodes, 5'000, 20'000);
  PlaceFleet::Figures warm;
  fleet.run(steps, false, warm);
  std::vector<double> rates;
  std::vector<double> all;
  PlaceFleet::Figures figures;
  for (auto _ : state) {
    for (int run = 0; run < 7; ++run) {
      figures.decision_us.clear();
      fleet.run(steps, true, figures);
      double sum = 0;
      for (const double us : figures.decision_us) sum += us;
      rates.push_back(static_cast<double>(steps) * 1e6 / sum);
      all.insert(all.end(), figures.decision_us.begin(), figures.decision_us.end());
    }
    state.SetIterationTime(static_cast<double>(steps) / percentile(rates, 0.5));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["decisions_per_second"] = percentile(rates, 0.5);
  state.counters["p50_us"] = percentile(all, 0.5);
  state.counters["p99_us"] = percentile(all, 0.99);
  state.counters["max_us"] = percentile(all, 1.0);
  state.counters["refused_percent"] =
      100.0 * static_cast<double>(figures.refused) / static_cast<double>(all.size());
  state.counters["rescanned"] = static_cast<double>(figures.rescanned);
  state.counters["unallocated_percent"] = fleet.unallocated_percent();
  state.counters["bytes"] = static_cast<double>(usage.ru_maxrss) * 1024;
  if (figures.mismatches > 0) {
    state.SkipWithError("a full scan chose another node than the index did");
  }
}

}  // namespace

void register_place() {
  for (const std::string_view policy : {"pack", "fgd", "default"}) {
    for (const std::size_t nodes : {1'000UL, 10'000UL, 100'000UL}) {
      const std::string name = "place_" + std::to_string(nodes / 1000) + "k/" + std::string(policy);
      benchmark::RegisterBenchmark(
          name.c_str(),
          [nodes, policy](benchmark::State& state) { measure_place(state, nodes, policy); })
          ->Iterations(1)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark(
      "place_10k_affinity/default",
      [](benchmark::State& state) { measure_place(state, 10'000, "default", 50); })
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

std::span<const Case> place_cases() {
  static const auto prepare = [](std::string_view policy) {
    return [policy](std::int64_t nodes) -> Body {
      auto fleet = std::make_shared<PlaceFleet>(static_cast<std::size_t>(nodes), policy);
      return [fleet] {
        PlaceFleet::Figures figures;
        fleet->run(500, false, figures);
        return figures.refused;
      };
    };
  };
  static const std::vector<Case> cases{{"place_pack", {1'000}, prepare("pack")},
                                       {"place_default", {1'000}, prepare("default")}};
  return cases;
}

}  // namespace tutti::bench
