#include "api/fate.h"

#include <algorithm>
#include <map>
#include <string>

#include "api/job_access.h"
#include "format/text.h"
#include "sched/why_waits.h"

namespace tutti {
namespace {

/// Where its tasks are.
std::vector<NodeIndex> places_of(const State& state, JobId id) {
  std::vector<NodeIndex> out;
  const JobIndex index = state.find(id);
  if (!index.valid()) return out;
  const Job& job = state.jobs()[index];
  for (std::uint32_t at = 0; at < job.tasks; ++at) {
    const Task& task = state.tasks()[TaskIndex(job.first_task.value() + at)];
    if (holds(task.phase)) out.push_back(task.node);
  }
  return out;
}

}  // namespace

void write_nodes(JsonWriter& json, const State& state, const std::vector<NodeIndex>& nodes) {
  constexpr std::size_t most = 100;
  json.key("nodes").begin_list();
  for (std::size_t at = 0; at < nodes.size() && at < most; ++at) {
    json.value(state.fleet().node(nodes[at]).name);
  }
  json.end_list();
}

void write_fate(JsonWriter& json, const Supposed& supposed, const PolicyFactory& factory,
                const User& reader, JobId job) {
  const auto start = std::ranges::find(supposed.starts, job, &Supposed::Start::job);
  const bool starts = start != supposed.starts.end();
  json.member("starts", starts);
  if (starts) return write_nodes(json, supposed.state, start->nodes);
  const auto may_name = [&](const JobSpec& spec) { return may(reader, spec, Deed::see); };
  const std::string text = why_waits(supposed.state, factory, job, may_name);
  if (!text.empty()) {
    json.member("text", text);
    return;
  }
  const std::vector<NodeIndex> places = places_of(supposed.state, job);
  json.member("runs", !places.empty());
  if (!places.empty()) write_nodes(json, supposed.state, places);
}

void write_fates(JsonWriter& json, const Supposed& supposed, const PolicyFactory& factory,
                 const User& reader, std::span<const Event> submissions) {
  std::map<JobId, const Supposed::Start*> starts;
  for (const Supposed::Start& each : supposed.starts) starts.emplace(each.job, &each);
  std::size_t explained = 0;
  json.begin_list();
  for (const Event& event : submissions) {
    const auto& submitted = std::get<JobSubmitted>(event);
    json.begin_object().member("name", submitted.spec->name);
    if (const auto start = starts.find(submitted.id); start != starts.end()) {
      json.member("starts", true);
      write_nodes(json, supposed.state, start->second->nodes);
    } else if (++explained <= explained_most) {
      write_fate(json, supposed, factory, reader, submitted.id);
    } else {
      json.member("starts", false);
      json.member("text", "why is said of the first " + std::to_string(explained_most) + " only\n");
    }
    json.end_object();
  }
  json.end_list();
}

Result<bool> is_dry_run(const net::Request& request) {
  const std::string_view word = request.query_value("dry_run").value_or("false");
  if (word == "true" || word == "false") return word == "true";
  return fail(Code::invalid, "dry_run is " + quote(word), "write true or false");
}

}  // namespace tutti
