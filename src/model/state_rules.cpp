/// What follows from a job's rules (model/job_rules.h) when something became of its tasks.
#include <algorithm>

#include "model/state_apply.h"

namespace tutti {

bool true_at(Dependency::On on, JobEnd end) {
  switch (on) {
    case Dependency::On::success:
      return end == JobEnd::succeeded;
    case Dependency::On::failure:
      return end == JobEnd::failed;
    case Dependency::On::start:
      return end != JobEnd::cancelled;
    case Dependency::On::end:
      return true;
  }
  return false;
}

namespace {

/// Before the launch that follows so many refused ones: 1, 2, 4 ... 64 s, but the second is tried
/// at once.
Duration pause_after(std::uint16_t refusals) {
  return Duration::seconds(std::int64_t{1} << std::min(refusals - 2, 6));
}

Duration pause_before(const JobRules& rules, std::uint32_t retry) {
  Duration pause = rules.pause;
  for (std::uint32_t at = 1; at < retry && pause < rules.pause_max; ++at) pause = pause + pause;
  return std::min(pause, rules.pause_max);
}

bool fits(const GangRule& rule, GangRule::When when, std::string_view role, std::int32_t code) {
  const bool named = rule.when == when ||
                     (rule.when == GangRule::When::any && when != GangRule::When::role_succeeded);
  return named && (rule.role.empty() || rule.role == role) &&
         (rule.exit_code == 0 || rule.exit_code == code);
}

/// The name of the role that has this row among those of the gang's shape.
std::string_view role_name(const JobSpec& spec, std::uint32_t gang, std::uint32_t row) {
  for (const auto& each : spec.gangs) {
    if (gang >= each->copies) {
      gang -= each->copies;
      continue;
    }
    for (const GroupSpec& group : each->groups) {
      const std::size_t rows = group.roles.size() * group.copies;
      if (row < rows) return group.roles[row % group.roles.size()].name;
      row -= static_cast<std::uint32_t>(rows);
    }
  }
  return {};
}

enum class Verdict : std::uint8_t { open, true_now, never };

/// Of a dependency on a job that started, or has ended so.
Verdict verdict(Dependency::On on, std::optional<JobEnd> end) {
  if (!end && on == Dependency::On::start) return Verdict::true_now;
  if (!end) return Verdict::open;
  return true_at(on, *end) ? Verdict::true_now : Verdict::never;
}

}  // namespace

// --- How a task ends ----------------------------------------------------------------------------

TaskPhase StateApply::phase_when_stopped(const Task& task) const {
  const Gang& gang = state_.gangs_[task.gang];
  if (state_.jobs_[gang.job].cancelled || gang.fate == Fate::failed) return TaskPhase::cancelled;
  if (gang.fate == Fate::late) return TaskPhase::failed;
  if (gang.fate == Fate::complete) return TaskPhase::succeeded;
  return TaskPhase::pending;
}

TaskPhase StateApply::phase_after(const Task& task, std::int32_t exit_code) const {
  const Fate fate = state_.gangs_[task.gang].fate;
  const bool told_to = task.phase == TaskPhase::stopping;
  // What it returned when it was told to stop says nothing of its work.
  const bool unfinished = exit_code != 0 || fate == Fate::late || fate == Fate::restart;
  if (told_to && unfinished) return phase_when_stopped(task);
  return exit_code == 0 ? TaskPhase::succeeded : TaskPhase::failed;
}

std::optional<GangRule::Then> StateApply::rule_for(const Task& task, GangRule::When when,
                                                   std::int32_t exit_code) const {
  const Gang& gang = state_.gangs_[task.gang];
  const Job& job = state_.jobs_[gang.job];
  if (gang.fate != Fate::none || job.cancelled) return std::nullopt;
  const JobRules& rules = job.spec->rules;
  const bool failed = when == GangRule::When::task_failed;
  const bool retries_left = !failed || gang.retries < rules.retries;
  for (const GangRule& rule : rules.gang_rules) {
    const std::uint32_t row = task.gang.value() - job.first_gang.value();
    if (!fits(rule, when, role_name(*job.spec, row, task.role), exit_code)) continue;
    const bool restarts =
        rule.then == GangRule::Then::restart_task || rule.then == GangRule::Then::restart_gang;
    return restarts && !retries_left ? GangRule::Then::stop : rule.then;
  }
  if (!failed) return std::nullopt;
  if (retries_left) return GangRule::Then::restart_gang;
  if (!can_stand_without(task)) return GangRule::Then::stop;
  return std::nullopt;
}

const GangShape::Role& StateApply::role_of(const Task& task) const {
  return state_.gang_shape(state_.gangs_[task.gang].shape).roles[task.role];
}

std::uint32_t StateApply::count_in_role(const Task& task, TaskPhase phase) const {
  const std::uint32_t first =
      state_.gangs_[task.gang].first_task.value() + role_of(task).first_task;
  std::uint32_t count = 0;
  for (std::uint32_t offset = 0; offset < role_of(task).count; ++offset) {
    count += state_.tasks_[TaskIndex(first + offset)].phase == phase ? 1 : 0;
  }
  return count;
}

bool StateApply::can_stand_without(const Task& task) const {
  const std::uint32_t lost = count_in_role(task, TaskPhase::failed) + 1;
  return role_of(task).count - lost >= role_of(task).min;
}

bool StateApply::last_of_role(const Task& task) const {
  return count_in_role(task, TaskPhase::succeeded) + 1 == role_of(task).count;
}

// --- What becomes of its gang -------------------------------------------------------------------

void StateApply::carry_out(GangIndex index, GangRule::Then then) {
  switch (then) {
    case GangRule::Then::restart_task:
      return;
    case GangRule::Then::restart_gang:
      return restart(index);
    case GangRule::Then::stop:
      return doom(index, Fate::failed, Why::gang_failed);
    case GangRule::Then::complete:
      return doom(index, Fate::complete, Why::gang_completed);
  }
}

void StateApply::doom(GangIndex index, Fate fate, Why why) {
  Gang& gang = state_.gangs_[index];
  gang.fate = fate;
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const TaskIndex task(gang.first_task.value() + offset);
    if (state_.tasks_[task].phase == TaskPhase::pending) set_phase(task, TaskPhase::cancelled, why);
  }
}

