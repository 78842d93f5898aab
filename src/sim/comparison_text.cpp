/// Summaries of runs as a table.
#include "sim/comparison_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "format/text.h"

namespace tutti {
namespace {

std::string at_mark(const std::map<unsigned, Figure>& figures, unsigned mark) {
  const auto found = figures.find(mark);
  if (found == figures.end()) return "-";
  return fmt::format("{:.2f}", found->second.mean);
}

/// The sizes of tasks that found no place in some run: cpu, share, 1, 2, ... in this order.
std::vector<std::string> failed_sizes(const std::vector<RunSummary>& runs) {
  std::vector<std::string> sizes;
  for (const RunSummary& run : runs) {
    for (const auto& [size, tasks] : run.failed_before_100) {
      if (tasks > 0 && std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
    }
  }
  std::ranges::sort(sizes, {}, [](const std::string& size) {
    const bool counts = size != "cpu" && size != "share";
    return std::tuple(counts, counts ? size.size() : 0, size);
  });
  return sizes;
}

std::string fill_table(const std::vector<RunSummary>& runs, std::string_view device) {
  const std::vector<std::string> sizes = failed_sizes(runs);
  std::vector<std::string> head{"workload", "policy", "unallocated % at 100", "at 130",
                                "fragmented % at 100"};
  constexpr std::string_view failed = "failed before 100 %";
  const std::string_view word = device == "GPU" ? device : "device";
  for (const std::string& size : sizes) {
    const bool counts = size != "cpu" && size != "share";
    const std::string name =
        counts ? fmt::format("{} {}{}", size, word, size == "1" ? "" : "s") : size;
    head.push_back(size == sizes.front() ? fmt::format("{}: {}", failed, name) : name);
  }
  if (sizes.empty()) head.emplace_back(failed);
  head.emplace_back("decisions/s");
  Table table(head);
  for (const RunSummary& run : runs) {
    std::vector<std::string> row{
        run.workload, run.policy, at_mark(run.unallocated_gpu_percent, 100),
        at_mark(run.unallocated_gpu_percent, 130), at_mark(run.fragmented_gpu_percent, 100)};
    for (const std::string& size : sizes) {
      const auto found = run.failed_before_100.find(size);
      const double tasks = found == run.failed_before_100.end() ? 0 : found->second;
      row.push_back(tasks > 0 ? fmt::format("{:.1f}", tasks) : "0");
    }
    if (sizes.empty()) row.emplace_back("0");
    row.push_back(fmt::format("{:.0f}", run.decisions_per_second()));
    table.add(row);
  }
  return table.text();
}

std::string trace_table(const std::vector<RunSummary>& runs, std::string_view device) {
  Table table({"workload", "policy", "mean wait", "p50", "p99", "longest",
               fmt::format("{}s in use % till last arrival", device), "finished", "never started",
               "jobs"});
  for (const RunSummary& run : runs) {
    const Report::Trace& trace = *run.trace;
    const bool none = static_cast<double>(trace.jobs) <= run.not_started;
    const auto wait = [&](double seconds) { return none ? "-" : wait_text(seconds); };
    table.add({run.workload, run.policy, wait(trace.wait_s.mean), wait(trace.wait_s.p50),
               wait(trace.wait_s.p99), wait(trace.wait_s.max),
               fmt::format("{:.1f}", trace.utilisation_percent), std::to_string(trace.finished),
               fmt::format("{:.4g}", run.not_started), std::to_string(trace.jobs)});
  }
  return table.text();
}

std::string snapshot_table(const std::vector<RunSummary>& runs, std::string_view device) {
  Table table({"cluster", "policy", fmt::format("{}s allocated", device), "pending started", "of",
               "running unplaced", "whole nodes free", fmt::format("largest 8-{} gang", device)});
  for (const RunSummary& run : runs) {
    const SnapshotResult& result = *run.snapshot;
    table.add({run.workload, run.policy, fmt::format("{:.1f}", result.gpus_allocated),
               std::to_string(result.pending_started), std::to_string(result.pending),
               std::to_string(result.running_unplaced), std::to_string(result.free_whole_nodes),
               std::to_string(result.largest_gang_8gpu)});
  }
  return table.text();
}

}  // namespace

std::string wait_text(double seconds) {
  if (seconds < 1) return seconds > 0 ? "< 1 s" : "0 s";
  if (seconds < 90) return fmt::format("{:.0f} s", std::round(seconds));
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", std::round(seconds / 60));
  if (seconds < 48 * 3600) return fmt::format("{:.1f} h", std::round(seconds / 360) / 10);
  return fmt::format("{:.1f} d", std::round(seconds / 8640) / 10);
}

std::string to_table(const std::vector<RunSummary>& runs, std::string_view device) {
  if (runs.empty()) return {};
  if (runs.front().trace) return trace_table(runs, device);
  return runs.front().snapshot ? snapshot_table(runs, device) : fill_table(runs, device);
}

}  // namespace tutti
