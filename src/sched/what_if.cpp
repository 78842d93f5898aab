#include "sched/what_if.h"

#include <algorithm>

#include "sched/company.h"
#include "sched/cycle.h"
#include "sched/domains.h"
#include "sched/gang.h"

namespace tutti {
bool without_company(TaskShape& shape) {
  const auto gone = std::erase_if(shape.affinities, [&](const TaskAffinity& term) {
    if (!term.needs_company() || is_company_to_itself(term, shape)) return false;
    // Company can stand beside it only on a node of some domain.
    if (!covers_all_nodes(term.topology_key)) {
      shape.nodes.requirements.push_back({.key = term.topology_key, .op = Operator::exists});
    }
    return true;
  });
  return gone > 0;
}

WhatIf::WhatIf(const State& state, GangIndex gang) : state_(state) {
  for (std::size_t at = 0; at < state.jobs().size(); ++at) {
    const JobId id = state.jobs()[JobIndex(at)].id;
    if (id.valid()) next_job_ = std::max(next_job_, id.value() + 1);
  }
  const Job& job = state.jobs()[state.gangs()[gang].job];
  job_ = job.id;
  gang_ = gang.value() - job.first_gang.value();
  // What is being stopped of it stops in any case, and then waits with the rest.
  stop(gang, [](TaskPhase phase) { return phase == TaskPhase::stopping; });
}

/// Those of the gang's tasks of which `ends` is true of the phase have stopped.
void WhatIf::stop(GangIndex index, bool (*ends)(TaskPhase)) {
  const Gang gang = state_.gangs()[index];
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const TaskIndex task(gang.first_task.value() + offset);
    if (!ends(state_.tasks()[task].phase)) continue;
    constexpr std::int32_t told_to = 143;
    apply(TaskExited{state_.id_of(task), state_.tasks()[task].attempt, told_to});
  }
}

void WhatIf::happen(const Unblock& fact) {
  const auto name = [&] { return state_.fleet().node(fact.node).name; };
  switch (fact.kind) {
    case Unblock::Kind::raise_limit:
      return raise_limit(fact);
    case Unblock::Kind::task_ends: {
      const TaskIndex task = state_.find(fact.task);
      if (task.valid()) apply(TaskExited{fact.task, state_.tasks()[task].attempt, 0});
      return;
    }
    case Unblock::Kind::uncordon:
      return apply(NodeCordoned{name(), false});
    case Unblock::Kind::node_returns:
      return apply(NodeReported{description(state_, fact.node)});
    case Unblock::Kind::device_heals:
      return apply(DeviceHealthChanged{name(), fact.ordinal, Health::online});
    case Unblock::Kind::company:
      return place_companion(fact);
    case Unblock::Kind::tolerate:
      return change_shapes([&](TaskShape& shape) {
        shape.tolerations.push_back({.key = fact.taint.key,
                                     .value = fact.taint.value,
                                     .any_effect = false,
                                     .effect = fact.taint.effect});
      });
    case Unblock::Kind::add_nodes:
      return add_nodes(fact);
    case Unblock::Kind::steps_aside:
      return step_aside(fact.job);
  }
}

void WhatIf::raise_limit(const Unblock& fact) {
  QueueSpec spec = state_.queue(fact.queue).spec;
  for (NamedAmount& limit : spec.limit) {
    if (limit.name == fact.amount.name) limit.amount = std::max(limit.amount, fact.amount.amount);
  }
  apply(QueueSet{spec});
}

/// What runs of the job ends with it.
void WhatIf::step_aside(JobId job) {
  const Job row = state_.jobs()[state_.find(job)];
  apply(JobCancelled{job});
  for (std::uint32_t at = 0; at < row.gangs; ++at) {
    stop(GangIndex(row.first_gang.value() + at), holds);
  }
}

void WhatIf::place_companion(const Unblock& fact) {
  if (!state_.fleet().open(fact.node)) return;  // Nothing starts there any more, nor yet.
  const RoleSpec role{.name = "companion", .alternatives = {fact.companion}};
  JobSpec spec{.name = "companion", .space = fact.companion.space};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  const TaskId id{JobId(next_job_++), 0};
  apply(JobSubmitted{id.job, std::make_shared<const JobSpec>(std::move(spec))});
  apply(PlanDecided{{{.task = id,
                      .attempt = 1,
                      .shape = state_.tasks()[state_.find(id)].shape,
                      .node = fact.node,
                      .devices = {}}}});
}

