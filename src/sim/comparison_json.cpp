/// Summaries of runs as JSON.
#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "format/json.h"
#include "sim/comparison_text.h"

namespace tutti {
namespace {

void write_marks(JsonWriter& json, std::string_view name,
                 const std::map<unsigned, Figure>& figures) {
  json.key(name).begin_object();
  for (const auto& [mark, figure] : figures) {
    json.key(std::to_string(mark)).begin_object();
    json.member("mean", figure.mean).member("sd", figure.sd).end_object();
  }
  json.end_object();
}

void write_trace(JsonWriter& json, const RunSummary& run) {
  const Report::Trace& trace = *run.trace;
  json.member("jobs", trace.jobs).member("finished", trace.finished);
  json.member("not_started", run.not_started);
  json.member("avg_wait_s", trace.wait_s.mean).member("p50_wait_s", trace.wait_s.p50);
  json.member("p95_wait_s", trace.wait_s.p95).member("p99_wait_s", trace.wait_s.p99);
  json.member("max_wait_s", trace.wait_s.max);
  json.member("gpu_utilisation_percent", trace.utilisation_percent);
  json.member("makespan_s", trace.makespan_s);
}

void write_snapshot(JsonWriter& json, const SnapshotResult& result) {
  json.member("gpus_allocated", result.gpus_allocated);
  json.member("running", result.running).member("running_unplaced", result.running_unplaced);
  json.member("pending", result.pending).member("pending_started", result.pending_started);
  json.member("free_whole_nodes", result.free_whole_nodes);
  json.member("largest_gang_8gpu", result.largest_gang_8gpu);
  if (result.given == 0) return;
  json.member("given", result.given).member("given_started", result.given_started);
}

void write_fill(JsonWriter& json, const RunSummary& run) {
  write_marks(json, "unallocated_gpu_percent", run.unallocated_gpu_percent);
  write_marks(json, "fragmented_gpu_percent", run.fragmented_gpu_percent);
  json.key("failed_before_100").begin_object();
  for (const auto& [size, failed] : run.failed_before_100) json.member(size, failed);
  json.end_object();
}

void write_never(JsonWriter& json, const std::vector<NeverStarts>& never) {
  if (std::ranges::all_of(never, [](const NeverStarts& each) { return each.kinds.empty(); }))
    return;
  json.key("never_start").begin_list();
  for (const NeverStarts& each : never) {
    for (const NeverStarts::Kind& kind : each.kinds) {
      json.begin_object().member("workload", each.workload).member("job", kind.job);
      json.member("jobs", kind.jobs);
      if (!kind.why.empty()) json.member("why", kind.why);
      json.end_object();
    }
  }
  json.end_list();
}

void write_waiting(JsonWriter& json, const std::vector<Waiting>& waiting) {
  if (waiting.empty()) return;
  json.key("waiting").begin_list();
  for (const Waiting& each : waiting) {
    for (const Waiting::Kind& kind : each.kinds) {
      json.begin_object().member("workload", each.workload).member("policy", each.policy);
      json.member("job", kind.job).member("jobs", kind.jobs).member("started", kind.started);
      if (kind.ran) json.member("runs_at_present", true);
      if (kind.never) json.member("never", true);
      if (!kind.why.empty()) json.member("why", kind.why);
      json.end_object();
    }
  }
  json.end_list();
}

}  // namespace

std::string to_json(const std::vector<RunSummary>& runs, const Findings& findings) {
  std::string out;
  JsonWriter json(out, JsonStyle::indented);
  json.begin_object().key("runs").begin_list();
  for (const RunSummary& run : runs) {
    json.begin_object().member("policy", run.policy).member("workload", run.workload);
    json.key("seeds").begin_list();
    for (const std::uint64_t seed : run.seeds) json.value(seed);
    json.end_list();
    if (run.trace) {
      write_trace(json, run);
    } else if (run.snapshot) {
      write_snapshot(json, *run.snapshot);
    } else {
      write_fill(json, run);
    }
    json.member("decisions", run.decisions)
        .member("decisions_per_second", run.decisions_per_second());
    json.member("seconds", run.seconds);
    json.member("state_hash", fmt::format("{:016x}", run.state_hash)).end_object();
  }
  json.end_list();
  write_never(json, findings.never);
  write_waiting(json, findings.waiting);
  if (!findings.notes.empty()) {
    json.key("notes").begin_list();
    for (const std::string& note : findings.notes) json.value(note);
    json.end_list();
  }
  json.end_object();
  return out + "\n";
}

}  // namespace tutti
