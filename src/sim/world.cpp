#include "sim/world.h"

#include <optional>

namespace tutti {

Event EventQueue::take() {
  Event event = std::move(queue_.begin()->second);
  queue_.erase(queue_.begin());
  return event;
}

void SimBackend::execute(const Action& action, const State& state) {
  if (faults_.fires(Fault::order_lost)) return;
  const int times = faults_.fires(Fault::order_twice) ? 2 : 1;
  for (int at = 0; at < times; ++at) {
    if (action.kind == ActionKind::place) start(action, state);
    if (action.kind == ActionKind::evict) stop(action);
  }
}

void SimBackend::start(const Action& action, const State& state) {
  Attempt* attempt = attempts_.placed(action, state, now_);
  if (attempt == nullptr) return answer(action);
  if (faults_.fires(Fault::launch_refused)) {
    attempt->refused = true;
    return answer(action);
  }
  attempt->begins = faults_.fires(Fault::launch_slow)
                        ? now_ + Duration::seconds(20 + faults_.prng().below(60))
                        : soon(500);
  const Duration length = length_ + Duration::seconds(faults_.prng().below(120));
  attempt->end(attempt->begins + length, faults_.prng().chance(50) ? 1 : 0);
  report(attempt->begins, TaskStarted{action.task, action.attempt});
  report(attempt->ends, TaskExited{action.task, action.attempt, attempt->exit_code});
}

void SimBackend::stop(const Action& action) {
  Attempt* attempt = attempts_.evicted(action, now_);
  if (attempt == nullptr || attempt->over(now_)) return answer(action);
  const Instant signal = soon(2000);
  if (attempt->ends <= signal) return;  // It ends by itself before, and says so.
  withdraw(action.task, action.attempt, attempt->begins <= signal);
  attempt->stop(signal);
  report(signal, TaskExited{action.task, action.attempt, attempt->exit_code});
}

void SimBackend::finish(const TaskId& task, std::int32_t exit_code) {
  const std::uint32_t attempt = attempts_.current(task, now_);
  withdraw(task, attempt, true);
  attempts_.find(task, attempt)->end(now_, exit_code);
  report(now_, TaskExited{task, attempt, exit_code});
}

/// The end that an attempt would have had, and the start if it has not begun, do not come true.
void SimBackend::withdraw(const TaskId& task, std::uint32_t attempt, bool begun) {
  queue_.withdraw([&](const Event& event) {
    if (const auto* exited = std::get_if<TaskExited>(&event)) {
      return exited->task == task && exited->attempt == attempt;
    }
    const auto* started = std::get_if<TaskStarted>(&event);
    return !begun && started != nullptr && started->task == task && started->attempt == attempt;
  });
}

/// Says what is true, shortly.
void SimBackend::answer(const Action& action) {
  const std::optional<Event> known = attempts_.answer(action.task, action.attempt, now_);
  if (known) report(soon(500), *known);
}

void SimBackend::report(Instant at, const Event& event) {
  if (std::holds_alternative<TaskRefused>(event) && faults_.fires(Fault::refusal_lost)) return;
  if (std::holds_alternative<TaskStarted>(event) && faults_.fires(Fault::start_lost)) return;
  if (std::holds_alternative<TaskExited>(event) && faults_.fires(Fault::exit_lost)) return;
  if (faults_.fires(Fault::report_late)) {
    at = at + Duration::seconds(1 + faults_.prng().below(40));
  }
  queue_.send(at, event);
  if (faults_.fires(Fault::report_twice)) {
    queue_.send(at + Duration::seconds(faults_.prng().below(90)), event);
  }
}

}  // namespace tutti
