#include "sim/world.h"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::int32_t terminated = 143;  ///< Exit code of a task that was told to stop.

}  // namespace

Event EventQueue::take() {
  Event event = std::move(queue_.begin()->second);
  queue_.erase(queue_.begin());
  return event;
}

void SimBackend::execute(const Action& action, const State& state) {
  if (action.kind == ActionKind::place) start(action, state);
  if (action.kind == ActionKind::evict) stop(action);
}

void SimBackend::start(const Action& action, const State& state) {
  std::uint32_t& newest = newest_[action.task];
  if (action.attempt <= newest) return;  // Ordered before: one effect, however often it is sent.
  newest = action.attempt;
  const auto known = tasks_.find(action.task);
  if (known != tasks_.end() && known->second.ends > now_) {
    violation_ = "task " + to_string(action.task) + " starts while attempt " +
                 std::to_string(known->second.attempt) + " still runs";
    return;
  }
  const Duration soon = Duration::milliseconds(1 + faults_.prng().below(500));
  if (faults_.fires(Fault::launch_refused)) {
    report(now_ + soon, TaskRefused{action.task, action.attempt, "the node said no"});
    return;
  }
  const Duration delay =
      faults_.fires(Fault::launch_slow) ? Duration::seconds(20 + faults_.prng().below(60)) : soon;
  const Duration length = Duration::seconds(5 + faults_.prng().below(120));
  const std::int32_t exit_code = faults_.prng().chance(50) ? 1 : 0;
  const Instant begins = now_ + delay;
  tasks_[action.task] = {.attempt = action.attempt,
                         .node = state.fleet().node(action.node).name,
                         .ends = begins + length,
                         .exit_code = exit_code};
  if (!faults_.fires(Fault::start_lost)) report(begins, TaskStarted{action.task, action.attempt});
  if (!faults_.fires(Fault::exit_lost)) {
    report(begins + length, TaskExited{action.task, action.attempt, exit_code});
  }
}

void SimBackend::stop(const Action& action) {
  const auto known = tasks_.find(action.task);
  const Instant soon = now_ + Duration::milliseconds(1 + faults_.prng().below(2000));
  if (known == tasks_.end() || known->second.attempt != action.attempt) {
    // Nothing of it is here: then it has stopped.
    report(soon, TaskExited{action.task, action.attempt, terminated});
    return;
  }
  if (known->second.ends <= soon) return;  // It ends by itself before the signal arrives.
  known->second.ends = soon;
  known->second.exit_code = terminated;
  if (!faults_.fires(Fault::exit_lost)) {
    report(soon, TaskExited{action.task, action.attempt, terminated});
  }
}

void SimBackend::report(Instant at, const Event& event) {
  if (faults_.fires(Fault::report_late)) {
    at = at + Duration::seconds(1 + faults_.prng().below(40));
  }
  queue_.send(at, event);
  if (faults_.fires(Fault::report_twice)) {
    queue_.send(at + Duration::seconds(faults_.prng().below(90)), event);
  }
}

void SimBackend::lose_node(const std::string& node) {
  std::erase_if(tasks_, [&](const auto& entry) { return entry.second.node == node; });
}

std::vector<Backend::Observed> SimBackend::observe() {
  std::vector<Observed> out;
  for (const auto& [task, running] : tasks_) {
    out.push_back({task, running.attempt, running.ends > now_, running.exit_code});
  }
  return out;
}

void SimBackend::report_ended_again(const State& state) {
  std::erase_if(tasks_, [&](const auto& entry) {
    const TaskIndex task = state.find(entry.first);
    const bool wanted = task.valid() && holds(state.tasks()[task].phase) &&
                        state.tasks()[task].attempt == entry.second.attempt;
    return entry.second.ends <= now_ && !wanted;
  });
  for (const auto& [task, running] : tasks_) {
    if (running.ends > now_) continue;
    queue_.send(now_, TaskExited{task, running.attempt, running.exit_code});
  }
}

}  // namespace tutti
