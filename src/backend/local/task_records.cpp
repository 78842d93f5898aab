#include "backend/local/task_records.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "format/json.h"
#include "format/reader.h"

namespace tutti {
namespace {

constexpr std::array<Choice<EndCause>, 7> cause_words{
    {{"ended", EndCause::ended},
     {"stopped", EndCause::stopped},
     {"time_limit", EndCause::time_limit},
     {"out_of_memory", EndCause::out_of_memory},
     {"keeper_killed", EndCause::keeper_killed},
     {"machine_restarted", EndCause::machine_restarted},
     {"refused", EndCause::refused}}};

/// Takes the number before the next full stop, or before the end.
template <class Number>
bool take_number(std::string_view& text, Number& out) {
  const std::string_view digits = text.substr(0, text.find('.'));
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), out);
  text.remove_prefix(std::min(text.size(), digits.size() + 1));
  return error == std::errc() && end == digits.end();
}

Result<TaskIdentity> decode_identity(Reader& r) {
  TaskIdentity identity;
  identity.pid =
      static_cast<pid_t>(TRY(r.required_integer("pid", 1, std::numeric_limits<pid_t>::max())));
  identity.start_ticks = static_cast<std::uint64_t>(TRY(r.required_integer("start_ticks", 0)));
  identity.boot = TRY(r.required_text("boot"));
  identity.mark = TRY(r.required_text("mark"));
  r.ignore_rest();
  return identity;
}

Result<TaskEnd> decode_end(Reader& r) {
  TaskEnd end;
  end.cause = TRY(r.required_choice<EndCause>("cause", cause_words));
  end.exit_code = static_cast<int>(TRY(r.required_integer("exit_code", 0, 255)));
  end.signal = static_cast<int>(TRY(r.required_integer("signal", 0, 255)));
  end.core_dumped = TRY(r.required_boolean("core_dumped"));
  end.began = TRY(r.required_boolean("began"));
  end.reason = TRY(r.required_text("reason"));
  end.began_at = {TRY(r.required_integer("began_at_us"))};
  end.ended_at = {TRY(r.required_integer("ended_at_us"))};
  end.cpu = {TRY(r.required_integer("cpu_us", 0))};
  end.rss_max_kib = TRY(r.required_integer("rss_max_kib", 0));
  end.output_bytes = TRY(r.required_integer("output_bytes", 0));
  end.dropped_bytes = TRY(r.required_integer("dropped_bytes", 0));
  end.rotated_bytes = TRY(r.required_integer("rotated_bytes", 0));
  r.ignore_rest();
  return end;
}

}  // namespace

std::string to_string(const AttemptId& id) {
  return std::to_string(id.task.job.value()) + "." + std::to_string(id.task.ordinal) + "." +
         std::to_string(id.attempt);
}

std::optional<AttemptId> attempt_of(std::string_view name) {
  std::string_view rest = name;
  std::uint64_t job = 0;
  AttemptId id;
  if (!take_number(rest, job) || !take_number(rest, id.task.ordinal)) return std::nullopt;
  if (!take_number(rest, id.attempt)) return std::nullopt;
  id.task.job = JobId(job);
  // Another spelling of the same numbers is not a name that we gave.
  if (to_string(id) != name) return std::nullopt;
  return id;
}

std::string_view to_text(EndCause cause) {
  return std::ranges::find(cause_words, cause, &Choice<EndCause>::value)->word;
}

std::string encode(const TaskIdentity& identity) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("pid", identity.pid).member("start_ticks", identity.start_ticks);
  json.member("boot", identity.boot).member("mark", identity.mark).end_object();
  return out;
}

Result<TaskIdentity> decode_task_identity(std::string_view text) {
  const Value document = TRY(parse_json(text));
  return decode(document, "identity", decode_identity);
}

std::string encode(const TaskEnd& end) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("cause", to_text(end.cause)).member("exit_code", end.exit_code);
  json.member("signal", end.signal).member("core_dumped", end.core_dumped);
  json.member("began", end.began).member("reason", end.reason);
  json.member("began_at_us", end.began_at.us).member("ended_at_us", end.ended_at.us);
  json.member("cpu_us", end.cpu.us).member("rss_max_kib", end.rss_max_kib);
  json.member("output_bytes", end.output_bytes).member("dropped_bytes", end.dropped_bytes);
  json.member("rotated_bytes", end.rotated_bytes).end_object();
  return out;
}

Result<TaskEnd> decode_task_end(std::string_view text) {
  const Value document = TRY(parse_json(text));
  return decode(document, "end", decode_end);
}

}  // namespace tutti
