/// What a simulated backend was ordered and what became of it: the rules about attempts that
/// engine/backend.h makes for every backend, in one place for all simulated ones.
///
/// It knows no faults and sends nothing. Its owner says when an attempt begins and ends, and
/// carries the answers. O(log attempts) for an order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/backend.h"

namespace tutti {

/// One attempt at a task, as it is in the world, whatever was reported.
struct Attempt {
  static constexpr Instant never{INT64_MAX};
  static constexpr std::int32_t terminated = 143;  ///< Exit code of what is told to stop, and does.

  std::string node;
  DeviceSet devices;
  Instant begins;
  Instant ends = never;
  std::int32_t exit_code = 0;
  bool refused = false;
  bool stopped = false;  ///< It did not end by itself.

  bool over(Instant now) const { return refused || ends <= now; }
  void end(Instant at, std::int32_t code) {
    ends = at;
    exit_code = code;
  }
  /// As what is told to.
  void stop(Instant at) {
    end(at, terminated);
    stopped = true;
  }
};

class Attempts {
 public:
  /// An order to start. The attempt, if the order has an effect; null if it comes again or late.
  Attempt* placed(const Action& order, const State& state, Instant now);
  /// An order to stop. What it is about, over at once where it is new: then it never starts. Null
  /// if it is about one that made way for a newer one.
  Attempt* evicted(const Action& order, Instant now);

  /// What is to be reported of the attempt by now: its refusal, its end or its start, if anything.
  std::optional<Event> answer(const TaskId& task, std::uint32_t number, Instant now) const;
  std::vector<Backend::Observed> observe(Instant now) const;

  /// Null when it is not known.
  Attempt* find(const TaskId& task, std::uint32_t number);
  const Attempt* find(const TaskId& task, std::uint32_t number) const;
  /// The attempt of the task that is not over, 0 for none.
  std::uint32_t current(const TaskId& task, Instant now) const;
  bool any_current(Instant now) const;
  /// What was on the node is gone, unheard.
  void lose_node(const std::string& node);
  /// What must never happen and did, or empty.
  const std::string& violation() const { return violation_; }

 private:
  struct Known {
    std::uint32_t newest = 0;                   ///< Of all that were ordered to start or to stop.
    std::map<std::uint32_t, Attempt> attempts;  ///< By number; forgotten when a newer one starts.
  };

  std::map<TaskId, Known> tasks_;
  std::string violation_;
};

}  // namespace tutti
