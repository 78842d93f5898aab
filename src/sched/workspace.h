/// Derived tables that outlive a cycle: what makes the next decision cheap.
///
/// Everything here can be recomputed from State, and throwing it away between two cycles changes no
/// plan. It holds a mirror of usage on which a cycle tries things out, an index per task class, the
/// policies built for this fleet, and the waiting gangs in order. `sync` repairs all of it from
/// State's change log.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "model/change_log.h"
#include "sched/class_index.h"
#include "sched/domains.h"
#include "sched/pending.h"
#include "sched/policy.h"

namespace tutti {

class Workspace {
 public:
  /// The factory must outlive the workspace.
  explicit Workspace(const PolicyFactory& factory) : factory_(&factory) {}

  /// Makes everything true for `state`. O(changes since the last sync).
  void sync(const State& state);

  View view(const State& state) const { return {state, usage_}; }
  const PolicySet& policies() const { return policies_; }
  Pending& pending() { return pending_; }
  std::vector<GangIndex>& broken() { return broken_; }

  /// The class of a shape, its description refreshed.
  const TaskClass& task_class(const State& state, ShapeIndex shape);
  /// False where other nodes matter to the class, so that no index is kept of it.
  bool indexed(const State& state, ShapeIndex shape) { return class_row(state, shape).indexed; }
  /// Can what other tasks do make the class fit where it did not? A rating that looks at everything
  /// cannot; a filter that does, can.
  bool follows_others(const State& state, ShapeIndex shape) {
    return !class_row(state, shape).fleet_filters.empty();
  }
  /// The best node for the class now; none when none fits. Repairs the class's index first.
  NodeIndex best(const State& state, ShapeIndex shape);
  /// Rating of every node by a full scan, without any index: what `best` must agree with.
  NodeIndex best_by_scan(const State& state, ShapeIndex shape);

  /// The same among some nodes only, ascending; none when none of them fits. O(nodes given).
  NodeIndex best_among(const State& state, ShapeIndex shape, std::span<const NodeIndex> nodes);
  /// Rating of one node for the class, 0 when it does not fit; only of indexed classes, and only
  /// as of the last call of `best` or `best_among`.
  ClassIndex::Rating rating(const State& state, ShapeIndex shape, NodeIndex node) {
    return class_row(state, shape).index.rating(node);
  }
  /// The domains of a level. Valid until the next sync.
  const Domains& domains(const State& state, std::string_view level);

  /// Trying things out; a Txn keeps these balanced.
  void hold(const State& state, ShapeIndex shape, NodeIndex node, const DeviceSet& devices);
  void release(const State& state, ShapeIndex shape, NodeIndex node, const DeviceSet& devices);
  std::vector<QueueUsage>& queue_usage() { return queue_usage_; }

 private:
  struct ClassRow {
    TaskClass task;
    ClassIndex index;
    std::vector<std::uint8_t> described;      ///< By node: passes what only a description decides.
    std::vector<const Filter*> node_filters;  ///< Those that concern the class, beside capacity.
    std::vector<const Filter*> description_filters;
    std::vector<const Filter*> fleet_filters;  ///< Those that look at all nodes at once.
    std::vector<const WeightedScore*> scores;
    std::uint64_t last_used = 0;
    bool indexed = false;  ///< False: other nodes matter to it, so that nothing can be kept.
  };

  void rebuild(const State& state);
  void sync_change(const State& state, const Change& change);
  void refresh_node(const State& state, NodeIndex node);
  void choose_policies(ClassRow& row) const;
  void describe(const State& state, ClassRow& row, NodeIndex node);
  ClassRow& class_row(const State& state, ShapeIndex shape);
  void repair(const State& state, ClassRow& row);
  NodeIndex best_by_scan(const State& state, ClassRow& row, std::span<const NodeIndex> nodes);
  void rate_survivors(const State& state, const ClassRow& row);
  bool passes(const View& view, const ClassRow& row, NodeIndex node) const;
  void touched(NodeIndex node);

  const PolicyFactory* factory_;
  PolicySet policies_;
  bool built_ = false;
  std::uint64_t synced_ = 0;
  std::size_t shapes_seen_ = 0;
  Usage usage_;
  std::vector<QueueUsage> queue_usage_;

  ChangeLog<NodeIndex> log_;                 ///< Nodes whose mirror changed.
  std::vector<std::uint64_t> last_touched_;  ///< By node: its newest position in the log.

  std::vector<std::unique_ptr<ClassRow>> classes_;
  std::vector<std::uint16_t> class_of_shape_;
  std::uint64_t uses_ = 0;

  std::vector<std::unique_ptr<Domains>> domains_;  ///< By level; dropped when a node changes.

  Pending pending_;
  std::vector<GangIndex> broken_;  ///< Gangs to look at for repair: a member was lost.

  std::vector<NodeIndex> all_nodes_;
  std::uint64_t tried_ = 0;  ///< Scans since the last sync.
  std::vector<NodeIndex> survivors_;
  std::vector<Permille> ratings_;  ///< Of the survivors.
  std::vector<std::uint64_t> sums_;
};

}  // namespace tutti
