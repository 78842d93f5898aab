/// How each event changes State. Private to model/: everyone else calls State::apply.
#pragma once

#include "model/state.h"

namespace tutti {

class StateApply {
 public:
  explicit StateApply(State& state) : state_(state) {}

  void operator()(const NodeReported& event);
  void operator()(const NodeLost& event);
  void operator()(const NodeCordoned& event);
  void operator()(const DeviceHealthChanged& event);
  void operator()(const TreesDeclared& event);
  void operator()(const QueueSet& event);
  void operator()(const JobSubmitted& event);
  void operator()(const JobCancelled& event);
  void operator()(const JobHeld& event);
  void operator()(const PlanDecided& event);
  void operator()(const TaskStarted& event);
  void operator()(const TaskExited& event);
  void operator()(const TaskRefused& event);
  void operator()(const MixSet& event);

 private:
  enum class Sign : std::int8_t { hold = 1, release = -1 };

  void changed(Change::Kind kind, std::uint32_t index) { state_.changes_.push({kind, index}); }
  void node_changed(NodeIndex node);
  void fleet_grew();

  /// Books what the task asks for on its node and queue, or takes it off the books.
  void book(const Task& task, Sign sign);
  void charge(const Task& task, Sign sign);
  /// Calls `change` on each task that holds something on the node.
  template <class Visit>
  void each_task_on(NodeIndex node, Visit&& visit);

  void place(const Action& action);
  void evict(const Action& action);
  void moved(TaskIndex task);
  /// The task's row if the report is about what it is doing now, else none.
  TaskIndex current(const TaskId& id, std::uint32_t attempt) const;
  /// Frees what the task holds; it waits again, or is over.
  void leave(TaskIndex task, TaskPhase phase);
  void count_arrivals(const Job& job, const GangSpec& spec, const GangShape& shape);
  void link_queue(QueueIndex queue);
  void cancel_pending(JobIndex job);
  void forget_if_done(JobIndex job);

  State& state_;
};

}  // namespace tutti
