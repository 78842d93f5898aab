#include "sched/remedies.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sched/company.h"
#include "sched/domains.h"
#include "sched/fit.h"
#include "sched/ideal_node.h"

namespace tutti {

Remedies::Remedies(const State& state, GangIndex gang)
    : state_(state), index_(gang), shape_(state.gang_shape(state.gangs()[gang].shape)) {
  const ShapeIndex front = shape_.roles.front().alternatives.front();
  const TaskClass task{.shape = front, .row = &state_.shape(front)};
  const View view{state_, state_.usage()};
  std::vector<std::pair<std::int64_t, NodeIndex>> ranked;
  for (std::size_t at = 0; at < state_.fleet().size(); ++at) {
    const Reject reject = fit_reject(task, view, NodeIndex(at));
    ranked.emplace_back(reject.ok() ? 0 : distance(task, reject), NodeIndex(at));
  }
  std::ranges::sort(ranked);
  for (const auto& [away, node] : ranked) nodes_.push_back(node);
  for (const GangShape::Role& role : shape_.roles) {
    for (const ShapeIndex shape : role.alternatives) {
      const TaskShape& owner = state_.shape(shape).spec;
      for (const TaskAffinity& term : owner.affinities) {
        if (term.needs_company()) company_.push_back({&owner, &term});
      }
    }
  }
}

Facts Remedies::raised_limits() const {
  Facts out;
  QueueIndex queue = state_.jobs()[state_.gangs()[index_].job].queue;
  for (; queue.valid(); queue = state_.queue(queue).parent) raise_limits(queue, out);
  return out;
}

void Remedies::raise_limits(QueueIndex index, Facts& out) const {
  const Queue& queue = state_.queue(index);
  const QueueUsage& used = state_.queue_usage(index);
  for (const NamedAmount& limit : queue.spec.limit) {
    const bool gpus = limit.name == "gpu";
    const auto lane = state_.fleet().lanes().find(limit.name);
    std::int64_t wanted = 0;
    for (const GangShape::Role& role : shape_.roles) {
      std::int64_t most = 0;
      for (const ShapeIndex shape : role.alternatives) {
        const ShapeRow& row = state_.shape(shape);
        if (gpus) most = std::max(most, row.gpu_milli);
        if (!gpus && lane) most = std::max(most, row.amount(*lane));
      }
      wanted += most * std::max<std::int64_t>(role.min, shape_.min == 0 ? 1 : 0);
    }
    if (gpus) {
      wanted = (used.gpu_milli + wanted + DeviceRequest::whole - 1) / DeviceRequest::whole;
    } else if (lane && lane->value() < used.lanes.size()) {
      wanted += used.lanes[lane->value()];
    }
    if (wanted <= limit.amount) continue;
    out.push_back(
        {.kind = Unblock::Kind::raise_limit, .queue = index, .amount = {limit.name, wanted}});
  }
}

bool Remedies::needs_company() const {
  return std::ranges::any_of(company_, [](const Term& term) {
    return !is_company_to_itself(*term.affinity, *term.owner);
  });
}

bool Remedies::is_friend(const TaskShape& shape) const {
  return std::ranges::any_of(company_, [&](const Term& term) {
    return counts_for(term.affinity->tasks, term.affinity->namespaces, *term.owner, shape);
  });
}

Facts Remedies::ended(bool friends) const {
  std::map<NodeIndex, Facts> by_node;
  for (std::size_t at = 0; at < state_.tasks().size(); ++at) {
    const TaskIndex index(at);
    const Task& task = state_.tasks()[index];
    if (!task.gang.valid() || !holds(task.phase) || task.gang == index_) continue;
    if (is_friend(state_.shape(task.shape).spec) != friends) continue;
    by_node[task.node].push_back(
        {.kind = Unblock::Kind::task_ends, .node = task.node, .task = state_.id_of(index)});
  }
  Facts out;
  for (const NodeIndex node : nodes_) {
    const auto here = by_node.find(node);
    if (here != by_node.end()) out.insert(out.end(), here->second.begin(), here->second.end());
  }
  return out;
}

Facts Remedies::repaired() const {
  Facts out;
  for (const NodeIndex index : nodes_) {
    const Node& node = state_.fleet().node(index);
    if (!node.present) out.push_back({.kind = Unblock::Kind::node_returns, .node = index});
    if (node.cordoned) out.push_back({.kind = Unblock::Kind::uncordon, .node = index});
    const auto devices = state_.fleet().devices(index);
    for (std::size_t at = 0; at < devices.size(); ++at) {
      if (offered(devices[at])) continue;
      out.push_back({.kind = Unblock::Kind::device_heals,
                     .node = index,
                     .ordinal = static_cast<std::uint16_t>(at)});
    }
  }
  return out;
}

Facts Remedies::tolerated() const {
  Facts out;
  for (const NodeIndex index : nodes_) {
    for (const Taint& taint : state_.fleet().node(index).taints) {
      if (taint.effect == TaintEffect::prefer_no_schedule) continue;
      if (std::ranges::find(out, taint, &Unblock::taint) != out.end()) continue;
      out.push_back({.kind = Unblock::Kind::tolerate, .taint = taint});
    }
  }
  return out;
}

/// The nodes near which some running task will not have the companion.
std::vector<bool> Remedies::objected(const TaskShape& companion) const {
  std::vector<bool> out(state_.fleet().size());
  std::set<std::pair<const TaskAffinity*, std::string_view>> known;
  for (std::size_t row = 0; row < state_.tasks().size(); ++row) {
    const Task& task = state_.tasks()[TaskIndex(row)];
    if (!task.gang.valid() || !holds(task.phase)) continue;
    const TaskShape& owner = state_.shape(task.shape).spec;
    for (const TaskAffinity& term : owner.affinities) {
      if (!term.anti || !term.required()) continue;
      if (!counts_for(term.tasks, term.namespaces, owner, companion)) continue;
      const auto there = domain_name(state_.fleet().node(task.node), term.topology_key);
      if (!there || !known.emplace(&term, *there).second) continue;
      for (std::size_t at = 0; at < out.size(); ++at) {
        const Node& node = state_.fleet().node(NodeIndex(at));
        out[at] = out[at] || domain_name(node, term.topology_key) == there;
      }
    }
  }
  return out;
}

Facts Remedies::companions(bool closed) const {
  Facts out;
  for (const auto& [owner, term] : company_) {
    if (is_company_to_itself(*term, *owner)) continue;
    TaskShape companion{.space = owner->space};
    if (!term->namespaces.empty() && term->namespaces.front() != "*") {
      companion.space = term->namespaces.front();
    }
    fulfil(term->tasks, companion.labels);
    const std::vector<bool> refused = objected(companion);
    for (const NodeIndex node : nodes_) {
      if (state_.fleet().open(node) == closed || refused[node.value()]) continue;
      out.push_back({.kind = Unblock::Kind::company, .node = node, .companion = companion});
    }
  }
  return out;
}

}  // namespace tutti
