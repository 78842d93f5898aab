#include "api/job_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"
#include "dialect/workload.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, job_states> state_words{"pending", "running",   "succeeded",
                                                               "failed",  "cancelled", "held"};

/// Why a task failed, in state_words.
std::string why(std::size_t ordinal, const TaskRow& task) {
  std::string who = "task " + std::to_string(ordinal);
  if (task.why == Why::time_up) return who + " ran longer than the job's time limit";
  switch (task.cause) {
    case ExitCause::exited:
      return who + " exited with code " + std::to_string(task.exit_code);
    case ExitCause::signalled:
      return who + " was killed by signal " + std::to_string(task.exit_code - 128);
    case ExitCause::out_of_memory:
      return who + " ran out of memory";
    case ExitCause::lost:
      return who + " was lost";
  }
  return who;
}

/// Names of files may hold anything, also what would drive the terminal of whoever reads why.
std::string without_controls(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const bool control = point.value < 0x20 || (point.value >= 0x7f && point.value < 0xa0);
    const std::size_t length = std::max(point.length, 1U);
    if (point.length > 0 && !control) {
      out += text.substr(at, length);
    } else {
      for (const char byte : text.substr(at, length)) {
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    at += length;
  }
  return out;
}

}  // namespace

std::string_view to_text(JobState state) { return state_words[static_cast<std::size_t>(state)]; }

std::optional<JobState> job_state_of(std::string_view word) {
  const auto at = std::ranges::find(state_words, word);
  if (at == state_words.end()) return std::nullopt;
  return static_cast<JobState>(at - state_words.begin());
}

const JobRow* JobTable::find(JobId id) const {
  const auto at = rows_.find(id.value());
  return at == rows_.end() ? nullptr : &at->second;
}

JobRow* JobTable::live(JobId id) {
  const auto at = rows_.find(id.value());
  return at == rows_.end() || ended(at->second.state) ? nullptr : &at->second;
}

void JobTable::apply(const Happening& happening) {
  const Event& event = *happening.event;
  if (const auto* reported = std::get_if<NodeReported>(&event)) {
    if (known_nodes_.insert(reported->node.name).second) nodes_.push_back(reported->node.name);
  }
  if (const auto* submission = std::get_if<JobSubmitted>(&event)) submitted(happening, *submission);
  if (const auto* exit = std::get_if<TaskExited>(&event)) exited(*exit);
  // What the moves mean depends on whether somebody gave the job up.
  if (const auto* cancel = std::get_if<JobCancelled>(&event)) {
    if (JobRow* const row = live(cancel->id)) row->cancelled = true;
  }
  for (const TaskMove& move : happening.moves) moved(move, happening.at);
  if (const auto* cancel = std::get_if<JobCancelled>(&event)) {
    if (JobRow* const row = live(cancel->id)) settle(*row, happening.at);
  }
  if (const auto* hold = std::get_if<JobHeld>(&event)) {
    if (JobRow* const row = live(hold->id)) {
      row->held = hold->held;
      settle(*row, happening.at);
    }
  }
  if (const auto* refused = std::get_if<TaskRefused>(&event)) {
    JobRow* const row = live(refused->task.job);
    if (row == nullptr || happening.moves.empty()) return;  // It is about an old attempt.
    row->refused = "could not be started: " + without_controls(refused->reason);
    settle(*row, happening.at);
  }
}

void JobTable::submitted(const Happening& happening, const JobSubmitted& event) {
  const auto [at, fresh] = rows_.try_emplace(event.id.value());
  CHECK(fresh, event.id);
  JobRow& row = at->second;
  row.id = event.id;
  row.spec = event.spec;
  row.submitted = happening.at;
  row.held = event.spec->held;
  row.state = row.held ? JobState::held : JobState::pending;
  row.tasks.resize(tasks_of(*event.spec));
  list(row);
  next_ = std::max(next_, event.id.value() + 1);
}

void JobTable::exited(const TaskExited& event) {
  JobRow* const row = live(event.task.job);
  if (row == nullptr || event.task.ordinal >= row->tasks.size()) return;
  TaskRow& task = row->tasks[event.task.ordinal];
  if (task.attempt != event.attempt || !holds(task.phase)) return;
  task.exit_code = event.exit_code;
  task.cause = event.cause;
}

