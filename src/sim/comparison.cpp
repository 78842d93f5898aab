#include "sim/comparison.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "base/hash.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

struct OneRun {
  const Workload* workload = nullptr;
  const PolicyRecipe* policy = nullptr;
  std::uint64_t seed = 0;
  Result<FillResult> result;
};

void execute(const FleetFile& fleet, std::int64_t load_permille, OneRun& run) {
  const auto begin = std::chrono::steady_clock::now();
  run.result =
      fill(fleet, *run.workload, *run.policy, {.seed = run.seed, .load_permille = load_permille});
  if (!run.result) return;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  run.result->seconds = took.count();
}

void run_all(const FleetFile& fleet, const Comparison& comparison, std::vector<OneRun>& runs,
             const Progress& progress) {
  std::atomic<std::size_t> next = 0;
  std::size_t done = 0;
  std::mutex reporting;
  const auto work = [&] {
    for (std::size_t at = next++; at < runs.size(); at = next++) {
      execute(fleet, comparison.load_permille, runs[at]);
      const std::lock_guard lock(reporting);
      if (progress) progress(++done, runs.size());
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned extra = 1; extra < comparison.threads; ++extra) threads.emplace_back(work);
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

RunSummary summarise(const std::vector<OneRun>& tasks, std::size_t begin, std::size_t count) {
  RunSummary run{.policy = tasks[begin].policy->name, .workload = tasks[begin].workload->name};
  Hash hash;
  for (std::size_t at = begin; at < begin + count; ++at) {
    const FillResult& result = *tasks[at].result;
    run.seeds.push_back(tasks[at].seed);
    run.decisions += result.decisions;
    run.seconds += result.seconds;
    hash.add(result.state_hash);
    for (const auto& [size, failed] : result.failed_before_100) {
      run.failed_before_100[size] += failed / static_cast<double>(count);
    }
  }
  run.state_hash = hash.value();
  for (std::size_t mark = 0; mark < arrival_marks.size(); ++mark) {
    std::vector<double> unallocated;
    std::vector<double> fragmented;
    for (std::size_t at = begin; at < begin + count; ++at) {
      const FillResult::AtMark& there = tasks[at].result->at_marks[mark];
      if (there.arrivals == 0) continue;
      unallocated.push_back(there.unallocated);
      fragmented.push_back(there.fragmented);
    }
    if (unallocated.empty()) continue;
    run.unallocated_gpu_percent[arrival_marks[mark]] = figure(unallocated);
    run.fragmented_gpu_percent[arrival_marks[mark]] = figure(fragmented);
  }
  return run;
}

void write_marks(JsonWriter& json, std::string_view name,
                 const std::map<unsigned, Figure>& figures) {
  json.key(name).begin_object();
  for (const auto& [mark, figure] : figures) {
    json.key(std::to_string(mark)).begin_object();
    json.member("mean", figure.mean).member("sd", figure.sd).end_object();
  }
  json.end_object();
}

std::string at_mark(const std::map<unsigned, Figure>& figures, unsigned mark) {
  const auto found = figures.find(mark);
  if (found == figures.end()) return "-";
  return fmt::format("{:.2f}", found->second.mean);
}

std::string failures(const RunSummary& run, const std::string& size) {
  const auto found = run.failed_before_100.find(size);
  return found == run.failed_before_100.end() ? "0" : fmt::format("{:.1f}", found->second);
}

}  // namespace

Result<std::vector<RunSummary>> compare(const FleetFile& fleet, const Comparison& comparison,
                                        const Progress& progress) {
  std::vector<OneRun> tasks;
  for (const Workload& workload : comparison.workloads) {
    for (const PolicyRecipe& policy : comparison.policies) {
      for (const std::uint64_t seed : comparison.seeds) {
        tasks.push_back({&workload, &policy, seed, FillResult{}});
      }
    }
  }
  run_all(fleet, comparison, tasks, progress);
  std::vector<RunSummary> runs;
  for (std::size_t at = 0; at < tasks.size(); at += comparison.seeds.size()) {
    for (std::size_t seed = 0; seed < comparison.seeds.size(); ++seed) {
      if (!tasks[at + seed].result) return fail(std::move(tasks[at + seed].result).error());
    }
    runs.push_back(summarise(tasks, at, comparison.seeds.size()));
  }
  return runs;
}

std::string to_json(const std::vector<RunSummary>& runs) {
  std::string out;
  JsonWriter json(out, JsonStyle::indented);
  json.begin_object().key("runs").begin_list();
  for (const RunSummary& run : runs) {
    json.begin_object().member("policy", run.policy).member("workload", run.workload);
    json.key("seeds").begin_list();
    for (const std::uint64_t seed : run.seeds) json.value(seed);
    json.end_list();
    write_marks(json, "unallocated_gpu_percent", run.unallocated_gpu_percent);
    write_marks(json, "fragmented_gpu_percent", run.fragmented_gpu_percent);
    json.key("failed_before_100").begin_object();
    for (const auto& [size, failed] : run.failed_before_100) json.member(size, failed);
    json.end_object();
    json.member("decisions", run.decisions);
    json.member("decisions_per_second",
                run.seconds > 0 ? static_cast<double>(run.decisions) / run.seconds : 0.0);
    json.member("seconds", run.seconds);
    json.member("state_hash", fmt::format("{:016x}", run.state_hash)).end_object();
  }
  json.end_list().end_object();
  return out + "\n";
}

std::string to_table(const std::vector<RunSummary>& runs) {
  Table table({"workload", "policy", "unallocated % at 100", "at 130", "fragmented % at 100",
               "failed share", "1 gpu", "8 gpu", "decisions/s"});
  for (const RunSummary& run : runs) {
    const double rate = run.seconds > 0 ? static_cast<double>(run.decisions) / run.seconds : 0;
    table.add({run.workload, run.policy, at_mark(run.unallocated_gpu_percent, 100),
               at_mark(run.unallocated_gpu_percent, 130), at_mark(run.fragmented_gpu_percent, 100),
               failures(run, "share"), failures(run, "1"), failures(run, "8"),
               fmt::format("{:.0f}", rate)});
  }
  return table.text();
}

}  // namespace tutti
