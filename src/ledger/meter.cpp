#include "ledger/meter.h"

#include <algorithm>
#include <limits>

namespace tutti {
namespace {

constexpr std::int64_t us_per_day = std::int64_t{86'400} * 1'000'000;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::int64_t sum(std::int64_t a, std::int64_t b) { return checked_add(a, b).value_or(most); }

/// By milliseconds, so that a day of all the memory of a large fleet is far from the largest
/// number.
std::int64_t times_seconds(std::int64_t amount, Duration length) {
  const auto product = checked_multiply(amount, length.us / 1000);
  return product ? *product / 1000 : most;
}

Instant begin_of(Day day) { return {day * us_per_day}; }

}  // namespace

Day day_of(Instant at) {
  const std::int64_t day = at.us / us_per_day;
  return static_cast<Day>(at.us % us_per_day < 0 ? day - 1 : day);
}

Used& Used::operator+=(const Used& other) {
  device_permille_s = sum(device_permille_s, other.device_permille_s);
  core_permille_s = sum(core_permille_s, other.core_permille_s);
  memory_mib_s = sum(memory_mib_s, other.memory_mib_s);
  jobs = sum(jobs, other.jobs);
  tasks = sum(tasks, other.tasks);
  return *this;
}

void Meter::apply(Instant at, std::span<const TaskMove> moves, std::span<const Holding> begun) {
  if (day_of(at) > today_) {
    today_ = day_of(at);
    forget_before(today_ - days_kept + 1);
  }
  for (const TaskMove& move : moves) {
    if (!holds(move.phase)) stop(at, move.task);
  }
  for (const Holding& holding : begun) start(at, holding);
}

void Meter::book(JobUse& job, const When& when, const Used& used) {
  owners_[job.owner][when] += used;
  job.days[when] += used;
}

void Meter::start(Instant at, const Holding& holding) {
  const bool fresh = running_
                         .try_emplace(holding.task, Running{.since = at,
                                                            .core_permille = holding.core_permille,
                                                            .memory_mib = holding.memory_mib,
                                                            .parts = holding.parts})
                         .second;
  if (!fresh) return;  // It was said twice.
  const JobId id = holding.task.job;
  const auto [known, first] = jobs_.try_emplace(id);
  JobUse& job = known->second;
  if (first) {
    job.name = holding.spec->name;
    job.owner = {holding.spec->user, holding.spec->queue};
  }
  if (++job.running == 1) idle_.erase(id);
  book(job, {day_of(at), holding.parts.front().model}, {.jobs = first ? 1 : 0, .tasks = 1});
}

void Meter::stop(Instant at, const TaskId& task) {
  const auto running = running_.find(task);
  if (running == running_.end()) return;  // It never ran, or since before there was a meter.
  JobUse& job = jobs_.at(task.job);
  each_piece(running->second, at, today_ - days_kept + 1,
             [&](const When& when, const Used& used) { book(job, when, used); });
  running_.erase(running);
  if (--job.running > 0) return;
  idle_.insert(task.job);
  if (idle_.size() <= jobs_most) return;
  jobs_.erase(*idle_.begin());
  idle_.erase(idle_.begin());
}

template <class Visit>
void Meter::each_piece(const Running& running, Instant until, Day first, Visit&& visit) {
  Instant from = std::max(running.since, begin_of(first));
  while (from < until) {
    const Day day = day_of(from);
    const Instant end = std::min(until, begin_of(day + 1));
    for (const Holding::Part& part : running.parts) {
      const bool leads = &part == &running.parts.front();
      visit(When{day, part.model},
            Used{.device_permille_s = times_seconds(part.device_permille, end - from),
                 .core_permille_s = leads ? times_seconds(running.core_permille, end - from) : 0,
                 .memory_mib_s = leads ? times_seconds(running.memory_mib, end - from) : 0});
    }
    from = end;
  }
}

void Meter::forget_before(Day day) {
  const auto drop = [&](Days& days) { days.erase(days.begin(), days.lower_bound(When{day, {}})); };
  for (auto& [owner, days] : owners_) drop(days);
  std::erase_if(owners_, [](const auto& each) { return each.second.empty(); });
  for (auto& [id, job] : jobs_) drop(job.days);
  std::erase_if(jobs_, [&](const auto& each) {
    const bool over = each.second.days.empty() && each.second.running == 0;
    if (over) idle_.erase(each.first);
    return over;
  });
}

Meter::Report Meter::report(const Question& question) const {
  std::map<UseKey, Used> sums;
  const Day first = std::max(question.since, day_of(question.now) - days_kept + 1);
  const auto add = [&](JobId id, const std::string& name, const Owner& owner, const When& when,
                       const Used& used) {
    if (when.day > question.until) return;
    UseKey key;
    if (question.by_job) key.job = id;
    if (question.by_job) key.name = name;
    if (question.by_user || question.by_job) key.user = owner.user;
    if (question.by_queue || question.by_job) key.queue = owner.queue;
    if (question.by_model) key.model = when.model;
    sums[std::move(key)] += used;
  };
  const auto add_days = [&](JobId id, const std::string& name, const Owner& owner,
                            const Days& days) {
    if (!question.wanted(owner.user, owner.queue)) return;
    for (auto at = days.lower_bound(When{first, {}}); at != days.end(); ++at) {
      add(id, name, owner, at->first, at->second);
    }
  };
  if (question.by_job) {
    for (const auto& [id, job] : jobs_) add_days(id, job.name, job.owner, job.days);
  } else {
    for (const auto& [owner, days] : owners_) add_days(JobId(), {}, owner, days);
  }
  for (const auto& [task, running] : running_) {
    const JobUse& job = jobs_.at(task.job);
    if (!question.wanted(job.owner.user, job.owner.queue)) continue;
    each_piece(running, question.now, first, [&](const When& when, const Used& used) {
      add(task.job, job.name, job.owner, when, used);
    });
  }
  Report out(sums.begin(), sums.end());
  std::ranges::stable_sort(out, std::greater(), &Report::value_type::second);
  return out;
}

}  // namespace tutti
