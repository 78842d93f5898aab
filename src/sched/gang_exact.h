/// The search that misses nothing: every assignment of a gang's minima, one after the other, until
/// one holds or the budget of work is gone.
///
/// It runs only where the quick search of gang_search.h found no place, and counting did not prove
/// that there is none. Tasks of a role are interchangeable, so they are placed in ascending order
/// of alternative and node; where the order of tasks matters to somebody (affinity, spread), every
/// order is tried. What was tried in vain is remembered by its fingerprint. O(budget).
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "sched/txn.h"

namespace tutti {

inline bool constrained(const Closeness& closeness) { return !closeness.level.empty(); }
inline bool wished(const Closeness& closeness) {
  return constrained(closeness) && !closeness.required;
}

/// Which closeness binds a gang in one search: all that is required, and as many wishes as are to
/// come true.
struct Binding {
  struct Bond {
    const Domains* level = nullptr;  ///< None: not bound.
    DomainIndex home;                ///< Where it must be, or none while that is open.
    std::vector<char> possible;      ///< By domain: could hold it at all, by counting.
    bool bound() const { return level != nullptr; }
  };
  Bond gang;
  std::vector<Bond> groups;
};

/// May the place of other tasks matter to one of this shape, or its place to them? Only where it
/// does not, a node that is full for one is full for all.
bool minds_others(const TaskShape& shape);

class ExactSearch {
 public:
  /// Steps for one gang, about 2 ms: an infeasible gang of any kind costs a cycle 3 ms at most.
  static constexpr std::uint32_t units_max = 5'000;
  /// Tasks to place; with more of them the units would not suffice anyway.
  static constexpr std::uint64_t tasks_max = 64;

  enum class Answer : std::uint8_t { found, none, gave_up };

  struct Wanted {
    std::span<const std::uint32_t> least;  ///< Tasks that must stand, by role.
    std::span<const std::uint32_t> order;  ///< Of the roles: those that come first are tried first.
  };

  /// `units` is the budget; what is used of it is taken off.
  ExactSearch(Txn& txn, GangIndex gang, const Wanted& wanted, std::uint32_t& units);

  /// What is found stays placed in the transaction; else it is left as it was. The homes that were
  /// chosen are written into `binding`.
  Answer run(Binding& binding);

 private:
  using Nodes = std::span<const NodeIndex>;

  struct Step {
    std::size_t role = 0;
    std::size_t alternative = 0;
    NodeIndex node;
  };
  /// Nodes that could take a task of the shape when the search began, ascending.
  struct Places {
    ShapeIndex shape;
    std::vector<NodeIndex> nodes;
  };

  bool rest(const Step& last);
  bool next(const Step& from);
  bool try_node(const Step& step);
  bool try_devices(const Step& step, const DeviceSet& devices);
  Nodes nodes_for(const Step& step);
  bool may_stand(std::size_t group, NodeIndex node) const;
  bool spend(std::uint32_t units);
  const std::vector<NodeIndex>& places(ShapeIndex shape) const;
  void look_for_places(ShapeIndex shape);

  Txn& txn_;
  const State& state_;
  const Gang& gang_;
  const GangShape& shape_;
  QueueIndex queue_;
  std::span<const std::uint32_t> order_;
  std::uint32_t& units_;
  Binding* binding_ = nullptr;
  std::vector<std::uint32_t> missing_;           ///< By role.
  std::vector<std::vector<TaskIndex>> pending_;  ///< By role: tasks to place, the next one last.
  std::vector<Places> places_;
  std::set<std::uint64_t> tried_;  ///< Fingerprints of what was placed, in vain.
  std::uint64_t picture_ = 0;      ///< Of what is placed now; the order makes no difference.
  bool any_order_ = false;
  bool gave_up_ = false;
};

}  // namespace tutti
