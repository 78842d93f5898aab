#include "sim/comparison.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "base/hash.h"

namespace tutti {
namespace {

/// More do not help on any machine; each takes memory for a whole run.
constexpr std::size_t threads_max = 1024;

using RunOutcome = std::variant<FillResult, ReplayResult, SnapshotResult>;

struct OneRun {
  const Workload* workload = nullptr;
  const PolicyRecipe* policy = nullptr;
  std::uint64_t seed = 0;
  bool first = false;  ///< Of the seeds.
  bool map = false;
  Result<RunOutcome> result;
};

Result<RunOutcome> outcome_of(const FleetFile& fleet, const Comparison& comparison,
                              const OneRun& run) {
  switch (comparison.arrivals) {
    case Arrivals::fill:
      return TRY(
          fill(fleet, *run.workload, *run.policy,
               {.seed = run.seed, .load_permille = comparison.load_permille, .map = run.map}));
    case Arrivals::trace:
      return TRY(
          replay(fleet, *run.workload, *run.policy,
                 {.seed = run.seed, .until = comparison.until, .map = run.map, .end = run.first}));
    case Arrivals::snapshot:
      break;
  }
  return TRY(
      place_again(*comparison.snapshot, *run.policy, {.map = run.map, .given = comparison.given}));
}

void execute(const FleetFile& fleet, const Comparison& comparison, OneRun& run) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    run.result = outcome_of(fleet, comparison, run);
  } catch (const std::bad_alloc&) {
    run.result = fail(Code::limit, "out of memory", "fewer threads need less of it: -j 1");
  }
  if (!run.result) return;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::visit([&](auto& result) { result.seconds = took.count(); }, *run.result);
}

void run_all(const FleetFile& fleet, const Comparison& comparison, std::vector<OneRun>& runs,
             const Progress& progress) {
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  std::mutex reporting;
  const auto work = [&] {
    for (std::size_t at = next++; at < runs.size(); at = next++) {
      execute(fleet, comparison, runs[at]);
      const std::lock_guard lock(reporting);
      if (progress) progress(++done, runs.size());
    }
  };
  const std::size_t useful = std::min({std::size_t{comparison.threads}, runs.size(), threads_max});
  std::vector<std::jthread> threads;
  try {
    for (std::size_t extra = 1; extra < useful; ++extra) threads.emplace_back(work);
  } catch (const std::system_error&) {  // The system gives no more of them; these will do.
  }
  work();
}

Figure figure(const std::vector<double>& values) {
  Figure out;
  for (const double value : values) out.mean += value / static_cast<double>(values.size());
  if (values.size() < 2) return out;
  double squares = 0;
  for (const double value : values) squares += (value - out.mean) * (value - out.mean);
  out.sd = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return out;
}

void add_marks(RunSummary& run, const std::vector<const FillResult*>& results) {
  for (std::size_t mark = 0; mark < arrival_marks.size(); ++mark) {
    std::vector<double> unallocated;
    std::vector<double> fragmented;
    for (const FillResult* result : results) {
      const FillResult::AtMark& there = result->at_marks[mark];
      if (there.arrivals == 0) continue;
      unallocated.push_back(there.unallocated);
      fragmented.push_back(there.fragmented);
    }
    if (unallocated.empty()) continue;
    run.unallocated_gpu_percent[arrival_marks[mark]] = figure(unallocated);
    run.fragmented_gpu_percent[arrival_marks[mark]] = figure(fragmented);
  }
}

void add_curve(RunSummary& run, const std::vector<const FillResult*>& results) {
  for (std::size_t at = 0;; ++at) {
    Report::Point sum;
    double count = 0;
    for (const FillResult* result : results) {
      if (result->curve.size() <= at) continue;
      ++count;
      sum.allocated_percent += result->curve[at].allocated_percent;
      sum.fragmented_percent += result->curve[at].fragmented_percent;
    }
    if (count == 0) return;
    run.curve.push_back(
        {static_cast<double>(at), sum.allocated_percent / count, sum.fragmented_percent / count});
  }
}

void add(RunSummary& run, const std::vector<const FillResult*>& results) {
  add_marks(run, results);
  add_curve(run, results);
  for (const FillResult* result : results) {
    for (const auto& [size, failed] : result->failed_before_100) {
      run.failed_before_100[size] += failed / static_cast<double>(results.size());
    }
  }
}

