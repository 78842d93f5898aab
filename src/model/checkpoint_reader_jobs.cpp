/// The jobs of a checkpoint, and what follows from them.
#include <algorithm>

#include "base/limits.h"
#include "model/checkpoint_reader.h"
#include "model/checkpoint_rows.h"
#include "model/state_apply.h"

namespace tutti {
namespace {

/// Beyond what any fleet holds, and far below what 64 bits do.
constexpr std::int64_t held_most = std::int64_t{1} << 61;

}  // namespace

// --- Rows ---------------------------------------------------------------------------------------

/// Notes an owner of these rows; false where one of them has one, or is none.
bool StateReader::take(std::vector<bool>& taken, std::uint64_t first, std::uint64_t count) {
  if (first + count > taken.size()) return refuse("a row that is beyond its table");
  for (std::uint64_t at = first; at < first + count; ++at) {
    if (taken[at]) return refuse("row " + std::to_string(at) + " belongs to two");
    taken[at] = true;
  }
  return true;
}

template <class Table>
void StateReader::read_freed(Table& table, std::vector<bool>& taken) {
  const std::uint64_t size = in_.number_to(from_.rows_most_, "a number of rows");
  typename Table::Freed freed;
  taken.assign(size, false);
  for (std::size_t lists = in_.count(); lists > 0 && in_.ok(); --lists) {
    const auto count =
        static_cast<std::uint32_t>(in_.number_to(limits::tasks_per_job, "a number of rows"));
    std::vector<std::uint32_t>& firsts = freed[count];
    if (count == 0 || !firsts.empty()) refuse("free rows stand twice");
    for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
      firsts.push_back(static_cast<std::uint32_t>(in_.number_to(size, "a row")));
      take(taken, firsts.back(), count);
    }
  }
  if (in_.ok()) table.restore(size, std::move(freed));
}

void StateReader::read_tables() {
  std::vector<bool> jobs_taken;
  read_freed(state_.jobs_, jobs_taken);
  read_freed(state_.gangs_, gangs_taken_);
  read_freed(state_.tasks_, tasks_taken_);
  for (std::size_t at = 0; at < jobs_taken.size() && in_.ok(); ++at) {
    if (!jobs_taken[at]) read_job(JobIndex(at));
  }
  if (std::ranges::find(gangs_taken_, false) != gangs_taken_.end() ||
      std::ranges::find(tasks_taken_, false) != tasks_taken_.end()) {
    refuse("a row is neither free nor anybody's");
  }
}

void StateReader::read_job(JobIndex row) {
  const CheckpointReader::Specs::Job* const spec = from_.specs_->read_job();
  if (spec == nullptr) return;
  const std::uint8_t flags = in_.byte();
  Job job{.id = JobId(in_.number()), .spec = spec->spec, .queue = {}, .submitted = {}};
  job.submitted.us = in_.signed_number();
  job.awaits = static_cast<std::uint32_t>(
      in_.number_to(spec->spec->rules.after.size(), "jobs that it waits for"));
  const auto queue = state_.find_queue(spec->spec->queue);
  if (!queue || !job.id.valid()) refuse("a job without a queue or an id");
  if (in_.ok() && state_.find(job.id).valid()) refuse("job " + to_string(job.id) + " stands twice");
  for (const std::uint32_t gang : spec->gangs) {
    const CheckpointReader::Specs::Gang& each = from_.specs_->gang(gang);
    job.gangs += each.spec->copies;
    job.tasks += each.spec->copies * state_.gang_shape(each.shape).tasks;
  }
  job.admitted = job.gangs - static_cast<std::uint32_t>(in_.number_to(job.gangs, "gangs"));
  job.first_gang = in_.index<GangIndex>(gangs_taken_.size(), "a gang");
  job.first_task = in_.index<TaskIndex>(tasks_taken_.size(), "a task");
  if (!in_.ok() || !take(gangs_taken_, job.first_gang.value(), job.gangs) ||
      !take(tasks_taken_, job.first_task.value(), job.tasks)) {
    return;
  }
  job.queue = *queue;
  job.cancelled = (flags & 1U) != 0;
  job.held = (flags & 2U) != 0;
  job.started = (flags & 4U) != 0;
  state_.jobs_[row] = job;
  state_.job_rows_.insert(job.id, row);
  ++state_.live_jobs_;
  make_rows(row, *spec);
  const bool fresh = (flags & 8U) != 0;
  for (std::uint32_t offset = 0; offset < job.gangs && !fresh && in_.ok(); ++offset) {
    read_gang(GangIndex(job.first_gang.value() + offset));
  }
  if (in_.ok() && state_.jobs_[row].done == job.tasks) refuse("a job is over, and still there");
}

