/// What a job waits for, how long it may run, and what follows when a part of it fails.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/limits.h"
#include "dialect/tutti_read.h"
#include "format/text.h"

namespace tutti {
namespace {

using On = Dependency::On;
using When = GangRule::When;
using Then = GangRule::Then;

constexpr std::array<Choice<On>, 4> conditions{
    {{"success", On::success}, {"failure", On::failure}, {"end", On::end}, {"start", On::start}}};

/// Volcano's words, so that its files say the same here. Pod and Task are one there, too.
constexpr std::array<Choice<When>, 8> events{{{"TaskFailed", When::task_failed},
                                              {"PodFailed", When::task_failed},
                                              {"TaskEvicted", When::task_evicted},
                                              {"PodEvicted", When::task_evicted},
                                              {"TaskCompleted", When::role_succeeded},
                                              {"JobUnknown", When::task_evicted},
                                              {"Any", When::any},
                                              {"*", When::any}}};
constexpr std::array<Choice<Then>, 6> actions{{{"RestartTask", Then::restart_task},
                                               {"RestartPod", Then::restart_task},
                                               {"RestartJob", Then::restart_gang},
                                               {"AbortJob", Then::stop},
                                               {"TerminateJob", Then::stop},
                                               {"CompleteJob", Then::complete}}};
/// As many as Volcano's maxRetry, where a policy restarts and nothing is said.
constexpr std::uint32_t usual_retries = 3;

Result<NamedDependency> read_dependency(const Value& value, const std::string& path) {
  if (!value.is(Kind::map)) {
    if (value.is(Kind::integer)) return NamedDependency{TRY(value.as_number()), On::success};
    return NamedDependency{std::string(TRY(value.as_text())), On::success};
  }
  return decode(value, path, [](Reader& reader) -> Result<NamedDependency> {
    NamedDependency out;
    const Value* const job = TRY(reader.optional_value("job"));
    if (job == nullptr) return fail(reader.error("job", "which job is to be waited for?"));
    out.job = job->is(Kind::integer) ? TRY(job->as_number()) : std::string(TRY(job->as_text()));
    out.on = TRY(reader.optional_choice<On>("on", conditions)).value_or(On::success);
    return out;
  });
}

Result<GangRule> read_policy(Reader& reader) {
  GangRule rule;
  rule.when = TRY(reader.required_choice<When>("event", events));
  rule.then = TRY(reader.required_choice<Then>("action", actions));
  rule.role = TRY(reader.optional_text("role")).value_or("");
  rule.exit_code =
      static_cast<std::int32_t>(TRY(reader.optional_integer("exit_code", 1, 255)).value_or(0));
  return rule;
}

std::optional<std::uint32_t> number_at(std::string_view& text) {
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return out;
}

bool skip(std::string_view& text, char sign) {
  if (!text.starts_with(sign)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<ArraySpec> parse_array(std::string_view whole) {
  const auto wrong = [&](std::string what) {
    return fail(Code::invalid, fmt::format("{}: {}", quote(whole), std::move(what)),
                "write 0-99, 1,5,9, 0-99:10 (each tenth), 0-99%4 (four at once)");
  };
  ArraySpec out;
  std::string_view text = whole;
  do {
    IndexRange range;
    const auto first = number_at(text);
    if (!first) return wrong("a number is missing");
    range.first = range.last = *first;
    if (skip(text, '-')) {
      const auto last = number_at(text);
      if (!last) return wrong("the last number is missing");
      if (*last < *first) return wrong("the last number is below the first");
      range.last = *last;
    }
    if (skip(text, ':')) {
      range.step = number_at(text).value_or(0);
      if (range.step == 0) return wrong("a step is a number above 0");
    }
    out.count += (range.last - range.first) / range.step + std::uint64_t{1};
    if (out.count > limits::tasks_per_job) {
      return wrong(fmt::format("more than {} numbers", limits::tasks_per_job));
    }
    out.ranges.push_back(range);
  } while (skip(text, ','));
  if (skip(text, '%')) {
    out.at_once = number_at(text).value_or(0);
    if (out.at_once == 0) return wrong("how many at once is a number above 0");
  }
  if (!text.empty()) return wrong(fmt::format("{} means nothing here", quote(text)));
  return out;
}

std::optional<JobId> numbered_job(std::string_view job) {
  const auto number = whole_number(job);
  if (!number || *number < 0) return std::nullopt;
  return JobId(static_cast<std::uint64_t>(*number));
}

Result<void> read_rules(Reader& reader, JobEntry& job) {
  JobRules& rules = job.spec.rules;
  if (const Value* const after = TRY(reader.optional_value("after"))) {
    for (const Value& each : one_or_many(*after)) {
      job.after.push_back(TRY(read_dependency(each, "after")));
    }
  }
  rules.run_time_max = TRY(reader.optional_duration("time_limit")).value_or(Duration{});
  rules.gang_rules = TRY(reader.list("policies", read_policy));
  const bool restarts = std::ranges::any_of(rules.gang_rules, [](const GangRule& rule) {
    return rule.then == Then::restart_task || rule.then == Then::restart_gang;
  });
  const auto retries = TRY(reader.optional_integer("retries", 0, 1'000'000));
  rules.retries = static_cast<std::uint32_t>(retries.value_or(restarts ? usual_retries : 0));
  rules.pause = TRY(reader.optional_duration("retry_pause")).value_or(rules.pause);
  rules.pause_max = TRY(reader.optional_duration("retry_pause_max")).value_or(rules.pause_max);
  if (const auto text = TRY(reader.optional_text("array"))) {
    Result<ArraySpec> array = parse_array(*text);
    if (!array) return fail(reader.error("array", array.error().what, array.error().hint));
    job.spec.array = array->ranges;
    job.array_count = static_cast<std::uint32_t>(array->count);
    rules.at_once = array->at_once;
  }
  job.spec.ttl = TRY(reader.optional_duration("ttl")).value_or(JobSpec::as_usual);
  const auto at_once = TRY(reader.optional_integer("at_once", 1, limits::tasks_per_job));
  if (at_once) rules.at_once = static_cast<std::uint32_t>(*at_once);
  return {};
}

}  // namespace tutti
