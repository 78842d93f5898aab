/// A copy of State in which things have happened, to see whether a gang would start there.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "sched/gang.h"
#include "sched/unblock.h"

namespace tutti {

class WhatIf {
 public:
  WhatIf(const State& state, GangIndex gang);

  void happen(const Unblock& fact);
  struct Taken {
    std::vector<NodeIndex> nodes;
    std::vector<QueueUsage> queues;  ///< What all queues would use then.
  };
  /// Would the gang start or grow when its turn comes? `before` becomes the jobs of others that get
  /// places in these cycles, `taken` what all of them take. What was decided has happened then.
  bool starts_in_turn(const PolicyFactory& factory, std::set<JobId>& before,
                      Taken* taken = nullptr);
  /// Takes the terms off the gang's tasks by which they must be near tasks of other gangs.
  void forget_company();
  /// Would the gang, alone, start or grow? Then `taken` says what it takes.
  Placing starts(const PolicyFactory& factory, Taken* taken = nullptr);

 private:
  GangIndex submitted();
  void stop(GangIndex gang, bool (*ends)(TaskPhase));
  void raise_limit(const Unblock& fact);
  void step_aside(JobId job);
  void place_companion(const Unblock& fact);
  void add_nodes(const Unblock& fact);
  template <class Change>
  void change_shapes(Change&& change);
  void apply(const Event& event) { state_.apply(event, state_.now()); }

  State state_;
  JobId job_;
  std::uint32_t gang_ = 0;      ///< Counts the gangs of the job.
  std::uint64_t next_job_ = 0;  ///< Of jobs that exist in the copy only.
  std::uint32_t next_node_ = 0;
  std::shared_ptr<JobSpec> changed_;  ///< The job's new spec, submitted when it is asked for.
};

/// Takes the terms off the task by which it must be near others, as if they were there; those that
/// it meets by itself stay. Were there any?
bool without_company(TaskShape& shape);

/// The node as it would be reported, whatever has become of it, but for its name.
NodeSpec description(const State& state, NodeIndex node);

}  // namespace tutti