/// Its gangs and tasks, as after its submission.
void StateReader::make_rows(JobIndex row, const CheckpointReader::Specs::Job& spec) {
  const Job& job = state_.jobs_[row];
  std::uint32_t next_gang = job.first_gang.value();
  std::uint32_t next_task = job.first_task.value();
  for (const std::uint32_t number : spec.gangs) {
    const CheckpointReader::Specs::Gang& each = from_.specs_->gang(number);
    const GangShape& shape = state_.gang_shape(each.shape);
    for (std::uint32_t copy = 0; copy < each.spec->copies; ++copy) {
      const GangIndex gang(next_gang++);
      state_.gangs_[gang] = {.job = row,
                             .shape = each.shape,
                             .first_task = TaskIndex(next_task),
                             .tasks = shape.tasks};
      for (std::size_t role = 0; role < shape.roles.size(); ++role) {
        for (std::uint32_t left = shape.roles[role].count; left > 0; --left) {
          Task& task = state_.tasks_[TaskIndex(next_task++)];
          task.gang = gang;
          task.shape = shape.roles[role].alternatives.front();
          task.role = static_cast<std::uint16_t>(role);
        }
      }
    }
  }
}

void StateReader::read_gang(GangIndex index) {
  Gang& gang = state_.gangs_[index];
  if (in_.byte() != 0) {
    gang.fate = static_cast<Fate>(
        in_.number_to(static_cast<std::uint64_t>(Fate::complete), "the fate of a gang"));
    gang.retries = static_cast<std::uint32_t>(in_.number_to(UINT32_MAX, "a count of retries"));
    gang.refusals = static_cast<std::uint16_t>(in_.number_to(UINT16_MAX, "a count of refusals"));
    gang.refused_attempt = static_cast<std::uint32_t>(in_.number_to(UINT32_MAX, "an attempt"));
  }
  Job& job = state_.jobs_[gang.job];
  for (std::uint32_t offset = 0; offset < gang.tasks && in_.ok(); ++offset) {
    read_task(job, gang, TaskIndex(gang.first_task.value() + offset));
  }
  if (gang.fate != Fate::none && gang.holding == 0 && gang.done < gang.tasks) {
    refuse("a gang was to stop, has stopped, and waits for nothing");
  }
}

void StateReader::read_task(Job& job, Gang& gang, TaskIndex index) {
  Task& task = state_.tasks_[index];
  const std::uint8_t head = in_.byte();
  const std::uint8_t phase = head & (checkpoint::task_has_more - 1);
  if (phase > static_cast<std::uint8_t>(TaskPhase::cancelled) || head > 15) {
    refuse("an unknown phase of a task");
    return;
  }
  task.phase = static_cast<TaskPhase>(phase);
  gang.holding += holds(task.phase) ? 1 : 0;
  gang.stopping += task.phase == TaskPhase::stopping ? 1 : 0;
  gang.done += ended(task.phase) ? 1 : 0;
  job.done += ended(task.phase) ? 1 : 0;
  job.failed += task.phase == TaskPhase::failed ? 1 : 0;
  if ((head & checkpoint::task_has_more) == 0) {
    if (task.phase != TaskPhase::pending) refuse("a task did something at its zeroth attempt");
    return;
  }
  const auto& alternatives = state_.gang_shape(gang.shape).roles[task.role].alternatives;
  task.attempt = static_cast<std::uint32_t>(in_.number_to(UINT32_MAX, "an attempt"));
  task.shape = alternatives[in_.number_to(alternatives.size() - 1, "an alternative")];
  if (!holds(task.phase)) return;
  task.node = in_.index<NodeIndex>(state_.fleet_.size(), "a node");
  for (unsigned half = 0; half < 2 && in_.ok(); ++half) {
    for (std::uint64_t rest = in_.number(); rest != 0; rest &= rest - 1) {
      const unsigned ordinal = half * 64 + static_cast<unsigned>(std::countr_zero(rest));
      if (ordinal >= state_.fleet_.devices(task.node).size()) refuse("a task on no device");
      task.devices.add(ordinal);
    }
  }
}

// --- What else there is -------------------------------------------------------------------------