void add(RunSummary& run, const std::vector<const ReplayResult*>& results) {
  const auto count = static_cast<double>(results.size());
  Report::Trace mean = results.front()->trace;
  const auto average = [&](auto get) {
    double sum = 0;
    for (const ReplayResult* result : results) sum += static_cast<double>(get(*result)) / count;
    return sum;
  };
  using R = const ReplayResult&;
  mean.finished =
      static_cast<std::uint64_t>(std::llround(average([](R r) { return r.trace.finished; })));
  mean.makespan_s = average([](R r) { return r.trace.makespan_s; });
  mean.utilisation_percent = average([](R r) { return r.trace.utilisation_percent; });
  mean.wait_s.mean = average([](R r) { return r.trace.wait_s.mean; });
  mean.wait_s.p50 = average([](R r) { return r.trace.wait_s.p50; });
  mean.wait_s.p95 = average([](R r) { return r.trace.wait_s.p95; });
  mean.wait_s.p99 = average([](R r) { return r.trace.wait_s.p99; });
  mean.wait_s.max = average([](R r) { return r.trace.wait_s.max; });
  run.not_started = average([](R r) { return r.not_started; });
  run.trace = std::move(mean);
  run.end = results.front()->end;
  run.asked = results.front()->never_started;
}

void add(RunSummary& run, const std::vector<const SnapshotResult*>& results) {
  run.snapshot = *results.front();
  run.end = run.snapshot->end;
  run.asked = run.snapshot->asked;
}

/// Sums up runs of one kind. REQUIRES: at least one, and all succeeded.
template <class T>
RunSummary summarise(std::span<const OneRun> runs) {
  RunSummary run{.policy = runs.front().policy->name, .workload = runs.front().workload->name};
  Hash hash;
  std::vector<const T*> results;
  const auto count = static_cast<double>(runs.size());
  for (const OneRun& one : runs) {
    const T& result = std::get<T>(*one.result);
    results.push_back(&result);
    run.seeds.push_back(one.seed);
    run.decisions += result.decisions;
    run.seconds += result.seconds;
    hash.add(result.state_hash);
    run.left_by_model.resize(result.left_by_model.size());
    for (std::size_t at = 0; at < result.left_by_model.size(); ++at) {
      const Report::Left& left = result.left_by_model[at];
      run.left_by_model[at] = {left.model, left.gpus,
                               run.left_by_model[at].unallocated + left.unallocated / count};
    }
  }
  run.state_hash = hash.value();
  run.map = results.front()->map;
  add(run, results);
  return run;
}

RunSummary summarise(std::span<const OneRun> runs, Arrivals arrivals) {
  if (arrivals == Arrivals::fill) return summarise<FillResult>(runs);
  if (arrivals == Arrivals::trace) return summarise<ReplayResult>(runs);
  RunSummary run = summarise<SnapshotResult>(runs);
  run.seeds.clear();
  return run;
}

std::vector<OneRun> runs_of(const Comparison& comparison) {
  std::vector<OneRun> runs;
  const auto add = [&](const Workload& workload, const PolicyRecipe& policy, std::size_t seeds) {
    for (std::size_t at = 0; at < seeds; ++at) {
      const std::uint64_t seed = comparison.seeds.empty() ? 0 : comparison.seeds[at];
      runs.push_back({&workload, &policy, seed, at == 0, comparison.maps && at == 0, RunOutcome{}});
    }
  };
  if (comparison.arrivals == Arrivals::snapshot) {
    for (const PolicyRecipe& policy : comparison.policies) {
      add(comparison.snapshot->workload, policy, 1);
    }
    return runs;
  }
  for (const Workload& workload : comparison.workloads) {
    for (const PolicyRecipe& policy : comparison.policies) {
      add(workload, policy, comparison.seeds.size());
    }
  }
  return runs;
}

}  // namespace

Result<std::vector<RunSummary>> compare(const FleetFile& fleet, const Comparison& comparison,
                                        const Progress& progress) {
  std::vector<OneRun> all = runs_of(comparison);
  run_all(fleet, comparison, all, progress);
  for (OneRun& run : all) {
    if (!run.result) return fail(std::move(run.result).error());
  }
  const std::size_t each = comparison.arrivals == Arrivals::snapshot ? 1 : comparison.seeds.size();
  std::vector<RunSummary> runs;
  for (std::size_t at = 0; at < all.size(); at += each) {
    runs.push_back(summarise(std::span(all).subspan(at, each), comparison.arrivals));
  }
  return runs;
}

}  // namespace tutti
