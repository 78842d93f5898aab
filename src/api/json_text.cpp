#include "api/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

namespace tutti {
namespace {

void write_time(JsonWriter& json, std::string_view name, const std::optional<Instant>& at) {
  json.key(name);
  at ? json.value(rfc3339(*at)) : json.null();
}

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
  if (!row.finished || row.state == JobState::cancelled) return std::nullopt;
  for (const TaskRow& task : row.tasks) {
    if (task.exit_code != 0) return task.exit_code;
  }
  return 0;
}

void write_job(JsonWriter& json, const JobTable& table, const JobRow& row) {
  json.begin_object();
  json.member("id", std::to_string(row.id.value())).member("name", row.spec->name);
  json.member("queue", row.spec->queue).member("user", row.spec->user);
  json.member("priority", row.spec->priority).member("state", to_text(row.state));
  json.member("reason", row.reason).member("tasks", row.tasks.size());
  std::set<NodeIndex> nodes;
  for (const TaskRow& task : row.tasks) {
    if (task.node.valid()) nodes.insert(task.node);
  }
  json.member("attempt", newest_attempt(row)).key("exit_code");
  const auto code = exit_code(row);
  code ? json.value(*code) : json.null();
  write_time(json, "submitted", row.submitted);
  write_time(json, "started", row.started);
  write_time(json, "finished", row.finished);
  json.key("nodes").begin_list();
  for (const NodeIndex node : nodes) json.value(table.node(node));
  json.end_list().key("devices").begin_list();
  for (const TaskRow& task : row.tasks) {
    task.devices.each([&](unsigned ordinal) {
      json.value(fmt::format("{}/{}", table.node(task.node), ordinal));
    });
  }
  json.end_list().end_object();
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

std::string error_json(const Error& error) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("error").begin_object();
  json.member("code", to_text(error.code)).member("message", error.what);
  if (!error.where.empty()) json.member("where", error.where);
  if (!error.hint.empty()) json.member("hint", error.hint);
  json.end_object().end_object();
  return out;
}

}  // namespace tutti
