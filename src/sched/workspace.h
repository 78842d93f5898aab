/// Derived tables that outlive a cycle: what makes the next decision cheap.
///
/// Everything here can be recomputed from State, and throwing it away between two cycles changes no
/// plan. It holds a mirror of usage on which a cycle tries things out, an index per task class, the
/// policies built for this fleet, and the waiting gangs in order. `sync` repairs all of it from
/// State's change log.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/action.h"
#include "sched/classes.h"
#include "sched/pending.h"
#include "sched/policy.h"
#include "sched/rare_paths.h"

namespace tutti {

class Workspace {
 public:
  /// The factory must outlive the workspace.
  explicit Workspace(const PolicyFactory& factory) : factory_(&factory) {}

  /// Makes everything true for `state`. O(changes since the last sync).
  void sync(const State& state);

  View view(const State& state) const { return {state, usage_, held_}; }
  const PolicySet& policies() const { return classes_.policies(); }
  Pending& pending() { return pending_; }
  std::vector<GangIndex>& broken() { return broken_; }

  // What classes.h knows, about State as this workspace sees it.
  const TaskClass& task_class(const State& state, ShapeIndex shape) {
    return classes_.task_class(view(state), shape);
  }
  bool indexed(const State& state, ShapeIndex shape) {
    return classes_.indexed(view(state), shape);
  }
  bool opened_by_others(const State& state, ShapeIndex shape) {
    return classes_.opened_by_others(view(state), shape);
  }
  bool shut_out(const State& state, ShapeIndex shape) {
    return classes_.shut_out(view(state), shape);
  }
  /// Do tasks of the one shape count in a tally of the other's class?
  bool counts(ShapeIndex counted, ShapeIndex in) const {
    bool found = false;
    classes_.each_counting(counted, [&](ShapeIndex of) { found |= of == in; });
    return found;
  }
  NodeIndex best(const State& state, ShapeIndex shape) { return classes_.best(view(state), shape); }
  NodeIndex best_among(const State& state, ShapeIndex shape, std::span<const NodeIndex> nodes) {
    return classes_.best_among(view(state), shape, nodes);
  }
  NodeIndex best_by_scan(const State& state, ShapeIndex shape) {
    return classes_.best_by_scan(view(state), shape);
  }
  Permille rate(const State& state, ShapeIndex shape, NodeIndex node) {
    return classes_.rate(view(state), shape, node);
  }
  ClassIndex::Rating rating(const State& state, ShapeIndex shape, NodeIndex node) {
    return classes_.rating(view(state), shape, node);
  }
  /// Valid until the next sync.
  const Domains& domains(const State& state, std::string_view level) {
    return *classes_.domains(state.fleet(), level);
  }

  /// Trying things out; a Txn keeps these balanced.
  void hold(const State& state, ShapeIndex shape, NodeIndex node, const DeviceSet& devices);
  void release(const State& state, ShapeIndex shape, NodeIndex node, const DeviceSet& devices);
  std::vector<QueueUsage>& queue_usage() { return queue_usage_; }
  /// These placements stay: whom their tasks concern may be opened a place.
  void settle(const State& state, std::span<const Action> actions);

  void took(RarePath path) { rare_paths_.count(path); }
  /// All that was taken since the workspace was made.
  RarePaths rare_paths() const;

 private:
  void rebuild(const State& state);
  void sync_change(const State& state, const Change& change);
  void refresh_node(const State& state, NodeIndex node);
  void move_tasks(const State& state, NodeIndex node);
  void company_changed(const State& state, ShapeIndex counted);
  void wake_forgotten(const State& state);

  const PolicyFactory* factory_;
  bool built_ = false;
  std::uint64_t synced_ = 0;
  Usage usage_;
  std::vector<QueueUsage> queue_usage_;
  std::uint64_t held_ = 0;  ///< On trial, since the last sync.

  Classes classes_;
  Pending pending_;
  std::vector<GangIndex> broken_;  ///< Gangs to look at for repair: a member was lost.
  RarePaths rare_paths_;           ///< Without those of `classes_`.
};

}  // namespace tutti
