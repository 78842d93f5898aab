#include "sim/report_runs.h"

#include <utility>

#include "sim/fleet_view.h"

namespace tutti {
namespace {

Report::Anew anew(const SnapshotResult& result) {
  return {.gpus_allocated = result.gpus_allocated,
          .running = result.running,
          .running_unplaced = result.running_unplaced,
          .pending = result.pending,
          .pending_started = result.pending_started,
          .free_whole_nodes = result.free_whole_nodes,
          .largest_gang_8gpu = result.largest_gang_8gpu};
}

}  // namespace

Report report_of(const FleetFile& fleet, const std::vector<RunSummary>& runs,
                 const Findings& findings) {
  Report report;
  report.fleet = describe_fleet(fleet);
  report.headline = headline(runs, devices_of(fleet), findings.never);
  report.notes = findings.notes;
  for (const NeverStarts& each : findings.never) {
    for (const NeverStarts::Kind& kind : each.kinds) {
      report.never_start.push_back(
          {.workload = each.workload, .job = kind.job, .jobs = kind.jobs, .why = kind.why});
    }
  }
  for (const Waiting& each : findings.waiting) {
    for (const Waiting::Kind& kind : each.kinds) {
      report.waiting.push_back({.workload = each.workload,
                                .policy = each.policy,
                                .job = kind.job,
                                .jobs = kind.jobs,
                                .started = kind.started,
                                .ran = kind.ran,
                                .never = kind.never,
                                .why = kind.why});
    }
  }
  for (const RunSummary& run : runs) {
    Report::Run out{.policy = run.policy, .workload = run.workload, .seeds = run.seeds};
    out.curve = run.curve;
    for (const auto& [mark, figure] : run.unallocated_gpu_percent) {
      out.unallocated_gpu_percent[mark] = {figure.mean, figure.sd};
    }
    out.left_by_model = run.left_by_model;
    out.failed_before_100 = run.failed_before_100;
    if (run.seconds > 0) {
      out.decisions_per_second = static_cast<double>(run.decisions) / run.seconds;
    }
    out.map = run.map;
    out.trace = run.trace;
    if (run.snapshot) out.snapshot = anew(*run.snapshot);
    report.runs.push_back(std::move(out));
  }
  return report;
}

}  // namespace tutti
