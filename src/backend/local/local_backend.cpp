#include "backend/local/local_backend.h"

#include <sys/epoll.h>

#include <utility>

#include "base/check.h"
#include "model/state.h"

namespace tutti {
namespace {

/// The world's word for how it ended; that it was to end, the engine knows itself.
ExitCause cause_of(const TaskEnd& end) {
  switch (end.cause) {
    case EndCause::out_of_memory:
      return ExitCause::out_of_memory;
    case EndCause::keeper_killed:
    case EndCause::machine_restarted:
      return ExitCause::lost;
    case EndCause::ended:
      return end.signal != 0 ? ExitCause::signalled : ExitCause::exited;
    default:  // It was told to end, and what it returned then may have been 0.
      return ExitCause::signalled;
  }
}

Event event_of(TaskReport report) {
  const TaskId& task = report.id.task;
  switch (report.kind) {
    case TaskReport::Kind::started:
      return TaskStarted{task, report.id.attempt};
    case TaskReport::Kind::refused:
      return TaskRefused{task, report.id.attempt, std::move(report.end.reason)};
    case TaskReport::Kind::ended:
      break;
  }
  return TaskExited{task, report.id.attempt, report.end.exit_code, cause_of(report.end)};
}

void wait_for(const Descriptor& events, int descriptor) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
  CHECK(::epoll_ctl(events.get(), EPOLL_CTL_ADD, descriptor, &event) == 0);
}

}  // namespace

LocalBackend::LocalBackend(LocalTasks& tasks, MakeOrder make_order)
    : tasks_(tasks), make_order_(std::move(make_order)), events_(::epoll_create1(EPOLL_CLOEXEC)) {
  wait_for(events_, tasks_.wake_fd());
}

void LocalBackend::follow(DeviceWatch& cards, std::string node) {
  cards_ = &cards;
  node_ = std::move(node);
  wait_for(events_, cards.wake_fd());
}

void LocalBackend::execute(const Action& action, const State& state) {
  const AttemptId id{.task = action.task, .attempt = action.attempt};
  if (action.kind == ActionKind::evict) return tasks_.stop(id);
  if (action.kind != ActionKind::place) return;
  const Result<LaunchOrder> order = make_order_(action, state);
  if (!order) return tasks_.refuse(id, order.error().what);
  // Where it fails, a report says so.
  disregard(tasks_.start(id, *order));
}

std::vector<Backend::Observed> LocalBackend::observe() {
  std::vector<Observed> out;
  for (const LocalTasks::Seen& each : tasks_.observe()) {
    if (each.phase == LocalTasks::Phase::refused) continue;
    out.push_back({.task = each.id.task,
                   .attempt = each.id.attempt,
                   .running = each.phase != LocalTasks::Phase::ended,
                   .exit_code = each.exit_code});
  }
  return out;
}

std::vector<Event> LocalBackend::take_events() {
  std::vector<Event> out;
  for (TaskReport& report : tasks_.take_reports()) out.push_back(event_of(std::move(report)));
  if (cards_ == nullptr) return out;
  for (const DeviceWatch::Change& change : cards_->take()) {
    out.push_back(DeviceHealthChanged{node_, change.ordinal, change.health});
  }
  return out;
}

void LocalBackend::acknowledge(std::span<const Event> events) {
  for (const Event& event : events) {
    if (const auto* exited = std::get_if<TaskExited>(&event)) {
      tasks_.acknowledge({.task = exited->task, .attempt = exited->attempt});
    } else if (const auto* refused = std::get_if<TaskRefused>(&event)) {
      tasks_.acknowledge({.task = refused->task, .attempt = refused->attempt});
    }
  }
}

std::vector<AttemptId> LocalBackend::over() const {
  std::vector<AttemptId> out;
  for (const LocalTasks::Seen& each : tasks_.observe()) {
    if (LocalTasks::is_over(each.phase) && each.acknowledged) out.push_back(each.id);
  }
  return out;
}

void LocalBackend::forget(std::span<const AttemptId> attempts) {
  // What cannot be removed now is over the next time, too.
  for (const AttemptId& each : attempts) disregard(tasks_.forget(each));
}

}  // namespace tutti