void StateReader::read_timers() {
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    Timers::Timer timer{.at = {in_.signed_number()}, .gang = {}};
    timer.gang = in_.index<GangIndex>(state_.gangs_.size(), "a gang");
    timer.kind = static_cast<Timers::Kind>(in_.number_to(1, "a kind of timer"));
    if (!in_.ok()) return;
    Gang& gang = state_.gangs_[timer.gang];
    if (!gang.job.valid() || state_.timers_.of(timer.gang, timer.kind)) {
      refuse("a timer stands twice, or is nobody's");
    }
    state_.timers_.set(timer);
    if (timer.kind != Timers::Kind::pause_over) continue;
    gang.pausing = true;
    if (gang.holding > 0) refuse("a gang pauses, and runs");
  }
}

void StateReader::read_ends() {
  std::uint64_t job = 0;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    const std::uint64_t word = in_.number();
    if ((word & 3U) > static_cast<std::uint64_t>(JobEnd::cancelled)) refuse("an unknown end");
    job += word >> 2U;
    if (in_.ok()) state_.dependents_.ended(JobId(job), static_cast<JobEnd>(word & 3U));
  }
}

void StateReader::read_mix() {
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    const auto shape = in_.index<ShapeIndex>(state_.shapes_.size(), "a shape");
    const auto count = static_cast<std::uint32_t>(in_.number_to(UINT32_MAX, "a count"));
    state_.mix_.push_back({shape, count});
  }
  state_.mix_version_ = in_.number();
  state_.mix_learned_ = in_.byte() != 0;
  const std::uint64_t seen = in_.number();
  std::vector<std::uint32_t> counts;
  std::uint64_t all = 0;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    const std::uint64_t most = limits::arrivals_window - all;
    counts.push_back(static_cast<std::uint32_t>(in_.number_to(most, "a count of arrivals")));
    all += counts.back();
  }
  if (counts.size() > state_.shapes_.size()) refuse("more counts than shapes");
  state_.arrivals_.restore(std::move(counts), seen);
}

// --- What follows -------------------------------------------------------------------------------

/// Whom it waits for: what has started has come true for whom a start is enough.
void StateReader::await_others(const Job& job) {
  for (const Dependency& each : job.spec->rules.after) {
    const JobIndex other = state_.find(each.job);
    if (!other.valid()) continue;
    if (each.on == Dependency::On::start && state_.jobs_[other].started) continue;
    state_.dependents_.add(each.job, job.id);
  }
}

void StateReader::book() {
  for (std::size_t at = 0; at < state_.jobs_.size(); ++at) {
    const Job& job = state_.jobs_[JobIndex(at)];
    if (job.id.valid() && !job.spec->rules.after.empty()) await_others(job);
  }
  state_.usage_ = state_.unused();
  for (std::size_t at = 0; at < queue_lanes_.size(); ++at) {
    state_.queue_usage_[at].lanes.resize(queue_lanes_[at]);
  }
  for (std::size_t at = 0; at < state_.tasks_.size() && in_.ok(); ++at) {
    const Task& task = state_.tasks_[TaskIndex(at)];
    if (task.gang.valid() && holds(task.phase)) hold(task);
  }
}

void StateReader::hold(const Task& task) {
  const ShapeRow& row = state_.shape(task.shape);
  const Usage& usage = state_.usage_;
  bool possible = true;
  for (const Resources::Amount& part : row.request) {
    possible &= usage.free(task.node, part.lane) - part.amount > -held_most;
  }
  task.devices.each([&](unsigned ordinal) {
    const std::uint32_t device = state_.fleet_.device_begin(task.node) + ordinal;
    const Hold& each = row.hold[state_.fleet_.device_type(device).value()];
    possible &= each.memory_mib <= INT32_MAX - usage.used_mib(device);
  });
  if (!possible) {
    refuse("more is held than there can be");
    return;
  }
  state_.usage_.hold(state_.fleet_, task.shape, row, task.node, task.devices);
  charge(task);
}

void StateReader::charge(const Task& task) {
  const ShapeRow& row = state_.shape(task.shape);
  QueueIndex queue = state_.jobs_[state_.gangs_[task.gang].job].queue;
  for (; queue.valid(); queue = state_.queue(queue).parent) {
    QueueUsage& usage = state_.queue_usage_[queue.value()];
    for (const Resources::Amount& part : row.request) {
      if (usage.lanes.size() <= part.lane.value()) {
        refuse("a queue holds a resource that it does not list");
        return;
      }
      std::int64_t& held = usage.lanes[part.lane.value()];
      held += part.amount;
      if (held > held_most) refuse("more is held than there can be");
    }
    usage.gpu_milli += row.gpu_milli;
  }
}

}  // namespace tutti
