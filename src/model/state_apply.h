/// How each event changes State. Private to model/: everyone else calls State::apply.
#pragma once

#include "model/state.h"

namespace tutti {

/// Is the dependency fulfilled by a job that ended so? Else it never will be.
bool true_at(Dependency::On on, JobEnd end);

/// Can State take such a job, for all that can be said of it alone?
Result<void> check_spec(const JobSpec& spec);
Result<void> check_shape(const std::string& role, const TaskShape& shape);

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
  void operator()(const TimePassed& event);
  void operator()(const TaskBound& event);
  /// What follows from jobs that ended for those that wait for them. Call it last.
  void finish();

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
  void moved(TaskIndex task, Why why = Why::itself);
  /// The task's row if the report is about what it is doing now, else none.
  TaskIndex current(const TaskId& id, std::uint32_t attempt) const;
  /// Frees what the task holds; it waits again, or is over. `then`: what follows for its gang.
  void leave(TaskIndex task, TaskPhase phase, std::optional<GangRule::Then> then = {});
  /// It was stopped, or is lost, without having ended by itself.
  void leave_stopped(TaskIndex task);
  void count_arrivals(const Job& job, const GangSpec& spec, const GangShape& shape);
  void link_queue(QueueIndex queue);
  void cancel_pending(JobIndex job, Why why);
  void forget_if_done(JobIndex job);

  // --- What follows from a job's rules: state_rules.cpp ---

  /// What a task is that ended with this code; or was stopped, or lost, without having ended.
  TaskPhase phase_after(const Task& task, std::int32_t exit_code) const;
  TaskPhase phase_when_stopped(const Task& task) const;
  /// What is to follow for its gang, if anything.
  std::optional<GangRule::Then> rule_for(const Task& task, GangRule::When when,
                                         std::int32_t exit_code) const;
  const GangShape::Role& role_of(const Task& task) const;
  /// Tasks of its role that are in this phase.
  std::uint32_t count_in_role(const Task& task, TaskPhase phase) const;
  bool can_stand_without(const Task& task) const;
  /// Have all other tasks of its role ended well?
  bool last_of_role(const Task& task) const;
  void carry_out(GangIndex gang, GangRule::Then then);
  /// What holds nothing ends at once; a cycle stops the rest.
  void doom(GangIndex gang, Fate fate, Why why);
  void restart(GangIndex gang);
  void begin_pause(GangIndex gang);
  /// After what became of its tasks.
  void settle_gang(GangIndex gang);
  void admit_next(JobIndex job);
  /// And counts it; what it holds is another matter.
  void set_phase(TaskIndex task, TaskPhase phase, Why why);
  void start_timer(GangIndex gang);
  void begin_waiting(JobIndex job);
  /// It started, or has ended.
  void tell_dependents(JobId job, bool had_started, std::optional<JobEnd> end);
  void gangs_changed(const Job& job);

  struct Over {
    JobId id;
    JobEnd end = JobEnd::succeeded;
    bool started = false;
  };
  std::vector<Over> over_;    ///< Jobs that ended with this event ...
  std::vector<JobId> never_;  ///< ... and those that can never start because of it.
  State& state_;
};

}  // namespace tutti
