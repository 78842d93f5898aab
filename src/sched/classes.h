/// What is known about each class of tasks: which nodes it fits, how good each is, which is best.
///
/// A class is a shape of tasks as the active policies see it. Each keeps an index of all nodes
/// (class_index.h). When a node changes, a screen (screen.h) finds the classes that may fit there;
/// for the others the node is unfit at once. The node then stays warm for a while: a class that is
/// asked for rates the warm nodes, and a node that has been warm for long is rated for all classes.
/// So a node that changes again and again is rated once, and a decision costs little however long
/// ago its class was asked for last.
///
/// Filters that look at other nodes do so through tallies. Their classes are indexed without them;
/// the best nodes are then offered to these filters, one after the other, until one is accepted.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "sched/class_index.h"
#include "sched/domains.h"
#include "sched/policy.h"
#include "sched/rare_paths.h"
#include "sched/screen.h"

namespace tutti {

class Classes {
 public:
  /// Forgets all classes; these policies decide from now on.
  void reset(PolicySet policies, const View& view);
  const PolicySet& policies() const { return policies_; }

  std::size_t shapes() const { return shapes_; }
  /// State has new shapes: rows of the old ones moved, and the new ones may count for tallies.
  void shapes_changed(const State& state);
  /// Does any tally count tasks? If not, `tasks_changed` need not be called.
  bool counts_tasks() const { return !counted_by_shape_.empty(); }
  /// So many more tasks of a shape run on a node, or fewer, as usage says already.
  void tasks_changed(ShapeIndex shape, NodeIndex node, std::int64_t tasks);
  /// Calls `visit` with each shape whose class counts tasks of this one.
  template <class Visit>
  void each_counting(ShapeIndex counted, Visit&& visit) const {
    if (counted.value() >= counted_by_shape_.size()) return;
    for (const Counted& each : counted_by_shape_[counted.value()]) {
      visit(rows_[each.number]->task.shape);
    }
  }
  /// Shapes whose classes counted tasks and do so no more, since the last call.
  std::vector<ShapeIndex> forgotten() { return std::exchange(forgotten_, {}); }
  bool knows(NodeIndex node) const { return node.value() < all_nodes_.size(); }
  /// What is free on a node changed.
  void usage_changed(NodeIndex node) {
    if (stale_[node.value()] != 0) return;
    stale_[node.value()] = 1;
    stale_nodes_.push_back(node);
  }
  /// What is described of a node changed: labels, taints, health, capacity.
  void description_changed(const View& view, NodeIndex node);

  /// The class of a shape, its description refreshed.
  const TaskClass& task_class(const View& view, ShapeIndex shape) { return row(view, shape).task; }
  /// False where other nodes matter to its ratings, so that none are kept.
  bool indexed(const View& view, ShapeIndex shape) { return row(view, shape).indexed; }
  /// Can what others start make the class fit where it did not?
  bool opened_by_others(const View& view, ShapeIndex shape);

  /// Is the class shut out of all nodes until what its tallies count is another number?
  bool shut_out(const View& view, ShapeIndex shape);

  /// The best node for the class now, the lowest among equals; none when none fits.
  NodeIndex best(const View& view, ShapeIndex shape);
  /// The same among some nodes, ascending. O(nodes given).
  NodeIndex best_among(const View& view, ShapeIndex shape, std::span<const NodeIndex> nodes);
  /// The same, by a scan of all nodes and without any index: what `best` must agree with.
  NodeIndex best_by_scan(const View& view, ShapeIndex shape);
  /// How good one node is for the class, whatever else fits; for any class, indexed or not.
  Permille rate(const View& view, ShapeIndex shape, NodeIndex node);
  /// Rating of one node for an indexed class as of the last call of `best` or `best_among`. At
  /// `unfit` it does not fit; above, only filters that look at other nodes may still refuse it.
  ClassIndex::Rating rating(const View& view, ShapeIndex shape, NodeIndex node) {
    return row(view, shape).index.rating(node);
  }

