/// The journal and the backend of a scenario.
#include <algorithm>

#include "sim/scenario_world.h"

namespace tutti {
namespace {

constexpr std::int32_t terminated = 143;  ///< Exit code of a task that was told to stop.

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
  std::uint32_t& newest = newest_[action.task];
  if (action.attempt <= newest) return;  // Ordered before: one effect, however often it is sent.
  newest = action.attempt;
  const auto known = tasks_.find(action.task);
  if (known != tasks_.end() && !known->second.ended) {
    violation_ = "task " + to_string(action.task) + " starts while attempt " +
                 std::to_string(known->second.attempt) + " still runs";
    return;
  }
  if (refuses(action.task)) {
    send(now_, {.event = TaskRefused{action.task, action.attempt, "the node said no"}});
    return;
  }
  tasks_[action.task] = {.attempt = action.attempt, .node = state.fleet().node(action.node).name};
  send(now_ + start_,
       {.event = TaskStarted{action.task, action.attempt}, .only_while_running = true});
  const Duration length = scenario_.jobs[action.task.job.value()].length;
  if (length.us == 0) return;
  send(now_ + start_ + length,
       {.event = TaskExited{action.task, action.attempt, 0}, .only_while_running = true});
}

void ScenarioBackend::stop(const Action& action) {
  const auto known = tasks_.find(action.task);
  const bool here = known != tasks_.end() && known->second.attempt == action.attempt;
  if (here && known->second.ended) return;  // Its end was said, or will be.
  // Where nothing of it is, it has stopped.
  send(now_ + (here ? stop_ : Duration{}),
       {.event = TaskExited{action.task, action.attempt, terminated},
        .only_while_running = here,
        .stopped = true});
}

std::vector<Backend::Observed> ScenarioBackend::observe() {
  std::vector<Observed> out;
  for (const auto& [task, running] : tasks_) {
    out.push_back({task, running.attempt, !running.ended, running.exit_code});
  }
  return out;
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
    const auto [task, attempt] = subject_of(due.event);
    const auto known = tasks_.find(task);
    const bool runs =
        known != tasks_.end() && known->second.attempt == attempt && !known->second.ended;
    if (due.only_while_running && !runs) continue;
    const auto* exited = std::get_if<TaskExited>(&due.event);
    if (exited != nullptr && runs) {
      known->second.ended = true;
      known->second.exit_code = exited->exit_code;
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
    if (exited != nullptr && !due.stopped) said_ended_.insert(task);
    history_.push_back(due.event);
    out.push_back(due.event);
  }
  return out;
}

bool ScenarioBackend::finish(const TaskId& task, std::int32_t exit_code) {
  const auto known = tasks_.find(task);
  if (known == tasks_.end() || known->second.ended) return false;
  send(now_,
       {.event = TaskExited{task, known->second.attempt, exit_code}, .only_while_running = true});
  return true;
}

void ScenarioBackend::lose_node(const std::string& node) {
  std::erase_if(tasks_, [&](const auto& entry) { return entry.second.node == node; });
}

void ScenarioBackend::refuse(const ScenarioStep& step) {
  refused_.insert(step.tasks.begin(), step.tasks.end());
  if (step.tasks.empty()) refusals_ += step.number;
}

void ScenarioBackend::delay(const ScenarioStep& step) {
  for (const TaskId& task : step.tasks) late_[task] = step.duration;
}

void ScenarioBackend::duplicate(const ScenarioStep& step) {
  const std::set<TaskId> wanted(step.tasks.begin(), step.tasks.end());
  for (const Event& event : history_) {
    if (!wanted.empty() && !wanted.contains(subject_of(event).task)) continue;
    send(now_, {.event = event, .again = true});
  }
}

void ScenarioBackend::report_ended_again() {
  for (const auto& [task, running] : tasks_) {
    if (!running.ended) continue;
    said_ended_.insert(task);
    send(now_, {.event = TaskExited{task, running.attempt, running.exit_code}, .again = true});
  }
}

}  // namespace tutti
