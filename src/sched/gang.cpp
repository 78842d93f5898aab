#include "sched/gang.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "sched/fit.h"
#include "sched/gang_search.h"

namespace tutti {
namespace {

std::int64_t least_of(const State& state, const GangShape::Role& role, Lane lane) {
  std::int64_t least = INT64_MAX;
  for (const ShapeIndex shape : role.alternatives) {
    least = std::min(least, state.shape(shape).amount(lane));
  }
  return least;
}

/// Would what the gang lacks at least exceed the limit of this very queue? It is judged resource by
/// resource: of each it needs the least that some alternative takes.
bool exceeds(Txn& txn, GangIndex index, QueueIndex queue_index) {
  const State& state = txn.state();
  const Gang& gang = state.gangs()[index];
  const Queue& queue = state.queue(queue_index);
  QueueUsage wanted;
  wanted.lanes.resize(state.fleet().lanes().size());
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    const std::uint32_t there = standing(state, gang, role);
    const std::int64_t missing = role.min > there ? role.min - there : 0;
    for (std::size_t at = 0; at < queue.limit.size(); ++at) {
      if (queue.limit[at] >= 0) wanted.lanes[at] += missing * least_of(state, role, Lane(at));
    }
    wanted.gpu_milli += missing * least_gpus(state, role);
  }
  const QueueUsage& used = txn.workspace().queue_usage()[queue_index.value()];
  for (std::size_t at = 0; at < queue.limit.size(); ++at) {
    // What it does not ask for cannot hold it up.
    if (queue.limit[at] < 0 || wanted.lanes[at] == 0) continue;
    const std::int64_t there = at < used.lanes.size() ? used.lanes[at] : 0;
    if (there + wanted.lanes[at] > queue.limit[at]) return true;
  }
  return queue.gpu_milli_limit >= 0 && wanted.gpu_milli > 0 &&
         used.gpu_milli + wanted.gpu_milli > queue.gpu_milli_limit;
}

}  // namespace

std::int64_t least_gpus(const State& state, const GangShape::Role& role) {
  std::int64_t least = INT64_MAX;
  for (const ShapeIndex shape : role.alternatives) {
    least = std::min(least, state.shape(shape).gpu_milli);
  }
  return least;
}

std::uint32_t standing(const State& state, const Gang& gang, const GangShape::Role& role) {
  std::uint32_t count = 0;
  for (std::uint32_t offset = 0; offset < role.count; ++offset) {
    const TaskIndex task(gang.first_task.value() + role.first_task + offset);
    if (stands(state.tasks()[task].phase)) ++count;
  }
  return count;
}

NodeIndex anchor(const State& state, const Gang& gang, std::span<const GangShape::Role> roles) {
  for (const GangShape::Role& role : roles) {
    for (std::uint32_t offset = 0; offset < role.count; ++offset) {
      const Task& task =
          state.tasks()[TaskIndex(gang.first_task.value() + role.first_task + offset)];
      if (holds(task.phase)) return task.node;
    }
  }
  return NodeIndex::none();
}

bool whole(const State& state, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    if (standing(state, gang, role) < role.min) return false;
  }
  return true;
}

std::vector<ShapeIndex> opened_by_others(const State& state, Workspace& workspace,
                                         GangIndex index) {
  std::vector<ShapeIndex> out;
  for (const GangShape::Role& role : state.gang_shape(state.gangs()[index].shape).roles) {
    std::ranges::copy_if(role.alternatives, std::back_inserter(out), [&](ShapeIndex shape) {
      return workspace.opened_by_others(state, shape);
    });
  }
  return out;
}

bool awaits_only_company(const State& state, Workspace& workspace, GangIndex index) {
  const GangShape& shape = state.gang_shape(state.gangs()[index].shape);
  const auto brought = [&](ShapeIndex guest) {
    return std::ranges::any_of(shape.roles, [&](const GangShape::Role& role) {
      return std::ranges::any_of(role.alternatives,
                                 [&](ShapeIndex own) { return workspace.counts(own, guest); });
    });
  };
  const auto shut_out = [&](const GangShape::Role& role) {
    return std::ranges::all_of(role.alternatives, [&](ShapeIndex guest) {
      return workspace.shut_out(state, guest) && !brought(guest);
    });
  };
  // What is whole grows with any role; else all that lack something must find places.
  const bool any = whole(state, index);
  for (const GangShape::Role& role : shape.roles) {
    if (lacking(state, index, role) > 0 && shut_out(role) != any) return !any;
  }
  return any;
}

bool invited(const TaskShape& shape) {
  return std::ranges::any_of(shape.spreads, &Spread::required) ||
         std::ranges::any_of(shape.affinities, &TaskAffinity::needs_company);
}

std::vector<Choosiness> choosiness_of(const State& state, Workspace& workspace, const Gang& gang) {
  std::map<ShapeIndex, std::uint64_t> places;
  const View view = workspace.view(state);
  const auto places_for = [&](ShapeIndex shape) {
    const auto [known, fresh] = places.try_emplace(shape);
    if (!fresh) return known->second;
    static_cast<void>(workspace.best_among(state, shape, {}));  // Repairs the ratings.
    const bool indexed = workspace.indexed(state, shape);
    const TaskClass& task = workspace.task_class(state, shape);
    for (std::size_t at = 0; at < state.fleet().size(); ++at) {
      const NodeIndex node(at);
      if (!state.fleet().open(node)) continue;
      if (indexed && workspace.rating(state, shape, node) == ClassIndex::unfit) continue;
      known->second += slots(task, view, node, gang.tasks);
    }
    return known->second;
  };
  std::vector<Choosiness> out;
  for (const GangShape::Role& role : state.gang_shape(gang.shape).roles) {
    Choosiness choosiness;
    for (const ShapeIndex shape : role.alternatives) {
      choosiness.invited |= invited(state.shape(shape).spec);
      choosiness.places += places_for(shape);
    }
    out.push_back(choosiness);
  }
  return out;
}

std::vector<const GangShape::Role*> choosiest_first(const State& state, Workspace& workspace,
                                                    const Gang& gang) {
  const std::vector<Choosiness> choosiness = choosiness_of(state, workspace, gang);
  const std::vector<GangShape::Role>& roles = state.gang_shape(gang.shape).roles;
  std::vector<const GangShape::Role*> order;
  for (const GangShape::Role& role : roles) order.push_back(&role);
  std::ranges::stable_sort(order, {}, [&](const GangShape::Role* role) {
    return choosiness[static_cast<std::size_t>(role - roles.data())];
  });
  return order;
}

std::uint32_t lacking(const State& state, GangIndex index, const GangShape::Role& role) {
  const Gang& gang = state.gangs()[index];
  std::uint32_t pending = 0;
  for (std::uint32_t offset = 0; offset < role.count; ++offset) {
    const TaskIndex task(gang.first_task.value() + role.first_task + offset);
    pending += state.tasks()[task].phase == TaskPhase::pending ? 1 : 0;
  }
  if (whole(state, index)) return pending;
  const std::uint32_t there = standing(state, gang, role);
  return std::min(pending, role.min > there ? role.min - there : 0);
}

bool over_limit(Txn& txn, GangIndex index) {
  const State& state = txn.state();
  QueueIndex queue = state.jobs()[state.gangs()[index].job].queue;
  for (; queue.valid(); queue = state.queue(queue).parent) {
    if (!state.queue(queue).spec.limit.empty() && exceeds(txn, index, queue)) return true;
  }
  return false;
}

Placing place_gang(Txn& txn, GangIndex index) { return GangSearch(txn, index).run(); }

}  // namespace tutti
