/// State: the fold of all events. `apply` is the only way to change it.
///
/// Invariants, checked by `verify()` and, where cheap, on every event: what tasks hold equals what
/// usage says is held; a device is never held beyond one whole; a gang's counts equal its tasks'.
/// State knows nothing of policies and makes no decisions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "model/arrivals.h"
#include "model/change_log.h"
#include "model/dependents.h"
#include "model/event.h"
#include "model/fleet.h"
#include "model/job.h"
#include "model/rows.h"
#include "model/task_move.h"
#include "model/timers.h"
#include "model/usage.h"

namespace tutti {

/// A gang's roles and groups with their shapes interned and copies of groups unrolled.
struct GangShape {
  struct Role {
    std::uint32_t group = 0;       ///< Row of `groups`.
    std::uint32_t first_task = 0;  ///< Offset among the gang's tasks.
    std::uint32_t count = 0;
    std::uint32_t min = 0;
    std::vector<ShapeIndex> alternatives;
    friend bool operator==(const Role&, const Role&) = default;
  };
  struct Group {
    Closeness closeness;
    std::uint32_t first_role = 0;
    std::uint32_t roles = 0;
    friend bool operator==(const Group&, const Group&) = default;
  };
  Closeness closeness;  ///< Of the gang as a whole.
  std::vector<Group> groups;
  std::vector<Role> roles;
  std::uint32_t tasks = 0;
  std::uint32_t min = 0;  ///< Σ of the roles' minima.
  friend bool operator==(const GangShape&, const GangShape&) = default;
};

struct Queue {
  QueueSpec spec;
  QueueIndex parent;                ///< The nearest queue on its path that was declared, or none.
  std::vector<std::int64_t> limit;  ///< By lane; -1: unlimited.
  std::int64_t gpu_milli_limit = -1;
};

/// What the tasks of a queue and of all below it hold.
struct QueueUsage {
  std::vector<std::int64_t> lanes;
  std::int64_t gpu_milli = 0;
  friend bool operator==(const QueueUsage&, const QueueUsage&) = default;
};

/// What a reader of State may have to repair.
struct Change {
  enum class Kind : std::uint8_t {
    node_usage,   ///< `index` is a node: what is free there changed.
    node_static,  ///< `index` is a node: labels, taints, capacity, health, presence changed.
    fleet,        ///< Nodes were added, rows of devices moved, or types or lanes are new.
    gang,         ///< `index` is a gang that began or stopped waiting.
    queue,        ///< `index` is a queue.
    mix,          ///< The target mix is another.
  };
  Kind kind = Kind::node_usage;
  std::uint32_t index = 0;
};

class State {
 public:
  State();

  /// Why this event cannot be accepted, or nothing. Reports of backends are always acceptable:
  /// stale and unknown ones change nothing. What a person sends is checked here, before it is
  /// journaled. `before`: what comes first, if it is admissible; a job may wait for one of them.
  Result<void> admissible(const Event& event, std::span<const Event> before = {}) const;

  /// The only mutator. REQUIRES: admissible(event).
  void apply(const Event& event, Instant at);

  Instant now() const { return now_; }
  std::uint64_t version() const { return version_; }
  const Fleet& fleet() const { return fleet_; }
  const Usage& usage() const { return usage_; }
  const ChangeLog<Change>& changes() const { return changes_; }
  /// What the last event did to tasks, those of jobs that it ended included.
  std::span<const TaskMove> moves() const { return moves_; }

  std::size_t shape_count() const { return shapes_.size(); }
  const ShapeRow& shape(ShapeIndex index) const { return shapes_[index.value()]; }
  std::size_t gang_shape_count() const { return gang_shapes_.size(); }
  const GangShape& gang_shape(GangShapeIndex index) const { return gang_shapes_[index.value()]; }
  /// The row of an equal shape, where there is one. O(shape).
  std::optional<ShapeIndex> find_shape(const TaskShape& shape) const;
  std::optional<GangShapeIndex> find_shape(const GangSpec& spec) const;

