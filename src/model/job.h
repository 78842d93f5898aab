/// Job ▸ Gang ▸ Task: what is submitted ▸ what starts together or not at all ▸ what runs on one
/// node.
///
/// Specs are what a user wrote, immutable and shared; records are the rows of State about them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/time.h"
#include "model/device.h"
#include "model/job_rules.h"
#include "model/launch.h"
#include "model/node.h"
#include "model/queue.h"
#include "model/shape.h"

namespace tutti {

using JobIndex = Index<struct JobTag>;  ///< Row of a live job; reused after it ends.
using GangIndex = Index<struct GangTag>;
using TaskIndex = Index<struct TaskTag>;
using GangShapeIndex = Index<struct GangShapeTag>;

/// `count` equal tasks. Alternatives are tried in order: "1 H100, else 2 A100".
struct RoleSpec {
  std::string name;
  std::uint32_t count = 1;
  std::uint32_t min = 1;  ///< Fewest that make the gang worth starting.
  Labels labels;          ///< Of each task, for the selectors of others.
  std::vector<TaskShape> alternatives;
  LaunchSpec launch;
  friend bool operator==(const RoleSpec&, const RoleSpec&) = default;
};

/// Tasks of one gang that want to be near each other; `copies` of the same group stand side by
/// side.
struct GroupSpec {
  Closeness closeness;
  std::uint32_t copies = 1;
  std::vector<RoleSpec> roles;
  friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

struct GangSpec {
  std::uint32_t copies = 1;  ///< Independent gangs of this shape.
  Closeness closeness;       ///< Of the gang as a whole.
  std::vector<GroupSpec> groups;
  friend bool operator==(const GangSpec&, const GangSpec&) = default;
};

struct JobSpec {
  std::string name;
  std::string queue = "default";
  std::string user;
  std::string space;  ///< Namespace.
  std::int32_t priority = 0;
  Labels labels;
  bool held = false;  ///< Nothing of it starts before somebody releases it.
  JobRules rules;
  static constexpr Duration as_usual{-1};
  Duration ttl = as_usual;        ///< It is shown for so long after its end.
  std::vector<IndexRange> array;  ///< The numbers of its gangs, in their order; empty: no array.
  std::vector<std::shared_ptr<const GangSpec>> gangs;
};

enum class TaskPhase : std::uint8_t {
  pending,   ///< Waits for a place.
  assigned,  ///< Planned and held; the backend was told or will be.
  running,   ///< The backend says that it runs.
  stopping,  ///< It was told to stop, and holds its resources until it has.
  succeeded,
  failed,
  cancelled,
};
std::string_view to_text(TaskPhase phase);

/// How a task came to its end.
enum class ExitCause : std::uint8_t {
  exited,         ///< By itself; the code is what it returned.
  signalled,      ///< By a signal; the code is 128 and its number.
  out_of_memory,  ///< It had more memory than it asked for, or its node ran out.
  lost,           ///< Nobody saw it end.
};
std::string_view to_text(ExitCause cause);

/// Does a task in this phase hold its node's resources?
constexpr bool holds(TaskPhase phase) {
  return phase >= TaskPhase::assigned && phase <= TaskPhase::stopping;
}
/// Does a task in this phase count for its role's minimum: placed, and not about to go?
constexpr bool stands(TaskPhase phase) {
  return phase != TaskPhase::pending && phase != TaskPhase::stopping;
}
constexpr bool ended(TaskPhase phase) { return phase > TaskPhase::stopping; }

struct Task {
  GangIndex gang;
  ShapeIndex shape;  ///< The alternative in use; the first one while pending.
  NodeIndex node;    ///< Valid while it holds.
  DeviceSet devices;
  std::uint32_t attempt = 0;  ///< Counts placements; reports of older attempts are stale.
  std::uint16_t role = 0;     ///< Row of GangShape::roles.
  TaskPhase phase = TaskPhase::pending;
};

/// What is to become of a gang whose tasks are being stopped; none: they are not, or would be
/// placed anew.
enum class Fate : std::uint8_t {
  none,
  restart,   ///< It starts anew.
  failed,    ///< Without the tasks that it needs, there is no use in the rest.
  late,      ///< It ran as long as it may.
  complete,  ///< The others were there for a role that is done.
};

struct Gang {
  JobIndex job;
  GangShapeIndex shape;
  TaskIndex first_task;  ///< Its tasks are first_task, first_task + 1, ...
  std::uint32_t tasks = 0;
  std::uint32_t holding = 0;          ///< Tasks that hold resources, stopping ones included.
  std::uint32_t stopping = 0;         ///< Of those, the ones told to stop.
  std::uint32_t done = 0;             ///< Tasks that ended.
  std::uint32_t retries = 0;          ///< Times that it started anew because it failed.
  std::uint16_t refusals = 0;         ///< Launches of it that were refused, in a row ...
  std::uint32_t refused_attempt = 0;  ///< ... the last of them with this attempt of a task.
  Fate fate = Fate::none;
  bool pausing = false;  ///< A timer ends it.
  /// Tasks that still want a place.
  std::uint32_t pending() const { return tasks - holding - done; }
};

struct Job {
  JobId id;
  std::shared_ptr<const JobSpec> spec;
  QueueIndex queue;
  Instant submitted;
  GangIndex first_gang;
  TaskIndex first_task;
  std::uint32_t gangs = 0;
  std::uint32_t tasks = 0;
  std::uint32_t done = 0;      ///< Tasks that ended ...
  std::uint32_t failed = 0;    ///< ... and of those, how many badly.
  std::uint32_t awaits = 0;    ///< Dependencies that have not come true.
  std::uint32_t admitted = 0;  ///< Gangs, the first ones, that may be placed.
  bool cancelled = false;
  bool held = false;  ///< Nothing of it is placed.
  bool started = false;
};

}  // namespace tutti
