#include "sched/domain_miss.h"

#include <span>
#include <vector>

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

class DomainSearch {
 public:
  DomainSearch(const State& state, Workspace& workspace, GangIndex gang)
      : state_(state),
        workspace_(workspace),
        gang_(gang),
        order_(choosiest_first(state, workspace, state.gangs()[gang])) {}

  DomainMiss look(const Unit& unit) {
    DomainMiss miss{.level = unit.closeness.level, .wanted = wanted(unit)};
    const Domains& level = workspace_.domains(state_, miss.level);
    if (miss.wanted == 0) return {};
    const NodeIndex there = anchor(state_, state_.gangs()[gang_], unit.roles);
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
  std::uint32_t wanted(const Unit& unit) const {
    std::uint32_t sum = 0;
    for (const GangShape::Role& role : unit.roles) sum += lacking(state_, gang_, role);
    return sum;
  }

  std::uint32_t room_in(const Unit& unit, std::span<const NodeIndex> members) {
    Trial trial(state_, workspace_, gang_);
    std::uint32_t room = 0;
    for (const GangShape::Role* const role : order_) {
      if (role < unit.roles.data() || role >= unit.roles.data() + unit.roles.size()) continue;
      const std::uint32_t wanted = lacking(state_, gang_, *role);
      for (std::uint32_t task = 0; task < wanted; ++task) {
        if (trial.take_one(*role, members) != Trial::Found::place) break;
        ++room;
      }
    }
    return room;
  }

  const State& state_;
  Workspace& workspace_;
  GangIndex gang_;
  std::vector<const GangShape::Role*> order_;
};

bool must_be_together(const Unit& unit) {
  return constrained(unit.closeness) && unit.closeness.required;
}

}  // namespace

DomainMiss domain_miss(const State& state, Workspace& workspace, GangIndex index) {
  const GangShape& shape = state.gang_shape(state.gangs()[index].shape);
  std::vector<Unit> units{{shape.closeness, shape.roles}};
  for (const GangShape::Group& group : shape.groups) {
    units.push_back(
        {group.closeness, std::span(shape.roles).subspan(group.first_role, group.roles)});
  }
  DomainSearch search(state, workspace, index);
  for (const Unit& unit : units) {
    if (!must_be_together(unit)) continue;
    DomainMiss miss = search.look(unit);
    if (!miss.level.empty()) return miss;
  }
  return {};
}

}  // namespace tutti