void StateApply::restart(GangIndex index) {
  Gang& gang = state_.gangs_[index];
  gang.fate = Fate::restart;
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const TaskIndex task(gang.first_task.value() + offset);
    if (!ended(state_.tasks_[task].phase)) continue;
    set_phase(task, TaskPhase::pending, Why::gang_restarts);
  }
}

void StateApply::settle_gang(GangIndex index) {
  Gang& gang = state_.gangs_[index];
  if (gang.holding == 0) {
    state_.timers_.clear(index, Timers::Kind::time_up);
    if (gang.fate == Fate::restart) {
      gang.fate = Fate::none;
      begin_pause(index);
    }
  }
  changed(Change::Kind::gang, index.value());
  if (gang.done == gang.tasks) admit_next(gang.job);
}

/// Launches that were refused say more than failures of old.
void StateApply::begin_pause(GangIndex index) {
  Gang& gang = state_.gangs_[index];
  const JobRules& rules = state_.jobs_[gang.job].spec->rules;
  Duration pause;
  if (gang.refusals > 1) {
    pause = pause_after(gang.refusals);
  } else if (gang.retries > 0) {
    pause = pause_before(rules, gang.retries);
  }
  gang.pausing = pause > Duration{};
  if (!gang.pausing) return;
  state_.timers_.set({.at = state_.now_ + pause, .gang = index, .kind = Timers::Kind::pause_over});
}

void StateApply::admit_next(JobIndex index) {
  Job& job = state_.jobs_[index];
  if (job.admitted == job.gangs) return;
  changed(Change::Kind::gang, job.first_gang.value() + job.admitted++);
}