void WhatIf::add_nodes(const Unblock& fact) {
  NodeSpec spec = fact.spec;
  for (std::uint32_t each = 0; each < fact.count; ++each) {
    do {
      spec.name = "new-" + std::to_string(next_node_++);
    } while (state_.fleet().find(spec.name));
    apply(NodeReported{spec});
  }
}

template <class Change>
void WhatIf::change_shapes(Change&& change) {
  if (changed_ == nullptr) {
    changed_ = std::make_shared<JobSpec>(*state_.jobs()[state_.find(job_)].spec);
  }
  for (auto& gang : changed_->gangs) {
    GangSpec other = *gang;
    for (GroupSpec& group : other.groups) {
      for (RoleSpec& role : group.roles) {
        for (TaskShape& shape : role.alternatives) change(shape);
      }
    }
    gang = std::make_shared<const GangSpec>(std::move(other));
  }
}

void WhatIf::forget_company() {
  change_shapes([](TaskShape& shape) { without_company(shape); });
}

/// The gang, its job submitted anew where it was changed.
GangIndex WhatIf::submitted() {
  if (changed_ != nullptr) {
    apply(JobCancelled{job_});
    job_ = JobId(next_job_++);
    apply(JobSubmitted{job_, std::exchange(changed_, nullptr)});
  }
  return GangIndex(state_.jobs()[state_.find(job_)].first_gang.value() + gang_);
}

Placing WhatIf::starts(const PolicyFactory& factory, Taken* taken) {
  const GangIndex gang = submitted();
  Workspace workspace(factory);
  workspace.sync(state_);
  Txn txn(state_, workspace);
  Placing placing = place_gang(txn, gang);
  placing.placed = placing.placed && txn.size() > 0;
  if (!placing || taken == nullptr) return placing;
  taken->queues = workspace.queue_usage();
  for (std::size_t at = 0; at < txn.size(); ++at) taken->nodes.push_back(txn.action(at).node);
  return placing;
}

bool WhatIf::starts_in_turn(const PolicyFactory& factory, std::set<JobId>& before, Taken* taken) {
  before.clear();
  const GangIndex gang = submitted();
  Workspace workspace(factory);
  const std::uint32_t held = state_.gangs()[gang].holding;
  std::vector<NodeIndex> nodes;
  // What is placed may make room beside it for what follows, as in Engine::step.
  while (state_.gangs()[gang].holding <= held) {
    const Plan plan = Cycle().run(state_, workspace);
    if (plan.actions.empty()) return false;
    for (const Decision& decision : plan.decisions) {
      if (decision.outcome == Outcome::placed) before.insert(decision.job);
    }
    before.erase(job_);
    for (const Action& action : plan.actions) nodes.push_back(action.node);
    apply(PlanDecided{plan.actions});
  }
  if (taken == nullptr) return true;
  taken->nodes = std::move(nodes);
  for (std::size_t at = 0; at < state_.queue_count(); ++at) {
    taken->queues.push_back(state_.queue_usage(QueueIndex(at)));
  }
  return true;
}

NodeSpec description(const State& state, NodeIndex index) {
  const Fleet& fleet = state.fleet();
  const Node& node = fleet.node(index);
  NodeSpec spec{.name = node.name,
                .pool = fleet.pools()[node.pool.value()].name,
                .labels = node.labels,
                .taints = node.taints,
                .stack = node.stack,
                .cordoned = node.cordoned};
  for (const Resources::Amount& part : node.capacity.amounts()) {
    spec.capacity.push_back({fleet.lanes().name(part.lane), part.amount});
  }
  if (node.bounded_pods && node.capacity.get(lane::pods) == 0) spec.capacity.push_back({"pods", 0});
  for (const Device& device : fleet.devices(index)) {
    spec.devices.push_back({.type = fleet.types()[device.type.value()], .device = device});
  }
  return spec;
}

}  // namespace tutti
