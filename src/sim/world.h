/// A world in virtual time: tasks that start, run and end, and a backend that misbehaves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"
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

 private:
  std::map<std::pair<Instant, std::uint64_t>, Event> queue_;
  std::uint64_t next_ = 0;
};

/// Obeys the contract of a Backend, but no more: slow, refusing, lying, repeating itself.
class SimBackend final : public Backend {
 public:
  SimBackend(EventQueue& queue, Faults& faults) : queue_(queue), faults_(faults) {}

  void execute(const Action& action, const State& state) override;
  std::vector<Observed> observe() override;

  void set_now(Instant now) { now_ = now; }
  /// The node's tasks are gone with it, unheard.
  void lose_node(const std::string& node);
  /// Reports again what ended and may not have been heard of.
  void report_ended_again(const State& state);
  /// What it saw that must never happen, or empty.
  const std::string& violation() const { return violation_; }
  std::size_t running() const { return tasks_.size(); }

 private:
  struct Running {
    std::uint32_t attempt = 0;
    std::string node;
    Instant ends;
    std::int32_t exit_code = 0;
  };

  void start(const Action& action, const State& state);
  void stop(const Action& action);
  void report(Instant at, const Event& event);

  EventQueue& queue_;
  Faults& faults_;
  Instant now_;
  std::map<TaskId, Running> tasks_;
  std::map<TaskId, std::uint32_t> newest_;  ///< The newest attempt that was ever ordered.
  std::string violation_;
};

}  // namespace tutti
