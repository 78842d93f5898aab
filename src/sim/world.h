/// A world in virtual time: tasks that start, run and end, and a backend that misbehaves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/backend.h"
#include "sim/attempts.h"
#include "sim/faults.h"

namespace tutti {

/// Events that will reach the engine, by time; equal times in the order in which they were sent.
class EventQueue {
 public:
  void send(Instant at, Event event) { queue_.emplace(std::pair(at, next_++), std::move(event)); }
  bool empty() const { return queue_.empty(); }
  Instant next_at() const { return queue_.begin()->first.first; }
  /// REQUIRES: !empty().
  Event take();
  /// Takes back what was sent and is not true any more. O(size).
  template <class Void>
  void withdraw(Void&& is_void) {
    std::erase_if(queue_, [&](const auto& entry) { return is_void(entry.second); });
  }

 private:
  std::map<std::pair<Instant, std::uint64_t>, Event> queue_;
  std::uint64_t next_ = 0;
};

/// Obeys the contract of a Backend, but no more: slow, refusing, lying, repeating itself.
class SimBackend final : public Backend {
 public:
  SimBackend(EventQueue& queue, Faults& faults) : queue_(queue), faults_(faults) {}

  void execute(const Action& action, const State& state) override;
  std::vector<Observed> observe() override { return attempts_.observe(now_); }

  void set_now(Instant now) { now_ = now; }
  /// Tasks run at least so long, and at most two minutes longer.
  void set_length(Duration least) { length_ = least; }
  /// Ends the task by itself, now. REQUIRES: it runs.
  void finish(const TaskId& task, std::int32_t exit_code);
  /// The node's tasks are gone with it, unheard.
  void lose_node(const std::string& node) { attempts_.lose_node(node); }
  /// What is true, whatever was reported.
  const Attempts& attempts() const { return attempts_; }

 private:
  void start(const Action& action, const State& state);
  void stop(const Action& action);
  void answer(const Action& action);
  void report(Instant at, const Event& event);
  void withdraw(const TaskId& task, std::uint32_t attempt, bool begun);
  Instant soon(std::uint32_t within_ms) {
    return now_ + Duration::milliseconds(1 + faults_.prng().below(within_ms));
  }

  EventQueue& queue_;
  Faults& faults_;
  Instant now_;
  Duration length_ = Duration::seconds(5);
  Attempts attempts_;
};

}  // namespace tutti