void JobTable::moved(const TaskMove& move, Instant at) {
  JobRow* const row = live(move.task.job);
  if (row == nullptr) return;
  TaskRow& task = row->tasks[move.task.ordinal];
  const auto runs = [](TaskPhase phase) { return phase == TaskPhase::running ? 1 : 0; };
  row->running += runs(move.phase) - runs(task.phase);
  row->active += (holds(move.phase) ? 1 : 0) - (holds(task.phase) ? 1 : 0);
  row->over += (ended(move.phase) ? 1 : 0) - (ended(task.phase) ? 1 : 0);
  task.phase = move.phase;
  task.attempt = move.attempt;
  if (move.node.valid()) {
    task.node = move.node;
    task.devices = move.devices;
  }
  task.why = move.why;
  if (move.phase == TaskPhase::running) {
    row->refused.clear();
    if (!row->started) row->started = at;
  }
  settle(*row, at);
}

void JobTable::settle(JobRow& row, Instant at) {
  if (row.over == row.tasks.size()) return finish(row, at);
  row.reason = row.refused;
  if (row.active > 0) {
    if (row.cancelled) row.reason = "being stopped";
    return set_state(row, JobState::running);
  }
  const auto again = std::ranges::find(row.tasks, Why::gang_restarts, &TaskRow::why);
  if (row.reason.empty() && again != row.tasks.end()) row.reason = "failed, and starts anew";
  if (row.held) return set_state(row, JobState::held);
  if (row.reason.empty() && row.started) row.reason = "must be placed anew";
  set_state(row, JobState::pending);
}

Instant JobTable::forgotten_at(const JobRow& row) const {
  const Duration own = row.spec->ttl;
  return *row.finished + std::max(own == JobSpec::as_usual ? keeping_.ended : own, shortest);
}

void JobTable::forget(Instant now) {
  while (!ends_.empty() && (ends_.begin()->first < now || ends_.size() > keeping_.most)) {
    const std::uint64_t id = ends_.begin()->second.value();
    const auto row = rows_.find(id);
    unlist(row->second);
    rows_.erase(row);
    ends_.erase(ends_.begin());
  }
}

void JobTable::finish(JobRow& row, Instant at) {
  row.finished = at;
  ends_.emplace(forgotten_at(row), row.id);
  row.reason.clear();
  const auto failed = std::ranges::find(row.tasks, TaskPhase::failed, &TaskRow::phase);
  if (failed != row.tasks.end() && !row.cancelled) {
    row.reason = row.refused.empty()
                     ? why(static_cast<std::size_t>(failed - row.tasks.begin()), *failed)
                     : row.refused;
    return set_state(row, JobState::failed);
  }
  const bool never = row.tasks.front().why == Why::never_after;
  if (never) row.reason = "what it waited for cannot come true any more";
  set_state(row, row.cancelled || never ? JobState::cancelled : JobState::succeeded);
}

void JobTable::list(const JobRow& row) {
  std::set<std::uint64_t>& alike = by_state_[static_cast<std::size_t>(row.state)];
  alike.emplace_hint(alike.end(), row.id.value());  // Mostly it is the newest.
  if (ended(row.state)) return;
  ++live_[row.spec->user];
  LiveJobs& jobs = by_queue_[row.spec->queue];
  ++(row.state == JobState::running ? jobs.running : jobs.waiting);
}

void JobTable::unlist(const JobRow& row) {
  by_state_[static_cast<std::size_t>(row.state)].erase(row.id.value());
  if (ended(row.state)) return;
  const auto live = live_.find(row.spec->user);
  if (--live->second == 0) live_.erase(live);
  LiveJobs& jobs = by_queue_[row.spec->queue];
  --(row.state == JobState::running ? jobs.running : jobs.waiting);
}

void JobTable::set_state(JobRow& row, JobState state) {
  if (row.state == state) return;
  unlist(row);
  row.state = state;
  list(row);
}

}  // namespace tutti
