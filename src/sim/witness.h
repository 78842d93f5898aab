/// Watches State from outside, before and after each step of an engine, for the rare paths that
/// lead through State (sched/rare_paths.h).
#pragma once

#include <cstdint>

#include "model/state.h"
#include "sched/plan.h"
#include "sched/rare_paths.h"

namespace tutti {

class Witness {
 public:
  /// `state` is what the event will meet. O(tasks) for what concerns a whole job or node.
  void before(const State& state, const Event& event);
  /// `state` is what the event and the plan have left.
  void after(const State& state, const Event& event, const Plan& plan);
  const RarePaths& seen() const { return seen_; }

 private:
  /// Is the report about what the task is doing now? Counts why not.
  bool is_news(const State& state, const TaskId& task, std::uint32_t attempt);
  void hear(const State& state, const TaskStarted& report);
  void hear(const State& state, const TaskExited& report);
  void hear(const State& state, const TaskRefused& report);
  void hear(const State& state, const JobCancelled& event);
  void hear(const State& state, const DeviceHealthChanged& event);
  void see_placed(const State& state, const Event& event, const Action& action);

  RarePaths seen_;
  std::uint64_t mixes_before_ = 0;  ///< The version of the target mix that the event met.
};

}  // namespace tutti
