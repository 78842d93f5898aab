/// Everything that can change the world: the alphabet of the journal and of the simulator.
///
/// Each alternative has a stable number, its `tag`, that is never given to another meaning. Fields
/// are only added, with defaults that mean what their absence meant.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "model/action.h"
#include "model/fleet.h"
#include "model/job.h"
#include "model/queue.h"

namespace tutti {

/// A node joined, or its description changed.
struct NodeReported {
  static constexpr std::uint16_t tag = 1;
  NodeSpec node;
};

/// A node is gone, and what ran there has stopped: its own side said so, or its lease ran out.
struct NodeLost {
  static constexpr std::uint16_t tag = 2;
  std::string node;
};

/// An operator's word; a report that knows nothing of it does not take it back.
struct NodeCordoned {
  static constexpr std::uint16_t tag = 3;
  std::string node;
  bool cordoned = true;
  bool drain = false;  ///< What runs there is stopped, and starts elsewhere.
};

struct DeviceHealthChanged {
  static constexpr std::uint16_t tag = 4;
  std::string node;
  std::uint16_t ordinal = 0;  ///< Among Fleet::devices, whatever the order of later reports.
  Health health = Health::online;
};

struct TreesDeclared {
  static constexpr std::uint16_t tag = 5;
  std::vector<TreeSpec> trees;
};

struct QueueSet {
  static constexpr std::uint16_t tag = 6;
  QueueSpec queue;
};

struct JobSubmitted {
  static constexpr std::uint16_t tag = 7;
  JobId id;
  std::shared_ptr<const JobSpec> spec;
  std::string request;  ///< That it came with, as the API names it; State knows nothing of it.
};

struct JobCancelled {
  static constexpr std::uint16_t tag = 8;
  JobId id;
};

/// Somebody does not want it to start, or no longer minds. What runs of it goes on.
struct JobHeld {
  static constexpr std::uint16_t tag = 14;
  JobId id;
  bool held = true;
};

/// A cycle ended: from now on its holdings are booked.
struct PlanDecided {
  static constexpr std::uint16_t tag = 9;
  std::vector<Action> actions;
};

struct TaskStarted {
  static constexpr std::uint16_t tag = 10;
  TaskId task;
  std::uint32_t attempt = 0;
};

/// The task is over; its resources are free.
struct TaskExited {
  static constexpr std::uint16_t tag = 11;
  TaskId task;
  std::uint32_t attempt = 0;
  std::int32_t exit_code = 0;
  ExitCause cause = ExitCause::exited;
};

/// The backend would not start it: nothing runs, and the gang must be placed anew.
struct TaskRefused {
  static constexpr std::uint16_t tag = 12;
  TaskId task;
  std::uint32_t attempt = 0;
  std::string reason;
};

/// The task is on a node, whatever was decided: those who run it, or others, have put it there.
/// That is its next attempt, unless it is held there already.
struct TaskBound {
  static constexpr std::uint16_t tag = 16;
  TaskId task;
  std::string node;
};

/// The mix of tasks that the fleet should stay able to take; weights are counts.
struct MixSet {
  static constexpr std::uint16_t tag = 13;
  struct Entry {
    TaskShape shape;
    std::uint32_t count = 0;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::vector<Entry> entries;
  bool learned = false;  ///< From what was submitted; else somebody said so.
};

/// Timers are due. Nothing else makes them run, so a replay needs no clock.
struct TimePassed {
  static constexpr std::uint16_t tag = 15;
};

using Event = std::variant<NodeReported, NodeLost, NodeCordoned, DeviceHealthChanged, TreesDeclared,
                           QueueSet, JobSubmitted, JobCancelled, PlanDecided, TaskStarted,
                           TaskExited, TaskRefused, MixSet, JobHeld, TimePassed, TaskBound>;

/// The word for an event in journals, scenarios and messages: "node_reported".
std::string_view name_of(const Event& event);
std::uint16_t tag_of(const Event& event);

}  // namespace tutti
