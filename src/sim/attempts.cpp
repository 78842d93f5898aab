#include "sim/attempts.h"

#include <algorithm>
#include <utility>

namespace tutti {

Attempt* Attempts::placed(const Action& order, const State& state, Instant now) {
  Known& known = tasks_[order.task];
  if (order.attempt <= known.newest) return nullptr;
  known.newest = order.attempt;
  if (const std::uint32_t other = current(order.task, now); other != 0) {
    violation_ = "task " + to_string(order.task) + " starts while attempt " +
                 std::to_string(other) + " still runs";
    return nullptr;
  }
  known.attempts.clear();
  return &known.attempts
              .try_emplace(order.attempt, Attempt{.node = state.fleet().node(order.node).name,
                                                  .devices = order.devices,
                                                  .begins = now})
              .first->second;
}

Attempt* Attempts::evicted(const Action& order, Instant now) {
  Known& known = tasks_[order.task];
  if (order.attempt > known.newest) {
    known.newest = order.attempt;
    known.attempts[order.attempt].stop(now);
  }
  return find(order.task, order.attempt);
}

std::optional<Event> Attempts::answer(const TaskId& task, std::uint32_t number, Instant now) const {
  const Attempt* attempt = find(task, number);
  if (attempt == nullptr) return std::nullopt;
  if (attempt->refused) return TaskRefused{task, number, "the node said no"};
  if (attempt->over(now)) return TaskExited{task, number, attempt->exit_code};
  if (attempt->begins <= now) return TaskStarted{task, number};
  return std::nullopt;
}

std::vector<Backend::Observed> Attempts::observe(Instant now) const {
  std::vector<Backend::Observed> out;
  for (const auto& [task, known] : tasks_) {
    for (const auto& [number, attempt] : known.attempts) {
      if (attempt.refused) continue;
      const bool running = !attempt.over(now);
      out.push_back({task, number, running, running ? 0 : attempt.exit_code});
    }
  }
  return out;
}

const Attempt* Attempts::find(const TaskId& task, std::uint32_t number) const {
  const auto known = tasks_.find(task);
  if (known == tasks_.end()) return nullptr;
  const auto at = known->second.attempts.find(number);
  return at == known->second.attempts.end() ? nullptr : &at->second;
}

Attempt* Attempts::find(const TaskId& task, std::uint32_t number) {
  return const_cast<Attempt*>(std::as_const(*this).find(task, number));
}

std::uint32_t Attempts::current(const TaskId& task, Instant now) const {
  const auto known = tasks_.find(task);
  if (known == tasks_.end()) return 0;
  for (const auto& [number, attempt] : known->second.attempts) {
    if (!attempt.over(now)) return number;
  }
  return 0;
}

bool Attempts::any_current(Instant now) const {
  return std::ranges::any_of(tasks_,
                             [&](const auto& entry) { return current(entry.first, now) != 0; });
}

void Attempts::lose_node(const std::string& node) {
  for (auto& [task, known] : tasks_) {
    std::erase_if(known.attempts, [&](const auto& entry) { return entry.second.node == node; });
  }
}

}  // namespace tutti
