/// The part of the search that tries everything: what binds the gang, what counting refutes.
#include <algorithm>

#include "sched/fit.h"
#include "sched/gang_search.h"

namespace tutti {

GangShape::Group GangSearch::whole_gang() const {
  return {.closeness = shape_.closeness,
          .first_role = 0,
          .roles = static_cast<std::uint32_t>(shape_.roles.size())};
}

std::size_t GangSearch::wishes() const {
  const auto groups = std::ranges::count_if(
      shape_.groups, [](const auto& group) { return wished(group.closeness); });
  return static_cast<std::size_t>(groups) + (wished(shape_.closeness) ? 1 : 0);
}

/// How many of the first wishes the placement at hand makes true.
std::size_t GangSearch::wishes_met() const {
  std::size_t met = 0;
  if (wished(shape_.closeness)) {
    if (!gang_home_) return met;
    ++met;
  }
  for (std::size_t at = 0; at < shape_.groups.size(); ++at) {
    if (!wished(shape_.groups[at].closeness)) continue;
    if (chosen_[at].empty()) return met;
    ++met;
  }
  return met;
}

/// No domain can hold the group, so its wish and those after it stay open.
void GangSearch::give_up_wish(std::size_t number) {
  if (!wished(shape_.groups[number].closeness)) return;
  std::size_t before = wished(shape_.closeness) ? 1 : 0;
  for (std::size_t at = 0; at < number; ++at) {
    before += wished(shape_.groups[at].closeness) ? 1 : 0;
  }
  wishes_possible_ = std::min(wishes_possible_, before);
}

/// Tasks that the minima lacked when the search began.
std::uint64_t GangSearch::missing_before() const {
  std::uint64_t sum = 0;
  for (const GangShape::Role& role : shape_.roles) {
    const std::uint32_t stand = tutti::standing(state_, gang_, role);
    sum += least(role) > stand ? least(role) - stand : 0;
  }
  return sum;
}

/// Did the quick search try all that makes a difference? So it is for one role of equal tasks that
/// mind nobody: each takes a place from the next, whichever it is.
bool GangSearch::quick_is_exact() {
  if (attempts_ > attempts_max) return false;
  const GangShape::Role* only = nullptr;
  for (const GangShape::Role& role : shape_.roles) {
    if (least(role) <= standing(role)) continue;
    if (only != nullptr) return false;
    only = &role;
  }
  if (only == nullptr) return true;
  if (only->alternatives.size() != 1) return false;
  const TaskShape& task = state_.shape(only->alternatives.front()).spec;
  return !minds_others(task) && std::ranges::all_of(task.devices, [](const DeviceRequest& request) {
    return request.count == 1 || !request.shared();
  });
}

/// Orders roles, and groups by their choosiest role. False when that is the order they have.
bool GangSearch::put_choosiest_first() {
  const std::vector<Choosiness> choosiness = choosiness_of(state_, txn_.workspace(), gang_);
  std::vector<std::uint32_t> roles = role_order_;
  std::vector<Choosiness> of_group;
  for (const GangShape::Group& group : shape_.groups) {
    const auto first = roles.begin() + group.first_role;
    std::stable_sort(first, first + group.roles, [&](std::uint32_t a, std::uint32_t b) {
      return choosiness[a] < choosiness[b];
    });
    of_group.push_back(choosiness[*first]);
  }
  std::vector<std::uint32_t> groups = group_order_;
  std::ranges::stable_sort(groups, {}, [&](std::uint32_t group) { return of_group[group]; });
  const bool same = roles == role_order_ && groups == group_order_;
  role_order_ = std::move(roles);
  group_order_ = std::move(groups);
  return !same;
}

/// Binds a closeness to its level. False where counting shows that no domain holds the tasks.
bool GangSearch::bind(Binding::Bond& bond, const GangShape::Group& group, NodeIndex there) {
  const Domains& level = txn_.workspace().domains(state_, group.closeness.level);
  bond.level = &level;
  if (there.valid()) {
    bond.home = level.of_node[there.value()];
    return bond.home.valid();
  }
  bond.possible.assign(level.members.size(), 0);
  const std::vector<DomainIndex> domains = candidates(group, level, {}, true);
  for (const DomainIndex domain : domains) bond.possible[domain.value()] = 1;
  return !domains.empty() || !lacks_any(group);
}

bool GangSearch::bind(Binding& binding, std::size_t wishes) {
  const auto binds = [&](const Closeness& closeness) {
    if (!constrained(closeness)) return false;
    if (closeness.required) return true;
    if (wishes == 0) return false;
    --wishes;
    return true;
  };
  binding.groups.resize(shape_.groups.size());
  if (binds(shape_.closeness) && !bind(binding.gang, whole_gang(), anchor())) return false;
  for (std::size_t at = 0; at < shape_.groups.size(); ++at) {
    const GangShape::Group& group = shape_.groups[at];
    if (binds(group.closeness) && !bind(binding.groups[at], group, anchor(group))) return false;
  }
  return true;
}

/// With so many wishes taken for needs: is there any assignment at all?
ExactSearch::Answer GangSearch::place_exactly(std::size_t wishes) {
  Binding binding;
  if (!bind(binding, wishes) || short_of_places() || short_in_all()) {
    return ExactSearch::Answer::none;
  }
  const Txn::Mark mark = txn_.mark();
  const auto index = state_.tasks()[gang_.first_task].gang;
  const ExactSearch::Answer answer =
      ExactSearch(txn_, index, {least_, role_order_}, units_).run(binding);
  if (answer != ExactSearch::Answer::found) return answer;
  txn_.deal_in_node_order(mark);
  for (std::size_t at = mark; at < txn_.size(); ++at) {
    placed(state_.find(txn_.action(at).task)) = 1;
  }
  refresh_since(mark);
  const auto members = [](const Binding::Bond& bond) {
    return bond.home.valid() ? Nodes(bond.level->members[bond.home.value()]) : Nodes();
  };
  const bool anywhere = !binding.gang.home.valid();
  const Nodes within = members(binding.gang);
  for (std::size_t at = 0; at < chosen_.size(); ++at) {
    const Nodes home = members(binding.groups[at]);
    homeless_[at] = binding.groups[at].bound() && !binding.groups[at].home.valid();
    chosen_[at].clear();
    if (anywhere) {
      chosen_[at].assign(home.begin(), home.end());
    } else {
      std::ranges::set_intersection(home, within, std::back_inserter(chosen_[at]));
    }
  }
  grow(within, anywhere);
  return answer;
}

/// Has some role fewer places in the whole fleet than it needs?
bool GangSearch::short_of_places() {
  Workspace& workspace = txn_.workspace();
  for (const GangShape::Role& role : shape_.roles) {
    std::uint64_t lacking = missing(role);
    for (std::size_t at = 0; at < state_.fleet().size() && lacking > 0; ++at) {
      if (!state_.fleet().open(NodeIndex(at))) continue;
      for (const ShapeIndex shape : role.alternatives) {
        const TaskClass& task = workspace.task_class(state_, shape);
        lacking -= std::min<std::uint64_t>(
            lacking, tutti::slots(task, txn_.view(), NodeIndex(at), shape_.tasks));
      }
    }
    if (lacking > 0) return true;
  }
  return false;
}

/// Do all roles together lack accelerators, even where each alone finds enough?
bool GangSearch::short_in_all() {
  std::int64_t wanted = 0;
  for (const GangShape::Role& role : shape_.roles) {
    wanted += missing(role) * least_gpus(state_, role);
  }
  for (const std::uint16_t open : txn_.view().usage.open_permille()) {
    if (wanted <= 0) break;
    wanted -= open;
  }
  return wanted > 0;
}

}  // namespace tutti