  std::size_t queue_count() const { return queues_.size(); }
  const Queue& queue(QueueIndex index) const { return queues_[index.value()]; }
  const QueueUsage& queue_usage(QueueIndex index) const { return queue_usage_[index.value()]; }
  std::optional<QueueIndex> find_queue(std::string_view name) const;

  const Rows<JobIndex, Job>& jobs() const { return jobs_; }
  const Rows<GangIndex, Gang>& gangs() const { return gangs_; }
  const Rows<TaskIndex, Task>& tasks() const { return tasks_; }
  JobIndex find(JobId id) const { return job_rows_.find(id); }
  /// The row of a task, or none when its job has ended.
  TaskIndex find(const TaskId& id) const;
  TaskId id_of(TaskIndex task) const;
  std::uint64_t live_jobs() const { return live_jobs_; }
  /// When TimePassed has something to do.
  const Timers& timers() const { return timers_; }
  const Dependents& dependents() const { return dependents_; }

  struct MixRow {
    ShapeIndex shape;
    std::uint32_t count = 0;
  };
  const std::vector<MixRow>& mix() const { return mix_; }
  std::uint64_t mix_version() const { return mix_version_; }
  /// Was the mix learned from the arrivals? Else it was given, or there is none.
  bool mix_learned() const { return mix_learned_; }
  const ArrivalCounts& arrivals() const { return arrivals_; }

  /// Fingerprint of everything above. O(state).
  std::uint64_t hash() const;
  /// Usage as if no task held anything, and as the tasks make it. O(fleet), O(state).
  Usage unused() const;
  Usage recount() const;
  /// Recomputes usage from the tasks and compares. Empty when all invariants hold. O(state).
  std::string verify() const;

 private:
  friend class StateApply;
  friend class StateReader;

  ShapeIndex intern(const TaskShape& shape);
  GangShapeIndex intern(const GangSpec& spec);
  /// With rows of shapes that `row_of` gives.
  template <class RowOf>
  static GangShape unrolled(const GangSpec& spec, RowOf&& row_of);
  std::optional<GangShapeIndex> find_shape(const GangShape& shape) const;
  static std::uint64_t hash_of_gang(const GangShape& shape);
  GangShapeIndex intern_cached(const std::shared_ptr<const GangSpec>& spec);
  void resolve(ShapeRow& row) const;

  Instant now_;
  std::uint64_t version_ = 0;
  Fleet fleet_;
  Usage usage_;
  ChangeLog<Change> changes_;
  std::vector<TaskMove> moves_;

  std::vector<ShapeRow> shapes_;
  std::map<std::uint64_t, std::vector<ShapeIndex>> shapes_by_hash_;
  std::vector<GangShape> gang_shapes_;
  std::map<std::uint64_t, std::vector<GangShapeIndex>> gang_shapes_by_hash_;
  /// Specs met lately, so that jobs that share one are not compared field by field.
  struct KnownSpec {
    std::shared_ptr<const GangSpec> spec;
    GangShapeIndex shape;
  };
  std::vector<KnownSpec> known_specs_;

  std::vector<Queue> queues_;
  std::vector<QueueUsage> queue_usage_;
  std::map<std::string, QueueIndex, std::less<>> queue_by_name_;

  Rows<JobIndex, Job> jobs_;
  Rows<GangIndex, Gang> gangs_;
  Rows<TaskIndex, Task> tasks_;
  IdTable<JobId, JobIndex> job_rows_;
  std::uint64_t live_jobs_ = 0;
  Timers timers_;
  Dependents dependents_;

  std::vector<MixRow> mix_;
  std::uint64_t mix_version_ = 0;
  bool mix_learned_ = false;
  ArrivalCounts arrivals_;
};

}  // namespace tutti
