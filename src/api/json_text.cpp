#include "api/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <vector>

#include "format/text.h"

namespace tutti {
namespace {

void write_time(JsonWriter& json, const std::optional<Instant>& at) {
  at ? json.value(rfc3339(*at)) : json.null();
}

void write_nodes(JsonWriter& json, const JobTable& table, const JobRow& row) {
  std::set<NodeIndex> nodes;
  for (const TaskRow& task : row.tasks) {
    if (task.node.valid()) nodes.insert(task.node);
  }
  json.begin_list();
  for (const NodeIndex node : nodes) json.value(table.node(node));
  json.end_list();
}

void write_devices(JsonWriter& json, const JobTable& table, const JobRow& row) {
  json.begin_list();
  for (const TaskRow& task : row.tasks) {
    task.devices.each([&](unsigned ordinal) {
      json.value(fmt::format("{}/{}", table.node(task.node), ordinal));
    });
  }
  json.end_list();
}

void write_exit_code(JsonWriter& json, const JobTable&, const JobRow& row) {
  const auto code = exit_code(row);
  code ? json.value(*code) : json.null();
}

struct Field {
  std::string_view name;
  void (*write)(JsonWriter& json, const JobTable& table, const JobRow& row);
};

/// In the order in which they are shown.
constexpr std::array fields_of_jobs{
    Field{"id", [](JsonWriter& json, const JobTable&,
                   const JobRow& row) { json.value(std::to_string(row.id.value())); }},
    Field{"name",
          [](JsonWriter& json, const JobTable&, const JobRow& row) { json.value(row.spec->name); }},
    Field{"queue", [](JsonWriter& json, const JobTable&,
                      const JobRow& row) { json.value(row.spec->queue); }},
    Field{"user",
          [](JsonWriter& json, const JobTable&, const JobRow& row) { json.value(row.spec->user); }},
    Field{"priority", [](JsonWriter& json, const JobTable&,
                         const JobRow& row) { json.value(row.spec->priority); }},
    Field{"state", [](JsonWriter& json, const JobTable&,
                      const JobRow& row) { json.value(to_text(row.state)); }},
    Field{"reason",
          [](JsonWriter& json, const JobTable&, const JobRow& row) { json.value(row.reason); }},
    Field{"tasks", [](JsonWriter& json, const JobTable&,
                      const JobRow& row) { json.value(row.tasks.size()); }},
    Field{"attempt", [](JsonWriter& json, const JobTable&,
                        const JobRow& row) { json.value(newest_attempt(row)); }},
    Field{"exit_code", write_exit_code},
    Field{"submitted", [](JsonWriter& json, const JobTable&,
                          const JobRow& row) { write_time(json, row.submitted); }},
    Field{"started", [](JsonWriter& json, const JobTable&,
                        const JobRow& row) { write_time(json, row.started); }},
    Field{"finished", [](JsonWriter& json, const JobTable&,
                         const JobRow& row) { write_time(json, row.finished); }},
    Field{"nodes", write_nodes},
    Field{"devices", write_devices},
};
static_assert(fields_of_jobs.size() <= JobFields().size());

}  // namespace

std::string rfc3339(Instant at) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(at.us)};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::uint32_t newest_attempt(const JobRow& row) {
  std::uint32_t attempt = 0;
  for (const TaskRow& task : row.tasks) attempt = std::max(attempt, task.attempt);
  return attempt;
}

std::optional<std::int32_t> exit_code(const JobRow& row) {
  const bool never_ran = row.state == JobState::failed && !row.refused.empty();
  if (!row.finished || row.state == JobState::cancelled || never_ran) return std::nullopt;
  // Not that of a task that was stopped because of it.
  const auto failed = std::ranges::find(row.tasks, TaskPhase::failed, &TaskRow::phase);
  return failed == row.tasks.end() ? 0 : failed->exit_code;
}

JobFields all_job_fields() { return JobFields().set(); }

Result<JobFields> job_fields_of(std::string_view names) {
  JobFields fields;
  for (bool more = true; more;) {
    const std::size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    const auto* const field = std::ranges::find(fields_of_jobs, name, &Field::name);
    if (field == fields_of_jobs.end()) {
      std::vector<std::string_view> known;
      for (const Field& each : fields_of_jobs) known.push_back(each.name);
      return fail(Code::invalid, "a job has no field " + quote(name), did_you_mean(name, known));
    }
    fields.set(static_cast<std::size_t>(field - fields_of_jobs.begin()));
    more = comma != names.npos;
    if (more) names.remove_prefix(comma + 1);
  }
  return fields;
}

std::string reason_for_all(const JobRow& row) {
  return row.refused.empty() || row.reason != row.refused ? row.reason : "could not be started";
}

void write_job(JsonWriter& json, const JobTable& table, const JobRow& row, const JobSight& sight) {
  json.begin_object();
  for (std::size_t at = 0; at < fields_of_jobs.size(); ++at) {
    if (!sight.fields[at]) continue;
    json.key(fields_of_jobs[at].name);
    if (!sight.whole && fields_of_jobs[at].name == "reason") {
      json.value(reason_for_all(row));
      continue;
    }
    fields_of_jobs[at].write(json, table, row);
  }
  json.end_object();
}

std::string job_json(const JobTable& table, const JobRow& row, const JobSight& sight) {
  std::string out;
  JsonWriter json(out);
  write_job(json, table, row, sight);
  return out;
}

std::string_view to_text(Code code) {
  constexpr std::array<std::string_view, 7> words{"invalid", "not_found",   "conflict", "limit",
                                                  "io",      "unsupported", "denied"};
  return words[static_cast<std::size_t>(code)];
}

int http_status(Code code) {
  switch (code) {
    case Code::invalid:
      return 400;
    case Code::not_found:
      return 404;
    case Code::conflict:
      return 409;
    case Code::limit:
      return 422;
    case Code::io:
      return 503;
    case Code::unsupported:
      return 501;
    case Code::denied:
      return 403;
  }
  return 500;
}

void write_error(JsonWriter& json, const Error& error) {
  json.begin_object();
  json.member("code", to_text(error.code)).member("message", error.what);
  if (!error.where.empty()) json.member("where", error.where);
  if (!error.hint.empty()) json.member("hint", error.hint);
  json.end_object();
}

std::string error_json(const Error& error) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("error");
  write_error(json, error);
  json.end_object();
  return out;
}

}  // namespace tutti
