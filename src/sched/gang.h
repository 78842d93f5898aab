/// Placing a gang: all of its tasks that must start together, then as many more as fit.
#pragma once

#include <compare>
#include <span>
#include <vector>

#include "sched/txn.h"

namespace tutti {

/// Tasks of the role that count for its minimum: placed, or ended well.
std::uint32_t standing(const State& state, const Gang& gang, const GangShape::Role& role);

/// A node on which a task of these roles of the gang runs already, or none.
NodeIndex anchor(const State& state, const Gang& gang, std::span<const GangShape::Role> roles);

/// What the role's most modest alternative takes of accelerators, in thousandths.
std::int64_t least_gpus(const State& state, const GangShape::Role& role);

/// Does the gang hold at least the minimum of each role, counting tasks that ended well?
bool whole(const State& state, GangIndex gang);

/// The shapes of its tasks for which the placement of other tasks can open a place.
std::vector<ShapeIndex> opened_by_others(const State& state, Workspace& workspace, GangIndex gang);

/// Can only the company of other gangs' tasks make it start or grow, whatever becomes free?
bool awaits_only_company(const State& state, Workspace& workspace, GangIndex gang);

/// Can another task open a place for one of this shape? Then it matters who comes first.
bool invited(const TaskShape& shape);

/// How hard it is to find places for a role: those that another task must invite come last, and of
/// the others those first for which the fleet has the fewest places now.
struct Choosiness {
  bool invited = false;
  std::uint64_t places = 0;
  friend auto operator<=>(const Choosiness&, const Choosiness&) = default;
};
/// By role. O(nodes * different shapes).
std::vector<Choosiness> choosiness_of(const State& state, Workspace& workspace, const Gang& gang);
/// The gang's roles, the choosiest first.
std::vector<const GangShape::Role*> choosiest_first(const State& state, Workspace& workspace,
                                                    const Gang& gang);

/// Pending tasks of the role that the gang waits for: those that its minimum lacks, or, once every
/// role's minimum stands, all that it could still use.
std::uint32_t lacking(const State& state, GangIndex gang, const GangShape::Role& role);

/// Would the gang's minimum exceed a hard limit of its queue, or of one above it?
bool over_limit(Txn& txn, GangIndex gang);

/// What became of the search for places for one gang.
struct Placing {
  bool placed = false;        ///< Its minimum stands. Else the caller rolls back.
  bool search_limit = false;  ///< Not placed, and not everything was tried: ExactSearch::units_max.
  explicit operator bool() const { return placed; }
};

/// Places what the gang lacks of its minimum, and then what else fits.
Placing place_gang(Txn& txn, GangIndex gang);

}  // namespace tutti
