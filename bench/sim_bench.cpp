/// Whole simulations: `sim_events_N`, events a second of a trace on N nodes, and the memory of a
/// large fleet.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>

#include "base/check.h"
#include "bench/case.h"
#include "bench/openb_fleet.h"
#include "engine/engine.h"
#include "sim/replay.h"

namespace tutti::bench {
namespace {

FleetFile fleet_of(std::size_t nodes) {
  FleetFile fleet{.name = "openb"};
  for (std::size_t at = 0; at < nodes; ++at) fleet.nodes.push_back(openb_node(at, nodes));
  return fleet;
}

/// One job each millisecond, for as long that 90 % of the devices are in use once the first jobs
/// end. Half of the jobs come after that.
Workload trace_for(std::size_t nodes) {
  const OpenbTasks tasks;
  Prng prng(42);
  std::int64_t gpu_milli = 0;
  constexpr int sample = 10'000;
  for (int at = 0; at < sample; ++at) gpu_milli += gpu_milli_of(*tasks.draw(prng));
  const auto capacity = static_cast<std::int64_t>(nodes * devices_per_node) * 1000;
  const std::int64_t in_flight = capacity * 9 / 10 * sample / gpu_milli;
  Workload workload{.name = "openb"};
  workload.mix = tasks.mix().entries;
  for (std::int64_t at = 0; at < 2 * in_flight; ++at) {
    Submission job{.spec = tasks.draw(prng)};
    job.at = Instant{at * 1'000};
    job.length = Duration{prng.between(in_flight / 2, in_flight * 3 / 2) * 1'000};
    job.gpu_milli = gpu_milli_of(*job.spec);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

void measure_events(benchmark::State& state, std::size_t nodes, std::string_view policy) {
  using Clock = std::chrono::steady_clock;
  const FleetFile fleet = fleet_of(nodes);
  const Workload workload = trace_for(nodes);
  double events = 0;
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = Clock::now();
    const Result<ReplayResult> result = replay(fleet, workload, *builtin_policy(policy), {});
    const std::chrono::duration<double> took = Clock::now() - begin;
    CHECK(result.has_value());
    CHECK(result->trace.finished == workload.jobs.size(), result->trace.finished);
    events = 3 * static_cast<double>(workload.jobs.size());  // Submitted, started, finished.
    seconds = took.count();
    state.SetIterationTime(seconds);
    state.counters["utilisation_percent"] = result->trace.utilisation_percent;
    state.counters["avg_wait_s"] = result->trace.wait_s.mean;
  }
  state.counters["events_per_second"] = events / seconds;
}

/// A fleet and its tasks in State, those that fit placed, with all derived tables.
void measure_memory(benchmark::State& state, std::size_t nodes, std::size_t tasks) {
  class Nowhere final : public Backend {
   public:
    void execute(const Action&, const State&) override {}
    std::vector<Observed> observe() override { return {}; }
  };
  NullJournal journal;
  Nowhere backend;
  const RecipeFactory factory(*builtin_policy("default"));
  const OpenbTasks shapes;
  Prng prng(42);
  for (auto _ : state) {
    Engine engine(journal, backend, factory);
    std::vector<Event> inbox;
    for (std::size_t at = 0; at < nodes; ++at)
      inbox.emplace_back(NodeReported{openb_node(at, nodes)});
    inbox.emplace_back(shapes.mix());
    CHECK(engine.step(inbox, Instant{}).has_value());
    for (std::size_t at = 0; at < tasks;) {
      inbox.clear();
      for (std::size_t end = std::min(tasks, at + 1'000); at < end; ++at) {
        inbox.emplace_back(JobSubmitted{JobId(at), shapes.draw(prng)});
      }
      CHECK(engine.step(inbox, Instant{static_cast<std::int64_t>(at)}).has_value());
    }
    CHECK(engine.state().gangs().size() >= tasks, engine.state().gangs().size());
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["bytes"] = static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace

std::span<const Case> sim_cases() {
  static const auto prepare = [](std::string_view policy) {
    return [policy](std::int64_t nodes) -> Body {
      const auto count = static_cast<std::size_t>(nodes);
      return [policy, fleet = fleet_of(count), workload = trace_for(count)] {
        const auto result = replay(fleet, workload, *builtin_policy(policy), {});
        CHECK(result.has_value());
        return result->state_hash;
      };
    };
  };
  static const std::vector<Case> cases{{"sim_events_pack", {100}, prepare("pack")},
                                       {"sim_events_default", {100}, prepare("default")}};
  return cases;
}

void register_memory() {
  benchmark::RegisterBenchmark(
      "memory_100k_nodes_1m_tasks",
      [](benchmark::State& state) { measure_memory(state, 100'000, 1'000'000); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

void register_sim() {
  for (const std::string_view policy : {"pack", "default"}) {
    const std::string name = "sim_events_10k/" + std::string(policy);
    benchmark::RegisterBenchmark(
        name.c_str(), [policy](benchmark::State& state) { measure_events(state, 10'000, policy); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace tutti::bench
