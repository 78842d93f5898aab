#include "model/state_apply.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/limits.h"
#include "model/standing.h"

namespace tutti {

void State::apply(const Event& event, Instant at) {
  CHECK(at >= now_, at.us, now_.us);
  now_ = at;
  ++version_;
  moves_.clear();
  StateApply applied(*this);
  std::visit(applied, event);
  applied.finish();
}

// --- Jobs ---------------------------------------------------------------------------------------

void StateApply::operator()(const JobSubmitted& event) {
  const JobSpec& spec = *event.spec;
  const std::size_t lanes = state_.fleet_.lanes().size();
  Job job{
      .id = event.id, .spec = event.spec, .queue = {}, .submitted = state_.now_, .held = spec.held};
  const auto queue = state_.find_queue(spec.queue);
  CHECK(queue.has_value(), spec.queue);
  job.queue = *queue;
  for (const auto& gang : spec.gangs) {
    job.gangs += gang->copies;
    job.tasks += gang->copies * state_.gang_shape(state_.intern_cached(gang)).tasks;
  }
  if (state_.fleet_.lanes().size() != lanes) {
    state_.usage_.resize(state_.fleet_, {});
    fleet_grew();
  }
  job.admitted = spec.rules.at_once > 0 ? std::min(spec.rules.at_once, job.gangs) : job.gangs;
  const JobIndex row = state_.jobs_.take(1);
  job.first_gang = state_.gangs_.take(job.gangs);
  job.first_task = state_.tasks_.take(job.tasks);
  state_.jobs_[row] = job;
  state_.job_rows_.insert(event.id, row);
  ++state_.live_jobs_;
  std::uint32_t next_gang = job.first_gang.value();
  std::uint32_t next_task = job.first_task.value();
  for (const auto& gang_spec : spec.gangs) {
    const GangShapeIndex shape_index = state_.intern_cached(gang_spec);
    const GangShape& shape = state_.gang_shape(shape_index);
    count_arrivals(job, *gang_spec, shape);
    for (std::uint32_t copy = 0; copy < gang_spec->copies; ++copy) {
      const GangIndex gang(next_gang++);
      state_.gangs_[gang] = {.job = row,
                             .shape = shape_index,
                             .first_task = TaskIndex(next_task),
                             .tasks = shape.tasks};
      for (std::size_t role = 0; role < shape.roles.size(); ++role) {
        for (std::uint32_t each = 0; each < shape.roles[role].count; ++each) {
          state_.tasks_[TaskIndex(next_task++)] = {.gang = gang,
                                                   .shape = shape.roles[role].alternatives.front(),
                                                   .node = {},
                                                   .devices = {},
                                                   .attempt = 0,
                                                   .role = static_cast<std::uint16_t>(role)};
        }
      }
    }
  }
  if (!spec.rules.after.empty()) begin_waiting(row);
  gangs_changed(state_.jobs_[row]);
}

/// A job of very many tasks counts as fewer, in proportion, so that it does not become the mix.
void StateApply::count_arrivals(const Job& job, const GangSpec& spec, const GangShape& shape) {
  const std::uint64_t most = limits::arrivals_of_job;
  std::size_t row = 0;
  for (const GroupSpec& group : spec.groups) {
    for (std::size_t at = 0; at < group.roles.size(); ++at) {
      const GangShape::Role& role = shape.roles[row + at];
      std::uint64_t tasks = std::uint64_t{role.count} * group.copies * spec.copies;
      if (job.tasks > most) tasks = std::max<std::uint64_t>(tasks * most / job.tasks, 1);
      state_.arrivals_.add(role.alternatives.front(), static_cast<std::uint32_t>(tasks));
    }
    row += group.roles.size() * group.copies;
  }
}

void StateApply::operator()(const JobCancelled& event) {
  const JobIndex job = state_.job_rows_.find(event.id);
  if (!job.valid()) return;
  state_.jobs_[job].cancelled = true;
  cancel_pending(job, Why::itself);
  forget_if_done(job);
}

void StateApply::operator()(const JobHeld& event) {
  const JobIndex index = state_.job_rows_.find(event.id);
  if (!index.valid()) return;
  state_.jobs_[index].held = event.held;
  gangs_changed(state_.jobs_[index]);
}

void StateApply::cancel_pending(JobIndex index, Why why) {
  Job& job = state_.jobs_[index];
  for (std::uint32_t offset = 0; offset < job.tasks; ++offset) {
    const TaskIndex task(job.first_task.value() + offset);
    if (state_.tasks_[task].phase == TaskPhase::pending) set_phase(task, TaskPhase::cancelled, why);
  }
  gangs_changed(job);
}

void StateApply::forget_if_done(JobIndex index) {
  const Job job = state_.jobs_[index];
  if (job.done < job.tasks) return;
  for (std::uint32_t offset = 0; offset < job.gangs && !state_.timers_.all().empty(); ++offset) {
    const GangIndex gang(job.first_gang.value() + offset);
    state_.timers_.clear(gang, Timers::Kind::pause_over);
    state_.timers_.clear(gang, Timers::Kind::time_up);
  }
  for (const Dependency& each : job.spec->rules.after) state_.dependents_.remove(each.job, job.id);
  JobEnd end = job.failed > 0 ? JobEnd::failed : JobEnd::succeeded;
  if (job.cancelled) end = JobEnd::cancelled;
  over_.push_back({.id = job.id, .end = end, .started = job.started});
  state_.tasks_.give_back(job.first_task, job.tasks);
  state_.gangs_.give_back(job.first_gang, job.gangs);
  state_.jobs_.give_back(index, 1);
  state_.job_rows_.erase(job.id);
  --state_.live_jobs_;
}

// --- Plans --------------------------------------------------------------------------------------

void StateApply::operator()(const PlanDecided& event) {
  for (const Action& action : event.actions) {
    if (action.kind == ActionKind::place) place(action);
    if (action.kind == ActionKind::evict) evict(action);
  }
  // An elastic gang that got less than it could use goes on waiting for the rest.
  for (const Action& action : event.actions) {
    if (action.kind != ActionKind::place) continue;
    const GangIndex gang = state_.tasks_[state_.find(action.task)].gang;
    if (state_.gangs_[gang].pending() > 0) changed(Change::Kind::gang, gang.value());
  }
}

void StateApply::place(const Action& action) {
  const TaskIndex index = state_.find(action.task);
  CHECK(index.valid(), action.task);
  Task& task = state_.tasks_[index];
  CHECK(task.phase == TaskPhase::pending, action.task, to_text(task.phase));
  CHECK(action.attempt == task.attempt + 1, action.attempt, task.attempt);
  task.phase = TaskPhase::assigned;
  task.attempt = action.attempt;
  task.shape = action.shape;
  task.node = action.node;
  task.devices = action.devices;
  book(task, Sign::hold);
  moved(index);
  Gang& gang = state_.gangs_[task.gang];
  ++gang.holding;
  if (gang.pending() == 0) changed(Change::Kind::gang, task.gang.value());
}

void StateApply::evict(const Action& action) {
  const TaskIndex index = current(action.task, action.attempt);
  CHECK(index.valid(), action.task, action.attempt);
  Task& task = state_.tasks_[index];
  CHECK(task.phase != TaskPhase::stopping, action.task);
  task.phase = TaskPhase::stopping;
  moved(index);
  ++state_.gangs_[task.gang].stopping;
}

void StateApply::moved(TaskIndex index, Why why) {
  const Task& task = state_.tasks_[index];
  state_.moves_.push_back({.task = state_.id_of(index),
                           .phase = task.phase,
                           .attempt = task.attempt,
                           .node = task.node,
                           .devices = task.devices,
                           .why = why});
}

void StateApply::book(const Task& task, Sign sign) {
  const ShapeRow& row = state_.shape(task.shape);
  if (sign == Sign::hold) {
    state_.usage_.hold(state_.fleet_, task.shape, row, task.node, task.devices);
  } else {
    state_.usage_.release(state_.fleet_, task.shape, row, task.node, task.devices);
  }
  charge(task, sign);
  changed(Change::Kind::node_usage, task.node.value());
}

void StateApply::charge(const Task& task, Sign sign) {
  const ShapeRow& row = state_.shape(task.shape);
  QueueIndex queue = state_.jobs_[state_.gangs_[task.gang].job].queue;
  for (; queue.valid(); queue = state_.queue(queue).parent) {
    QueueUsage& usage = state_.queue_usage_[queue.value()];
    for (const Resources::Amount& part : row.request) {
      if (usage.lanes.size() <= part.lane.value()) usage.lanes.resize(part.lane.value() + 1);
      usage.lanes[part.lane.value()] += static_cast<int>(sign) * part.amount;
    }
    usage.gpu_milli += static_cast<int>(sign) * row.gpu_milli;
    if (!state_.queue(queue).spec.limit.empty()) changed(Change::Kind::queue, queue.value());
  }
}

// --- Reports ------------------------------------------------------------------------------------

TaskIndex StateApply::current(const TaskId& id, std::uint32_t attempt) const {
  const TaskIndex task = state_.find(id);
  if (!task.valid()) return TaskIndex::none();
  const Task& row = state_.tasks_[task];
  return row.attempt == attempt && holds(row.phase) ? task : TaskIndex::none();
}

void StateApply::operator()(const TaskStarted& event) {
  const TaskIndex index = current(event.task, event.attempt);
  if (!index.valid() || state_.tasks_[index].phase != TaskPhase::assigned) return;
  Task& task = state_.tasks_[index];
  task.phase = TaskPhase::running;
  moved(index);
  Gang& gang = state_.gangs_[task.gang];
  if (gang.tasks == 1) gang.refusals = 0;
  start_timer(task.gang);
  Job& job = state_.jobs_[gang.job];
  if (!job.started) tell_dependents(job.id, false, std::nullopt);
  job.started = true;
}

void StateApply::operator()(const TaskExited& event) {
  const TaskIndex index = current(event.task, event.attempt);
  if (!index.valid()) return;
  const Task& task = state_.tasks_[index];
  const TaskPhase phase = phase_after(task, event.exit_code);
  if (phase == TaskPhase::pending) return leave_stopped(index);
  Gang& gang = state_.gangs_[task.gang];
  gang.refusals = 0;
  if (phase == TaskPhase::succeeded && last_of_role(task)) {
    return leave(index, phase, rule_for(task, GangRule::When::role_succeeded, 0));
  }
  if (phase != TaskPhase::failed) return leave(index, phase);
  const auto then = rule_for(task, GangRule::When::task_failed, event.exit_code);
  const bool again = then == GangRule::Then::restart_task || then == GangRule::Then::restart_gang;
  if (again) ++gang.retries;
  leave(index, again ? TaskPhase::pending : phase, then);
}

void StateApply::operator()(const TaskRefused& event) {
  const TaskIndex index = current(event.task, event.attempt);
  if (!index.valid() || state_.tasks_[index].phase == TaskPhase::running) return;
  const Task& task = state_.tasks_[index];
  Gang& gang = state_.gangs_[task.gang];
  const TaskPhase phase = phase_when_stopped(task);
  if (phase != TaskPhase::pending || gang.fate != Fate::none) return leave(index, phase);
  // What the other tasks of the gang hear of the same launch says nothing new.
  if (event.attempt <= gang.refused_attempt) return leave(index, phase);
  gang.refused_attempt = event.attempt;
  if (gang.refusals < UINT16_MAX) ++gang.refusals;
  const std::uint32_t most = state_.jobs_[gang.job].spec->rules.launches;
  if (most > 0 && gang.refusals >= most) {
    return leave(index, TaskPhase::failed, GangRule::Then::stop);
  }
  if (gang.refusals < 2) return leave(index, phase);
  leave(index, phase, GangRule::Then::restart_gang);
}

void StateApply::operator()(const TaskBound& event) {
  const TaskIndex index = state_.find(event.task);
  const auto node = state_.fleet_.find(event.node);
  if (!index.valid() || !node) return;
  Task& task = state_.tasks_[index];
  const bool elsewhere = holds(task.phase);
  if (ended(task.phase) || (elsewhere && task.node == *node)) return;
  if (elsewhere) {
    book(task, Sign::release);
    Gang& gang = state_.gangs_[task.gang];
    --gang.holding;
    if (task.phase == TaskPhase::stopping) --gang.stopping;
    task.phase = TaskPhase::pending;
  }
  state_.gangs_[task.gang].pausing = false;
  state_.timers_.clear(task.gang, Timers::Kind::pause_over);
  const Standing there = standing(state_, index, *node);
  place({.task = event.task,
         .attempt = task.attempt + 1,
         .shape = there.shape,
         .node = *node,
         .devices = there.devices});
  changed(Change::Kind::gang, task.gang.value());
}

void StateApply::leave_stopped(TaskIndex index) {
  const Task& task = state_.tasks_[index];
  const TaskPhase phase = phase_when_stopped(task);
  if (phase != TaskPhase::pending) return leave(index, phase);
  leave(index, phase, rule_for(task, GangRule::When::task_evicted, 0));
}

namespace {

Why why_stopped(Fate fate) {
  constexpr std::array<Why, 5> whys{Why::itself, Why::gang_restarts, Why::gang_failed, Why::time_up,
                                    Why::gang_completed};
  return whys[static_cast<std::size_t>(fate)];
}

}  // namespace

void StateApply::leave(TaskIndex index, TaskPhase phase, std::optional<GangRule::Then> then) {
  Task& task = state_.tasks_[index];
  const GangIndex gang_index = task.gang;
  Gang& gang = state_.gangs_[gang_index];
  const JobIndex job_index = gang.job;
  Why why = phase == TaskPhase::pending && then ? Why::gang_restarts : Why::itself;
  book(task, Sign::release);
  --gang.holding;
  if (task.phase == TaskPhase::stopping) {
    --gang.stopping;
    why = why_stopped(gang.fate);
  }
  task.node = NodeIndex::none();
  task.devices = {};
  set_phase(index, phase, why);
  if (then) carry_out(gang_index, *then);
  settle_gang(gang_index);
  forget_if_done(job_index);
}

void StateApply::operator()(const MixSet& event) {
  state_.mix_.clear();
  const std::size_t lanes = state_.fleet_.lanes().size();
  for (const MixSet::Entry& entry : event.entries) {
    state_.mix_.push_back({state_.intern(entry.shape), entry.count});
  }
  ++state_.mix_version_;
  state_.mix_learned_ = event.learned;
  if (state_.fleet_.lanes().size() != lanes) {
    state_.usage_.resize(state_.fleet_, {});
    fleet_grew();
  }
  changed(Change::Kind::mix, 0);
}

}  // namespace tutti