  /// The domains of a level, until the description of a node changes.
  std::shared_ptr<const Domains> domains(const Fleet& fleet, std::string_view level);

  /// Those that concern classes; `reset` goes on counting.
  const RarePaths& rare_paths() const { return rare_paths_; }

 private:
  struct Row {
    TaskClass task;
    ClassIndex index;
    std::vector<const Filter*> node_filters;  ///< Those that concern the class, beside capacity.
    std::vector<const Filter*> description_filters;
    std::vector<const Filter*> fleet_filters;  ///< Those that look at all nodes, in any order.
    std::vector<const WeightedScore*> scores;
    bool tallies_stale = false;
    bool indexed = false;
    unsigned number = 0;
    std::uint64_t last_used = 0;
  };
  /// A class's tally for which a shape counts.
  struct Counted {
    std::uint16_t number = 0;
    std::uint16_t tally = 0;
  };
  /// Of one node, a bit per class.
  struct NodeBits {
    Screen::Mask described{};  ///< Passes what only a description decides.
    Screen::Mask rated{};      ///< May have a rating above `unfit`.
    Screen::Mask to_rate{};    ///< May fit, and changed since it was rated.
  };

  Row& row(const View& view, ShapeIndex shape);
  Row& new_row(ShapeIndex shape);
  void forget(Row& row);
  void choose_policies(Row& row) const;
  void describe(const View& view, Row& row, NodeIndex node);
  bool passes(const View& view, const Row& row, NodeIndex node) const;

  void watch_shape(Row& row, ShapeIndex running, const TaskShape& shape);
  static std::size_t tally_of(Row& row, const Filter& owner, const Watch& watch);
  void recount(const View& view, Row& row);

  void refresh(const View& view, Row& row);
  void screen_node(const View& view, NodeIndex node);
  void rate_warm(const View& view, Row& row);
  void rate_for_all(const View& view, NodeIndex node);
  void rate_all(const View& view, Row& row);
  void index_survivors(const View& view, Row& row);
  void rate_survivors(const View& view, const Row& row);
  NodeIndex best_accepted(const View& view, Row& row);
  static bool accepted_beside_others(const View& view, Row& row, NodeIndex node);
  static NodeIndex best_rated(const View& view, Row& row, std::span<const NodeIndex> nodes);
  static void seed(const View& view, Row& row);
  NodeIndex scan(const View& view, Row& row, std::span<const NodeIndex> nodes);

  PolicySet policies_;
  std::size_t shapes_ = 0;  ///< Shapes that were looked at.
  std::vector<std::unique_ptr<Row>> rows_;
  std::vector<std::uint16_t> number_of_shape_;
  std::uint64_t uses_ = 0;
  std::vector<std::vector<Counted>> counted_by_shape_;
  std::vector<ShapeIndex> forgotten_;

  Screen screen_;
  std::vector<NodeBits> bits_;       ///< By node.
  std::vector<std::uint8_t> stale_;  ///< By node: is in `stale_nodes_`.
  std::vector<NodeIndex> stale_nodes_;
  std::vector<std::uint8_t> warm_;    ///< By node: is in `warm_nodes_`.
  std::deque<NodeIndex> warm_nodes_;  ///< The longest warm first.
  std::vector<std::shared_ptr<const Domains>> domains_;

  std::vector<NodeIndex> all_nodes_;
  std::vector<NodeIndex> survivors_;
  std::vector<Permille> ratings_;  ///< Of the survivors.
  std::vector<std::uint64_t> sums_;
  std::vector<const TaskClass*> fitting_;  ///< Classes that fit on the node being rated ...
  std::vector<Row*> fitting_rows_;         ///< ... and their rows.
  std::vector<std::pair<NodeIndex, ClassIndex::Rating>> refused_;
  RarePaths rare_paths_;
};

}  // namespace tutti
