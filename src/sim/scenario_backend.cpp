/// The journal and the backend of a scenario.
#include <algorithm>

#include "sim/scenario_world.h"

namespace tutti {
namespace {

struct Subject {
  TaskId task;
  std::uint32_t attempt = 0;
};

/// What a report is about.
Subject subject_of(const Event& event) {
  if (const auto* started = std::get_if<TaskStarted>(&event)) {
    return {started->task, started->attempt};
  }
  if (const auto* exited = std::get_if<TaskExited>(&event)) return {exited->task, exited->attempt};
  const auto& refused = std::get<TaskRefused>(event);
  return {refused.task, refused.attempt};
}

}  // namespace

Result<void> ScenarioJournal::append(std::span<const Event> events, Instant) {
  if (reading_) return {};
  if (std::exchange(fails_, false)) return fail(Code::io, "the journal's disk is full");
  std::vector<Event>& batch = batches_.back().events;
  batch.insert(batch.end(), events.begin(), events.end());
  return {};
}

void ScenarioBackend::execute(const Action& action, const State& state) {
  if (deaf_) return;
  placements_ += action.kind == ActionKind::place ? 1 : 0;
  evictions_ += action.kind == ActionKind::evict ? 1 : 0;
  if (action.kind == ActionKind::place) start(action, state);
  if (action.kind == ActionKind::evict) stop(action);
}

bool ScenarioBackend::refuses(const TaskId& task) {
  if (refused_.erase(task) > 0) return true;
  if (refusals_ == 0) return false;
  --refusals_;
  return true;
}

void ScenarioBackend::start(const Action& action, const State& state) {
  Attempt* attempt = attempts_.placed(action, state, now_);
  if (attempt == nullptr) return answer(action);
  if (refuses(action.task)) {
    attempt->refused = true;
    return send(now_, {.event = *attempts_.answer(action.task, action.attempt, now_)});
  }
  attempt->begins = now_ + start_;
  send(attempt->begins,
       {.event = TaskStarted{action.task, action.attempt}, .only_while_running = true});
  const Duration length = scenario_.jobs[action.task.job.value()].length;
  if (length.us == 0) return;
  send(attempt->begins + length,
       {.event = TaskExited{action.task, action.attempt, 0}, .only_while_running = true});
}

void ScenarioBackend::stop(const Action& action) {
  const Attempt* attempt = attempts_.evicted(action, now_);
  if (attempt == nullptr || attempt->over(now_)) return answer(action);
  send(now_ + stop_, {.event = TaskExited{action.task, action.attempt, Attempt::terminated},
                      .only_while_running = true,
                      .stopped = true});
}

/// Says what is true.
void ScenarioBackend::answer(const Action& action) {
  const std::optional<Event> known = attempts_.answer(action.task, action.attempt, now_);
  if (!known) return;
  const auto* exited = std::get_if<TaskExited>(&*known);
  if (exited != nullptr && !attempts_.find(action.task, action.attempt)->stopped) {
    said_ended_[action.task] = exited->exit_code;
  }
  send(now_, {.event = *known, .again = true});
}

std::optional<Instant> ScenarioBackend::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first.first;
}

std::vector<Event> ScenarioBackend::take_due(Instant now) {
  std::vector<Event> out;
  while (!due_.empty() && due_.begin()->first.first <= now) {
    const Due due = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    const auto [task, number] = subject_of(due.event);
    Attempt* attempt = attempts_.find(task, number);
    const bool runs = attempt != nullptr && !attempt->over(now);
    if (due.only_while_running && !runs) continue;
    const auto* exited = std::get_if<TaskExited>(&due.event);
    if (exited != nullptr && runs) {
      attempt->end(now, exited->exit_code);
      attempt->stopped = due.stopped;
    }
    if (due.again) {
      out.push_back(due.event);
      continue;
    }
    if (lost_.erase(task) > 0) continue;
    if (const auto late = late_.find(task); late != late_.end()) {
      send(now + late->second, {.event = due.event, .stopped = due.stopped});
      late_.erase(late);
      continue;
    }
    if (exited != nullptr && !due.stopped) said_ended_[task] = exited->exit_code;
    history_.push_back(due.event);
    out.push_back(due.event);
  }
  return out;
}

bool ScenarioBackend::finish(const TaskId& task, std::int32_t exit_code) {
  const std::uint32_t attempt = attempts_.current(task, now_);
  if (attempt == 0) return false;
  send(now_, {.event = TaskExited{task, attempt, exit_code}, .only_while_running = true});
  return true;
}

void ScenarioBackend::refuse(const ScenarioStep& step) {
  refused_.insert(step.tasks.begin(), step.tasks.end());
  if (step.tasks.empty()) refusals_ += step.number;
}

void ScenarioBackend::delay(const ScenarioStep& step) {
  for (const TaskId& task : step.tasks) late_[task] = step.duration;
}

void ScenarioBackend::end_troubles() {
  refused_.clear();
  refusals_ = 0;
  lost_.clear();
  late_.clear();
  deaf_ = false;
}

void ScenarioBackend::duplicate(const ScenarioStep& step) {
  const std::set<TaskId> wanted(step.tasks.begin(), step.tasks.end());
  for (const Event& event : history_) {
    if (!wanted.empty() && !wanted.contains(subject_of(event).task)) continue;
    send(now_, {.event = event, .again = true});
  }
}

}  // namespace tutti
