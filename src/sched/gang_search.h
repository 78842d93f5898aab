/// The search for places for one gang: which domain for which group, which nodes inside.
///
/// Quickly first: groups choose domains tightest first, the one with the fewest places that still
/// holds the group. When a later group finds none, earlier choices are revised, within a budget of
/// attempts; equal groups are counted first, so that what cannot fit is refused without trying.
/// Inside a domain each task takes the best-rated node. Where that finds no place, it is done again
/// with the choosiest roles first. Where that fails too, or a wish stays open, and counting does
/// not prove that there is no place, everything is tried (gang_exact.h), within a budget as well.
/// Wishes are made true in their order, the gang's own first.
///
/// First every role gets its minimum, then elastic roles as much more as fits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sched/gang.h"
#include "sched/gang_exact.h"
#include "sched/txn.h"

namespace tutti {

class GangSearch {
 public:
  /// Domains tried for one gang before it waits for better times.
  static constexpr unsigned attempts_max = 4'000;

  GangSearch(Txn& txn, GangIndex gang);

  /// Placed when the minimum of every role stands. Else the caller rolls back.
  Placing run();

 private:
  using Nodes = std::span<const NodeIndex>;

  struct Place {
    ShapeIndex shape;
    NodeIndex node;
  };

  /// How many tasks of a shape each node could take, and each domain of a level.
  struct Slots {
    ShapeIndex shape;
    const Domains* level = nullptr;
    std::vector<std::uint32_t> of_node;
    std::vector<std::uint32_t> at_first;  ///< `of_node` when nothing was placed yet: never more.
    std::vector<std::uint64_t> of_domain;
  };

  /// What a role still lacks of its minimum, and where it could find it.
  struct Need {
    std::uint32_t missing = 0;
    std::vector<const Slots*> slots;  ///< By alternative.
    std::uint64_t places(DomainIndex domain) const {
      std::uint64_t sum = 0;
      for (const Slots* each : slots) sum += each->of_domain[domain.value()];
      return sum;
    }
  };

  Placing place();
  Placing place_minima();
  bool place_quickly();
  bool put_choosiest_first();
  bool place_all(Nodes within, bool anywhere);
  bool place_groups(std::size_t from, Nodes within, bool anywhere);
  bool try_domains(std::size_t from, Nodes within, bool anywhere);
  bool may_try_domain();
  bool place_group(std::size_t group, Nodes within, bool anywhere);
  bool place_role(const GangShape::Role& role, std::uint32_t wanted, Nodes within, bool anywhere);
  bool place_task(TaskIndex task, const GangShape::Role& role, Nodes within, bool anywhere);
  Place best_place(const GangShape::Role& role, Nodes within, bool anywhere);
  void grow(Nodes within, bool anywhere);

  // Trying everything.
  ExactSearch::Answer place_exactly(std::size_t wishes);
  bool bind(Binding& binding, std::size_t wishes);
  bool bind(Binding::Bond& bond, const GangShape::Group& group, NodeIndex there);
  bool quick_is_exact();
  bool short_of_places();
  bool short_in_all();
  std::uint64_t missing_before() const;
  std::size_t wishes() const;
  std::size_t wishes_met() const;
  void give_up_wish(std::size_t group);
  GangShape::Group whole_gang() const;

  std::vector<DomainIndex> candidates(const GangShape::Group& group, const Domains& level,
                                      Nodes within, bool anywhere);
  bool enough_for_equals(std::size_t from, const Domains& level,
                         const std::vector<DomainIndex>& domains);
  Slots& slots(ShapeIndex shape, const Domains& level);
  std::vector<Need> needs_of(const GangShape::Group& group, const Domains& level);
  static std::uint64_t capacity(const std::vector<Need>& needs, DomainIndex domain);
  static bool has_room(const std::vector<Need>& needs, DomainIndex domain);
  void refresh(NodeIndex node);
  void refresh_since(Txn::Mark mark);
  NodeIndex anchor(const GangShape::Group& group) const;
  NodeIndex anchor() const;

  TaskIndex task_of(const GangShape::Role& role, std::uint32_t offset) const {
    return TaskIndex(gang_.first_task.value() + role.first_task + offset);
  }
  std::uint32_t least(const GangShape::Role& role) const {
    return least_[static_cast<std::size_t>(&role - shape_.roles.data())];
  }
  char& placed(TaskIndex task) { return placed_[task.value() - gang_.first_task.value()]; }
  /// Tasks of the role that need no place any more: running, ended, or placed by this search.
  std::uint32_t standing(const GangShape::Role& role);
  /// Tasks that the role still lacks of its minimum.
  std::uint32_t missing(const GangShape::Role& role) {
    const std::uint32_t stand = standing(role);
    return least(role) > stand ? least(role) - stand : 0;
  }
  bool lacks_any(const GangShape::Group& group);
  void undo(Txn::Mark mark);

  Txn& txn_;
  const State& state_;
  const Gang& gang_;
  const GangShape& shape_;
  QueueIndex queue_;
  std::vector<std::unique_ptr<Slots>> slots_;
  std::vector<std::vector<NodeIndex>> chosen_;  ///< By group: its domain; empty: not bound to one.
  std::vector<bool> homeless_;                  ///< By group: must be near, but nowhere yet.
  std::vector<char> placed_;                    ///< By task of the gang.
  std::vector<std::uint32_t> least_;            ///< By role: its minimum in this search.
  std::vector<std::uint32_t> group_order_;      ///< In which groups are placed ...
  std::vector<std::uint32_t> role_order_;       ///< ... and roles, those of a group side by side.
  bool gang_home_ = false;                      ///< All of it stands in one domain of its level.
  Txn::Mark start_ = 0;
  std::size_t wishes_possible_ = 0;  ///< So many of the first wishes may come true, by counting.
  unsigned attempts_ = 0;
  std::uint32_t units_ = ExactSearch::units_max;
};

}  // namespace tutti
