#include "sched/gang_exact.h"

#include <algorithm>

#include "base/hash.h"
#include "sched/fit.h"
#include "sched/gang.h"

namespace tutti {
namespace {

/// Sets of devices that are tried for one task on one node before the search gives up.
constexpr std::size_t choices_max = 64;

bool in_domain(const Binding::Bond& bond, NodeIndex node) {
  if (!bond.bound()) return true;
  const DomainIndex domain = bond.level->of_node[node.value()];
  if (!domain.valid()) return false;
  if (bond.home.valid()) return bond.home == domain;
  return bond.possible.empty() || bond.possible[domain.value()] != 0;
}

}  // namespace

bool minds_others(const TaskShape& shape) {
  return invited(shape) || !shape.labels.all().empty() ||
         std::ranges::any_of(shape.affinities, &TaskAffinity::required);
}

ExactSearch::ExactSearch(Txn& txn, GangIndex gang, const Wanted& wanted, std::uint32_t& units)
    : txn_(txn),
      state_(txn.state()),
      gang_(state_.gangs()[gang]),
      shape_(state_.gang_shape(gang_.shape)),
      queue_(state_.jobs()[gang_.job].queue),
      order_(wanted.order),
      units_(units) {
  for (const GangShape::Role& role : shape_.roles) {
    std::vector<TaskIndex> waiting;
    for (std::uint32_t offset = role.count; offset-- > 0;) {
      const TaskIndex task(gang_.first_task.value() + role.first_task + offset);
      if (state_.tasks()[task].phase == TaskPhase::pending) waiting.push_back(task);
    }
    const std::uint32_t least = wanted.least[missing_.size()];
    const std::uint32_t stand = standing(state_, gang_, role);
    missing_.push_back(least > stand ? least - stand : 0);
    pending_.push_back(std::move(waiting));
  }
  any_order_ = std::ranges::any_of(shape_.roles, [&](const GangShape::Role& role) {
    return std::ranges::any_of(role.alternatives,
                               [&](ShapeIndex shape) { return invited(state_.shape(shape).spec); });
  });
}

ExactSearch::Answer ExactSearch::run(Binding& binding) {
  binding_ = &binding;
  gave_up_ = false;
  tried_.clear();
  std::uint64_t tasks = 0;
  for (std::size_t role = 0; role < missing_.size(); ++role) {
    if (missing_[role] > pending_[role].size()) return Answer::none;
    tasks += missing_[role];
  }
  if (tasks > tasks_max) {
    txn_.took(RarePath::exact_too_large);
    return Answer::gave_up;
  }
  places_.clear();
  for (std::size_t role = 0; role < missing_.size(); ++role) {
    if (missing_[role] == 0) continue;
    for (const ShapeIndex shape : shape_.roles[role].alternatives) look_for_places(shape);
  }
  if (rest({.role = shape_.roles.size()})) {
    txn_.took(RarePath::exact_found);
    return Answer::found;
  }
  txn_.took(gave_up_ ? RarePath::exact_gave_up : RarePath::exact_none);
  return gave_up_ ? Answer::gave_up : Answer::none;
}

bool ExactSearch::spend(std::uint32_t units) {
  gave_up_ |= units_ < units;
  units_ -= std::min(units_, units);
  return !gave_up_;
}

/// Places what is still missing, on top of what was placed so far.
bool ExactSearch::rest(const Step& last) {
  bool done = true;
  for (const std::size_t role : order_) {
    if (missing_[role] == 0) continue;
    done = false;
    const bool goes_on = !any_order_ && role == last.role;
    if (next(goes_on ? last : Step{.role = role, .alternative = 0, .node = NodeIndex(0)})) {
      return true;
    }
    if (!any_order_ || gave_up_) return false;
  }
  return done;
}

/// Places one task of the role, on this node or a later one.
bool ExactSearch::next(const Step& from) {
  const GangShape::Role& role = shape_.roles[from.role];
  for (std::size_t at = from.alternative; at < role.alternatives.size(); ++at) {
    if (!txn_.within_limits(queue_, role.alternatives[at])) continue;
    Step step{.role = from.role, .alternative = at, .node = NodeIndex(0)};
    if (at == from.alternative) step.node = from.node;
    const Nodes nodes = nodes_for(step);
    for (auto node = std::ranges::lower_bound(nodes, step.node); node != nodes.end(); ++node) {
      step.node = *node;
      if (!may_stand(role.group, *node)) continue;
      if (try_node(step)) return true;
      if (gave_up_) return false;
    }
  }
  return false;
}

/// The nodes to look at: those of the home that was chosen, or all that could take the shape.
ExactSearch::Nodes ExactSearch::nodes_for(const Step& step) {
  const GangShape::Role& role = shape_.roles[step.role];
  const Binding::Bond& group = binding_->groups[role.group];
  if (group.home.valid()) return group.level->members[group.home.value()];
  const Binding::Bond& gang = binding_->gang;
  if (gang.home.valid()) return gang.level->members[gang.home.value()];
  return places(role.alternatives[step.alternative]);
}

const std::vector<NodeIndex>& ExactSearch::places(ShapeIndex shape) const {
  return std::ranges::find(places_, shape, &Places::shape)->nodes;
}

/// REQUIRES: nothing is placed yet.
void ExactSearch::look_for_places(ShapeIndex shape) {
  if (std::ranges::find(places_, shape, &Places::shape) != places_.end()) return;
  Places fresh{.shape = shape, .nodes = {}};
  // What is too small now stays so.
  const TaskClass& task = txn_.workspace().task_class(state_, shape);
  for (std::size_t at = 0; at < state_.fleet().size(); ++at) {
    const NodeIndex node(at);
    if (!state_.fleet().open(node)) continue;
    if (!fits(task, txn_.view(), node)) continue;
    fresh.nodes.push_back(node);
  }
  places_.push_back(std::move(fresh));
}

bool ExactSearch::may_stand(std::size_t group, NodeIndex node) const {
  return in_domain(binding_->gang, node) && in_domain(binding_->groups[group], node);
}

bool ExactSearch::try_node(const Step& step) {
  Workspace& workspace = txn_.workspace();
  const ShapeIndex shape = shape_.roles[step.role].alternatives[step.alternative];
  if (!spend(1)) return false;
  if (!workspace.best_among(state_, shape, std::span(&step.node, 1)).valid()) return false;
  std::vector<DeviceSet> choices;
  const bool all = device_choices(workspace.task_class(state_, shape), txn_.view(), step.node,
                                  choices_max, choices);
  for (const DeviceSet& devices : choices) {
    if (try_devices(step, devices)) return true;
  }
  gave_up_ |= !all;
  return false;
}

bool ExactSearch::try_devices(const Step& step, const DeviceSet& devices) {
  if (!spend(1)) return false;
  const GangShape::Role& role = shape_.roles[step.role];
  const ShapeIndex shape = role.alternatives[step.alternative];
  Hash hash;
  hash.add(step.role).add(shape.value()).add(step.node.value());
  hash.add(devices.words()[0]).add(devices.words()[1]);
  const std::uint64_t before = picture_;
  picture_ += hash.value();
  bool found = false;
  if (tried_.insert(picture_).second) {
    Binding::Bond& gang = binding_->gang;
    Binding::Bond& group = binding_->groups[role.group];
    const DomainIndex gang_home = gang.home;
    const DomainIndex group_home = group.home;
    if (gang.bound()) gang.home = gang.level->of_node[step.node.value()];
    if (group.bound()) group.home = group.level->of_node[step.node.value()];
    const Txn::Mark mark = txn_.mark();
    const TaskIndex task = pending_[step.role].back();
    txn_.place(task, shape, step.node, devices);
    pending_[step.role].pop_back();
    --missing_[step.role];
    found = rest(step);
    ++missing_[step.role];
    pending_[step.role].push_back(task);
    if (!found) {
      txn_.rollback(mark);
      gang.home = gang_home;
      group.home = group_home;
    }
  }
  picture_ = before;
  return found;
}

}  // namespace tutti
