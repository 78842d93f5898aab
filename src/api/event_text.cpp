#include "api/event_text.h"

#include <algorithm>
#include <utility>

#include "api/json_text.h"
#include "format/json.h"

namespace tutti {
namespace {

/// What every event starts with.
JsonWriter& begin(JsonWriter& json, const Happening& happening, std::string_view what) {
  json.begin_object().member("row", happening.row).member("at", rfc3339(happening.at));
  return json.member("what", what);
}

}  // namespace

JobGlance JobGlance::of(const JobTable& jobs, JobId id) {
  const JobRow* const row = jobs.find(id);
  if (row == nullptr) return {.id = id};
  return {.id = id,
          .known = true,
          .state = row->state,
          .held = row->held,
          .cancelled = row->cancelled,
          .runs = row->running > 0};
}

std::vector<JobId> jobs_of(const Happening& happening) {
  std::vector<JobId> ids;
  const Event& event = *happening.event;
  if (const auto* submitted = std::get_if<JobSubmitted>(&event)) ids.push_back(submitted->id);
  if (const auto* cancelled = std::get_if<JobCancelled>(&event)) ids.push_back(cancelled->id);
  if (const auto* held = std::get_if<JobHeld>(&event)) ids.push_back(held->id);
  for (const TaskMove& move : happening.moves) {
    if (ids.empty() || ids.back() != move.task.job) ids.push_back(move.task.job);
  }
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
  return ids;
}

std::string_view what_happened(const JobGlance& before, const JobGlance& after) {
  if (!after.known) return {};
  if (!before.known) return "submitted";
  if (ended(after.state)) return ended(before.state) ? "" : "ended";
  if (after.cancelled && !before.cancelled) return "cancelled";
  if (after.held != before.held) return after.held ? "held" : "released";
  if (after.runs && !before.runs) return "started";
  if (before.state == JobState::running && after.state != JobState::running) return "requeued";
  return {};
}

std::string job_event(const JobTable& jobs, const JobRow& row, const Happening& happening,
                      std::string_view what) {
  std::string out;
  JsonWriter json(out);
  begin(json, happening, what).member("job", std::to_string(row.id.value()));
  json.member("name", row.spec->name).member("queue", row.spec->queue);
  json.member("user", row.spec->user).member("state", to_text(row.state));
  json.member("reason", reason_for_all(row))
      .member("attempt", newest_attempt(row))
      .key("exit_code");
  const auto code = exit_code(row);
  code ? json.value(*code) : json.null();
  const NodeIndex node = row.tasks.front().node;
  json.key("node");
  node.valid() ? json.value(jobs.node(node)) : json.null();
  json.end_object();
  return out;
}

std::string node_event(const JobTable& jobs, const Happening& happening) {
  const Event& event = *happening.event;
  std::string_view what;
  std::string_view node;
  if (const auto* reported = std::get_if<NodeReported>(&event)) {
    node = reported->node.name;
    what = jobs.knows_node(node) ? "reported" : "joined";
  } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
    node = lost->node;
    what = "lost";
  } else if (const auto* cordon = std::get_if<NodeCordoned>(&event)) {
    node = cordon->node;
    what = cordon->drain ? "draining" : cordon->cordoned ? "cordoned" : "uncordoned";
  } else if (const auto* device = std::get_if<DeviceHealthChanged>(&event)) {
    node = device->node;
    what = "device";
  } else {
    return {};
  }
  std::string out;
  JsonWriter json(out);
  begin(json, happening, what).member("node", node);
  if (const auto* device = std::get_if<DeviceHealthChanged>(&event)) {
    json.member("device", device->ordinal).member("health", to_text(device->health));
  }
  json.end_object();
  return out;
}

}  // namespace tutti
