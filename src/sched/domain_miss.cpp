#include "sched/domain_miss.h"

#include <span>

#include "sched/gang.h"
#include "sched/gang_exact.h"
#include "sched/trial.h"

namespace tutti {
namespace {

/// Roles that must share a domain.
struct Unit {
  Closeness closeness;
  std::span<const GangShape::Role> roles;
};

class Search {
 public:
  Search(const State& state, Workspace& workspace, const Gang& gang)
      : state_(state), workspace_(workspace), gang_(gang) {}

  DomainMiss look(const Unit& unit) {
    DomainMiss miss{.level = unit.closeness.level, .wanted = missing(unit)};
    const Domains& level = workspace_.domains(state_, miss.level);
    if (miss.wanted == 0) return {};
    const NodeIndex there = anchor(state_, gang_, unit.roles);
    miss.runs_there = there.valid();
    for (std::size_t at = 0; at < level.members.size(); ++at) {
      if (there.valid() && level.of_node[there.value()] != DomainIndex(at)) continue;
      const std::uint32_t room = room_in(unit, level.members[at]);
      if (room >= miss.wanted) return {};
      if (room <= miss.room && !there.valid()) continue;
      miss.room = room;
      miss.domain = level.names[at];
    }
    return miss;
  }

 private:
  std::uint32_t missing(const GangShape::Role& role) const {
    const std::uint32_t stand = standing(state_, gang_, role);
    return role.min > stand ? role.min - stand : 0;
  }
  std::uint32_t missing(const Unit& unit) const {
    std::uint32_t sum = 0;
    for (const GangShape::Role& role : unit.roles) sum += missing(role);
    return sum;
  }

  std::uint32_t room_in(const Unit& unit, std::span<const NodeIndex> members) {
    Trial trial(state_, workspace_);
    std::uint32_t room = 0;
    for (const GangShape::Role& role : unit.roles) {
      for (std::uint32_t task = 0; task < missing(role); ++task) {
        if (!trial.hold_one(role, members)) break;
        ++room;
      }
    }
    return room;
  }

  const State& state_;
  Workspace& workspace_;
  const Gang& gang_;
};

bool must_be_together(const Unit& unit) {
  return constrained(unit.closeness) && unit.closeness.required;
}

}  // namespace

DomainMiss domain_miss(const State& state, Workspace& workspace, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  const GangShape& shape = state.gang_shape(gang.shape);
  std::vector<Unit> units{{shape.closeness, shape.roles}};
  for (const GangShape::Group& group : shape.groups) {
    units.push_back(
        {group.closeness, std::span(shape.roles).subspan(group.first_role, group.roles)});
  }
  Search search(state, workspace, gang);
  for (const Unit& unit : units) {
    if (!must_be_together(unit)) continue;
    DomainMiss miss = search.look(unit);
    if (!miss.level.empty()) return miss;
  }
  return {};
}

}  // namespace tutti
