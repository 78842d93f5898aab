#include "api/usage_routes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "api/json_text.h"
#include "api/query.h"
#include "format/json.h"
#include "format/quantity.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t usage_rows_most = 1000;
constexpr std::string_view days_usual = "30d";

std::string date_text(Day day) {
  return rfc3339({day * Duration::seconds(86'400).us}).substr(0, 10);
}

/// "2026-11-30".
std::optional<Day> date_of(std::string_view text) {
  using namespace std::chrono;
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = natural<std::uint16_t>(text.substr(0, 4));
  const auto month = natural<std::uint8_t>(text.substr(5, 2));
  const auto day = natural<std::uint8_t>(text.substr(8, 2));
  if (!year || !month || !day) return std::nullopt;
  const year_month_day date{std::chrono::year(*year), std::chrono::month(*month),
                            std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return static_cast<Day>(sys_days(date).time_since_epoch().count());
}

Result<Day> first_day(std::string_view text, Day today) {
  if (const auto date = date_of(text)) return *date;
  const auto length = parse_duration(text);
  const std::int64_t a_day = Duration::seconds(86'400).us;
  const std::int64_t days = length ? (length->us + a_day - 1) / a_day : 0;
  if (days > 0 && days <= Meter::days_kept) return today - static_cast<Day>(days) + 1;
  return fail(Code::invalid, "since is " + quote(text),
              "7d: the last seven days, today is one of them; at most 400d; or a date: 2026-11-30");
}

Result<void> choose(std::string_view words, Meter::Question& question) {
  while (true) {
    const std::size_t comma = words.find(',');
    const std::string_view word = words.substr(0, comma);
    if (word == "user") {
      question.by_user = true;
    } else if (word == "queue") {
      question.by_queue = true;
    } else if (word == "model") {
      question.by_model = true;
    } else if (word == "job") {
      question.by_job = true;
    } else {
      return fail(Code::invalid, "usage is not told by " + quote(word),
                  "by: user queue model job; several by comma");
    }
    if (comma == words.npos) return {};
    words.remove_prefix(comma + 1);
  }
}

void write_used(JsonWriter& json, const Used& used) {
  // Rounded to what is read: nobody pays for a thousandth of a second.
  const auto hours = [](double seconds) { return std::round(seconds / 3600 * 1e6) / 1e6; };
  json.member("device_hours", hours(static_cast<double>(used.device_permille_s) / 1000));
  json.member("core_hours", hours(static_cast<double>(used.core_permille_s) / 1000));
  json.member("memory_gib_hours", hours(static_cast<double>(used.memory_mib_s) / 1024));
  json.member("jobs", used.jobs).member("tasks", used.tasks);
}

std::string usage_json(const Meter::Question& question, const Meter::Report& report, bool own) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("since", date_text(question.since));
  json.member("until", date_text(question.until)).member("own", own).key("rows").begin_list();
  Used total;
  for (const auto& [key, used] : report) total += used;
  const std::size_t shown = std::min(report.size(), usage_rows_most);
  for (const auto& [key, used] : std::span(report).first(shown)) {
    json.begin_object();
    if (question.by_job) {
      json.member("job", std::to_string(key.job.value())).member("name", key.name);
    }
    if (question.by_job || question.by_user) json.member("user", key.user);
    if (question.by_job || question.by_queue) json.member("queue", key.queue);
    if (question.by_model) json.member("model", key.model);
    write_used(json, used);
    json.end_object();
  }
  json.end_list().member("left_out", report.size() - shown).key("total").begin_object();
  write_used(json, total);
  json.end_object().end_object();
  return out;
}

}  // namespace

void UsageRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/usage", Role::viewer, [this](Call call) { answer(std::move(call)); });
}

Result<Meter::Question> UsageRoutes::question_of(const Call& call) const {
  const net::Request& request = call.request;
  TRY(only_known(request, {"by", "since", "until"}));
  Meter::Question question{.now = clock_()};
  const Day today = day_of(question.now);
  TRY(choose(request.query_value("by").value_or("user"), question));
  question.since = TRY(first_day(request.query_value("since").value_or(days_usual), today));
  question.until = today;
  if (const auto text = request.query_value("until")) {
    const auto day = date_of(*text);
    if (!day) return fail(Code::invalid, "until is " + quote(*text), "a date: 2026-11-30");
    question.until = *day;
  }
  if (question.until < question.since) {
    return fail(Code::invalid, "the first day is " + date_text(question.since) +
                                   ", and the last one " + date_text(question.until));
  }
  question.wanted = [&user = call.user](const std::string& owner, const std::string& queue) {
    return user.sees(queue) && (user.role >= Role::operator_ || user.owns(owner));
  };
  return question;
}

void UsageRoutes::answer(Call call) const {
  const Result<Meter::Question> question = question_of(call);
  if (!question) return call.refuse(question.error());
  const bool own = call.user.role < Role::operator_;
  call.send(200, usage_json(*question, meter_.report(*question), own));
}

}  // namespace tutti
