#include "sim/report.h"

#include <cmath>
#include <numeric>

#include "base/check.h"
#include "format/json.h"
#ifdef TUTTI_REPORT_PAGE
#include "generated/report.h"
#endif

namespace tutti {
namespace {

constexpr std::string_view data_mark = "/*DATA*/";

double rounded(double value) { return std::round(value * 1000) / 1000; }

template <class T>
void list(JsonWriter& json, std::string_view name, const std::vector<T>& values) {
  json.key(name).begin_list();
  for (const T& value : values) json.value(value);
  json.end_list();
}

/// A list of objects, each written by `write`.
template <class T, class Write>
void objects(JsonWriter& json, std::string_view name, const std::vector<T>& values, Write write) {
  json.key(name).begin_list();
  for (const T& value : values) {
    json.begin_object();
    write(value);
    json.end_object();
  }
  json.end_list();
}

void write_fleet(JsonWriter& json, const Report::Fleet& fleet) {
  CHECK(fleet.node_models.size() == fleet.node_names.size(), fleet.node_models.size(),
        fleet.node_names.size());
  CHECK(fleet.node_devices.size() == fleet.node_names.size(), fleet.node_devices.size(),
        fleet.node_names.size());
  CHECK(fleet.closed_nodes.empty() || fleet.closed_nodes.back() < fleet.node_names.size(),
        fleet.node_names.size());
  json.key("fleet").begin_object();
  json.member("name", fleet.name).member("nodes", fleet.nodes).member("gpus", fleet.gpus);
  json.member("all_gpus", fleet.all_gpus);
  objects(json, "models", fleet.models, [&](const Report::Model& model) {
    json.member("model", model.model).member("nodes", model.nodes).member("gpus", model.gpus);
  });
  list(json, "node_names", fleet.node_names);
  list(json, "node_models", fleet.node_models);
  list(json, "node_devices", fleet.node_devices);
  list(json, "closed_nodes", fleet.closed_nodes);
  json.end_object();
}

void write_map(JsonWriter& json, const Report::NodeMap& map, const Report::Fleet& fleet) {
  const std::size_t devices =
      std::accumulate(fleet.node_devices.begin(), fleet.node_devices.end(), std::size_t{0});
  CHECK(map.cpu_free_percent.size() == fleet.node_names.size(), map.cpu_free_percent.size());
  CHECK(map.memory_free_percent.size() == fleet.node_names.size(), map.memory_free_percent.size());
  CHECK(map.device_free_permille.size() == devices, map.device_free_permille.size(), devices);
  json.key("map").begin_object();
  list(json, "cpu_free_percent", map.cpu_free_percent);
  list(json, "memory_free_percent", map.memory_free_percent);
  list(json, "device_free_permille", map.device_free_permille);
  json.end_object();
}

void write_trace(JsonWriter& json, const Report::Trace& trace) {
  json.key("trace").begin_object();
  json.member("jobs", trace.jobs).member("finished", trace.finished);
  json.member("makespan_s", rounded(trace.makespan_s));
  json.member("utilisation_percent", rounded(trace.utilisation_percent));
  json.key("wait_s").begin_object();
  json.member("mean", rounded(trace.wait_s.mean)).member("p50", rounded(trace.wait_s.p50));
  json.member("p95", rounded(trace.wait_s.p95)).member("p99", rounded(trace.wait_s.p99));
  json.member("max", rounded(trace.wait_s.max)).end_object();
  objects(json, "over_time", trace.over_time, [&](const Report::Moment& moment) {
    json.member("at_s", rounded(moment.at_s));
    json.member("allocated_percent", rounded(moment.allocated_percent));
    json.member("queued_jobs", moment.queued_jobs);
  });
  json.end_object();
}

void write_snapshot(JsonWriter& json, const Report::Anew& anew) {
  json.key("snapshot").begin_object();
  json.member("gpus_allocated", rounded(anew.gpus_allocated));
  json.member("running", anew.running).member("running_unplaced", anew.running_unplaced);
  json.member("pending", anew.pending).member("pending_started", anew.pending_started);
  json.member("free_whole_nodes", anew.free_whole_nodes);
  json.member("largest_gang_8gpu", anew.largest_gang_8gpu).end_object();
}

void write_figures(JsonWriter& json, const Report::Run& run) {
  json.key("unallocated_gpu_percent").begin_object();
  for (const auto& [arrived, spread] : run.unallocated_gpu_percent) {
    json.key(std::to_string(arrived)).begin_object();
    json.member("mean", rounded(spread.mean)).member("sd", rounded(spread.sd)).end_object();
  }
  json.end_object();
  objects(json, "left_by_model", run.left_by_model, [&](const Report::Left& left) {
    json.member("model", left.model).member("gpus", left.gpus);
    json.member("unallocated", rounded(left.unallocated));
  });
  json.key("failed_before_100").begin_object();
  for (const auto& [size, tasks] : run.failed_before_100) json.member(size, rounded(tasks));
  json.end_object();
  json.member("decisions_per_second", std::round(run.decisions_per_second));
}

void write_run(JsonWriter& json, const Report::Run& run, const Report::Fleet& fleet) {
  json.member("policy", run.policy).member("workload", run.workload);
  list(json, "seeds", run.seeds);
  objects(json, "curve", run.curve, [&](const Report::Point& point) {
    json.member("arrived_percent", rounded(point.arrived_percent));
    json.member("allocated_percent", rounded(point.allocated_percent));
    json.member("fragmented_percent", rounded(point.fragmented_percent));
  });
  write_figures(json, run);
  if (run.map) write_map(json, *run.map, fleet);
  if (run.trace) write_trace(json, *run.trace);
  if (run.snapshot) write_snapshot(json, *run.snapshot);
}

void write_stuck(JsonWriter& json, std::string_view name, const std::vector<Report::Stuck>& jobs) {
  objects(json, name, jobs, [&](const Report::Stuck& stuck) {
    json.member("workload", stuck.workload).member("policy", stuck.policy);
    json.member("job", stuck.job).member("jobs", stuck.jobs).member("started", stuck.started);
    json.member("runs_at_present", stuck.ran).member("never", stuck.never);
    json.member("why", stuck.why);
  });
}

/// "<" appears in the JSON inside texts only, where its escape means the same.
std::string without_tags(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

Result<std::string_view> report_page() {
#ifdef TUTTI_REPORT_PAGE
  return embedded::report().front().second;
#else
  return fail(Code::unsupported, "this tutti was built without the page of reports",
              "install Node.js 18 or newer with npm, then: ./dev build release");
#endif
}

std::string to_json(const Report& report) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("version", report.version).member("headline", report.headline);
  json.member("command", report.command);
  write_fleet(json, report.fleet);
  objects(json, "runs", report.runs,
          [&](const Report::Run& run) { write_run(json, run, report.fleet); });
  list(json, "notes", report.notes);
  write_stuck(json, "never_start", report.never_start);
  write_stuck(json, "waiting", report.waiting);
  json.end_object();
  CHECK(json.complete());
  return without_tags(out);
}

std::string to_html(const Report& report, std::string_view page) {
  const std::size_t at = page.find(data_mark);
  CHECK(at != page.npos, page.size());
  const std::string json = to_json(report);
  std::string out;
  out.reserve(page.size() + json.size());
  out.append(page.substr(0, at)).append(json).append(page.substr(at + data_mark.size()));
  return out;
}

}  // namespace tutti