void StateApply::set_phase(TaskIndex index, TaskPhase phase, Why why) {
  Task& task = state_.tasks_[index];
  Gang& gang = state_.gangs_[task.gang];
  Job& job = state_.jobs_[gang.job];
  const int over = (ended(phase) ? 1 : 0) - (ended(task.phase) ? 1 : 0);
  gang.done += over;
  job.done += over;
  job.failed += (phase == TaskPhase::failed ? 1 : 0) - (task.phase == TaskPhase::failed ? 1 : 0);
  task.phase = phase;
  moved(index, why);
}

// --- Time ---------------------------------------------------------------------------------------

void StateApply::start_timer(GangIndex index) {
  const Duration most = state_.jobs_[state_.gangs_[index].job].spec->rules.run_time_max;
  if (most == Duration{} || state_.timers_.of(index, Timers::Kind::time_up)) return;
  state_.timers_.set({.at = state_.now_ + most, .gang = index, .kind = Timers::Kind::time_up});
}

void StateApply::operator()(const TimePassed&) {
  while (const auto due = state_.timers_.take(state_.now_)) {
    Gang& gang = state_.gangs_[due->gang];
    if (due->kind == Timers::Kind::pause_over) {
      gang.pausing = false;
    } else if (gang.fate == Fate::none) {
      doom(due->gang, Fate::late, Why::time_up);
    }
    settle_gang(due->gang);
  }
}

// --- Jobs that wait for others ------------------------------------------------------------------

void StateApply::begin_waiting(JobIndex index) {
  Job& job = state_.jobs_[index];
  const JobSpec& spec = *job.spec;
  for (const Dependency& each : spec.rules.after) {
    const JobIndex other = state_.job_rows_.find(each.job);
    const auto end = state_.dependents_.end_of(each.job);
    const bool started = other.valid() ? state_.jobs_[other].started : end.has_value();
    Verdict now = other.valid() && !started ? Verdict::open : verdict(each.on, end);
    if (!other.valid() && !end) now = Verdict::never;
    if (now == Verdict::true_now) continue;
    ++job.awaits;
    if (now == Verdict::never) {
      never_.push_back(job.id);
    } else {
      state_.dependents_.add(each.job, job.id);
    }
  }
}

void StateApply::tell_dependents(JobId id, bool had_started, std::optional<JobEnd> end) {
  for (const JobId waiter : state_.dependents_.waiting_for(id)) {
    const JobIndex index = state_.job_rows_.find(waiter);
    if (end) state_.dependents_.remove(id, waiter);
    if (!index.valid()) continue;
    Job& job = state_.jobs_[index];
    for (const Dependency& each : job.spec->rules.after) {
      if (each.job != id) continue;
      const bool told = had_started && each.on == Dependency::On::start;
      const Verdict now = told ? Verdict::open : verdict(each.on, end);
      if (now == Verdict::never) never_.push_back(waiter);
      if (now == Verdict::true_now) --job.awaits;
    }
    if (job.awaits == 0) gangs_changed(job);
  }
}

void StateApply::gangs_changed(const Job& job) {
  for (std::uint32_t offset = 0; offset < job.admitted; ++offset) {
    changed(Change::Kind::gang, job.first_gang.value() + offset);
  }
}

void StateApply::finish() {
  // A chain of jobs may be long, so it is walked, not descended.
  while (!over_.empty() || !never_.empty()) {
    if (!never_.empty()) {
      const JobIndex job = state_.job_rows_.find(never_.back());
      never_.pop_back();
      if (!job.valid() || state_.jobs_[job].cancelled) continue;
      state_.jobs_[job].cancelled = true;
      cancel_pending(job, Why::never_after);
      forget_if_done(job);
      continue;
    }
    const Over job = over_.back();
    over_.pop_back();
    state_.dependents_.ended(job.id, job.end);
    tell_dependents(job.id, job.started, job.end);
  }
}

}  // namespace tutti
