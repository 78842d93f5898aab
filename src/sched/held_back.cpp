#include "sched/held_back.h"

#include <fmt/core.h>

#include <algorithm>

#include "sched/pending.h"

namespace tutti {
namespace {

/// What is still open of what the job waits for.
std::string awaited(const State& state, const Job& job) {
  std::string out;
  std::uint32_t named = 0;
  for (const Dependency& each : job.spec->rules.after) {
    const JobIndex other = state.find(each.job);
    const bool started = other.valid() && state.jobs()[other].started;
    if (!other.valid() || (each.on == Dependency::On::start && started)) continue;
    if (++named > 3) continue;
    out += fmt::format("{} the {} of job {}", named > 1 ? "," : "", to_text(each.on),
                       each.job.value());
  }
  if (named > 3) out += fmt::format(" and {} more", named - 3);
  return fmt::format("it waits for{}\n", out);
}

std::string paused(const State& state, const Job& job, const Gang& gang, Instant until) {
  const std::int64_t seconds = ((until - state.now()).us + 999'999) / 1'000'000;
  if (gang.refusals > 1) {
    return fmt::format("it starts anew in {} s: {} launches in a row were refused\n", seconds,
                       gang.refusals);
  }
  return fmt::format("it starts anew in {} s, because it failed: retry {} of {}\n", seconds,
                     gang.retries, job.spec->rules.retries);
}

}  // namespace

std::string held_back(const State& state, JobIndex index) {
  const Job& job = state.jobs()[index];
  if (job.held) return "it is held back; tutti release starts it\n";
  if (job.awaits > 0) return awaited(state, job);
  std::string out;
  for (std::uint32_t at = 0; at < job.admitted; ++at) {
    const GangIndex gang(job.first_gang.value() + at);
    if (wants_place(state, gang)) return {};
    const auto until = state.timers().of(gang, Timers::Kind::pause_over);
    if (until && out.empty()) out = paused(state, job, state.gangs()[gang], *until);
  }
  if (!out.empty() || job.admitted == job.gangs) return out;
  return fmt::format("{} of its {} gangs run at once, and {} wait for their turn\n",
                     job.spec->rules.at_once, job.gangs, job.gangs - job.admitted);
}

}  // namespace tutti
