#include "sched/gang_search.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "sched/fit.h"

namespace tutti {
namespace {

/// Nodes of both lists; both ascend.
std::vector<NodeIndex> common(std::span<const NodeIndex> a, std::span<const NodeIndex> b) {
  std::vector<NodeIndex> out;
  std::ranges::set_intersection(a, b, std::back_inserter(out));
  return out;
}

}  // namespace

GangSearch::GangSearch(Txn& txn, GangIndex gang)
    : txn_(txn),
      state_(txn.state()),
      gang_(state_.gangs()[gang]),
      shape_(state_.gang_shape(gang_.shape)),
      queue_(state_.jobs()[gang_.job].queue) {}

Placing GangSearch::run() {
  const bool alone = gang_.tasks == 1 && shape_.groups.size() == 1;
  if (alone && !constrained(shape_.closeness) && !constrained(shape_.groups.front().closeness)) {
    return {.placed = place_task(gang_.first_task, shape_.roles.front(), {}, true)};
  }
  chosen_.resize(shape_.groups.size());
  placed_.resize(gang_.tasks);
  start_ = txn_.mark();
  for (const GangShape::Role& role : shape_.roles) least_.push_back(role.min);
  group_order_.resize(shape_.groups.size());
  std::iota(group_order_.begin(), group_order_.end(), 0);
  role_order_.resize(shape_.roles.size());
  std::iota(role_order_.begin(), role_order_.end(), 0);
  const Placing placing = place();
  if (placing && wishes_met() < wishes()) txn_.took(RarePath::wish_given_up);
  return placing;
}

Placing GangSearch::place() {
  const bool stands = std::ranges::all_of(
      shape_.roles, [&](const GangShape::Role& role) { return missing(role) == 0; });
  if (!stands) return place_minima();
  // What lacks nothing starts, or grows, with any one task more.
  Placing placing;
  for (std::size_t at = 0; at < least_.size(); ++at) {
    const std::uint32_t there = standing(shape_.roles[at]);
    if (there == shape_.roles[at].count) continue;
    least_[at] = there + 1;
    const Placing one = place_minima();
    least_[at] = shape_.roles[at].min;
    if (one) {
      if (gang_.holding == 0) txn_.took(RarePath::started_without_minimum);
      return one;
    }
    placing.search_limit |= one.search_limit;
  }
  return placing;
}

Placing GangSearch::place_minima() {
  wishes_possible_ = wishes();
  bool quick = place_quickly();
  if (!quick && attempts_ <= attempts_max && !quick_is_exact() && put_choosiest_first()) {
    quick = place_quickly();
    if (quick) txn_.took(RarePath::choosiest_first);
  }
  if (quick && wishes_met() >= wishes_possible_) return {.placed = true};
  if (!quick && quick_is_exact()) return {};
  // What is too large to be tried is better left as it is than undone and done again.
  if (quick && missing_before() > ExactSearch::tasks_max) {
    txn_.took(RarePath::exact_too_large);
    return {.placed = true};
  }
  const std::size_t met = quick ? wishes_met() + 1 : 0;
  if (quick) undo(start_);
  bool gave_up = false;
  for (std::size_t wanted = wishes_possible_ + 1; wanted-- > met;) {
    const ExactSearch::Answer answer = place_exactly(wanted);
    if (answer == ExactSearch::Answer::found) return {.placed = true};
    gave_up |= answer == ExactSearch::Answer::gave_up;
  }
  if (quick) return {.placed = place_quickly()};
  return {.placed = false, .search_limit = gave_up};
}

bool GangSearch::place_quickly() {
  for (auto& nodes : chosen_) nodes.clear();
  homeless_.assign(chosen_.size(), false);
  gang_home_ = false;
  attempts_ = 0;
  if (!constrained(shape_.closeness)) return place_all({}, true);
  const Domains& level = txn_.workspace().domains(state_, shape_.closeness.level);
  // A gang that partly runs stays where it is.
  if (const NodeIndex there = anchor(); there.valid()) {
    const DomainIndex domain = level.of_node[there.value()];
    gang_home_ = domain.valid() && place_all(level.members[domain.value()], false);
    return gang_home_ || (!shape_.closeness.required && place_all({}, true));
  }
  const std::vector<DomainIndex> domains = candidates(whole_gang(), level, {}, true);
  if (domains.empty()) wishes_possible_ = 0;
  for (const DomainIndex domain : domains) {
    if (!may_try_domain()) return false;
    gang_home_ = place_all(level.members[domain.value()], false);
    if (gang_home_) return true;
  }
  return !shape_.closeness.required && place_all({}, true);
}

/// All minima within some nodes (or anywhere), then what else fits; undone when it fails.
bool GangSearch::place_all(Nodes within, bool anywhere) {
  const Txn::Mark mark = txn_.mark();
  if (!place_groups(0, within, anywhere)) {
    undo(mark);
    return false;
  }
  grow(within, anywhere);
  return true;
}

/// The groups from this position of their order on.
bool GangSearch::place_groups(std::size_t from, Nodes within, bool anywhere) {
  if (from == shape_.groups.size()) return true;
  const std::size_t number = group_order_[from];
  const GangShape::Group& group = shape_.groups[number];
  if (constrained(group.closeness)) {
    if (try_domains(from, within, anywhere)) return true;
    // Of a group that lacks nothing no task is placed now, and so none in a wrong place.
    if (group.closeness.required && lacks_any(group)) return false;
    homeless_[number] = group.closeness.required;
  }
  chosen_[number].clear();
  return place_group(number, within, anywhere) && place_groups(from + 1, within, anywhere);
}

/// Puts the group into one domain of its level and goes on with the next; revises when that fails.
bool GangSearch::try_domains(std::size_t from, Nodes within, bool anywhere) {
  const std::size_t number = group_order_[from];
  const GangShape::Group& group = shape_.groups[number];
  const Domains& level = txn_.workspace().domains(state_, group.closeness.level);
  std::vector<DomainIndex> domains;
  if (const NodeIndex there = anchor(group); there.valid()) {
    domains.push_back(level.of_node[there.value()]);
    if (!domains.front().valid()) return false;
  } else {
    domains = candidates(group, level, within, anywhere);
    if (domains.empty() && anywhere && txn_.mark() == start_) give_up_wish(number);
    if (!enough_for_equals(from, level, domains)) return false;
  }
  for (const DomainIndex domain : domains) {
    if (!may_try_domain()) return false;
    const std::vector<NodeIndex>& members = level.members[domain.value()];
    const Txn::Mark mark = txn_.mark();
    chosen_[number] = anywhere ? members : common(members, within);
    homeless_[number] = false;
    if (place_group(number, chosen_[number], false)) {
      refresh_since(mark);
      if (place_groups(from + 1, within, anywhere)) return true;
      txn_.took(RarePath::domain_revised);
    }
    undo(mark);
  }
  return false;
}

/// One more domain, within the budget of the gang.
bool GangSearch::may_try_domain() {
  if (++attempts_ <= attempts_max) return true;
  if (attempts_ == attempts_max + 1) txn_.took(RarePath::attempts_spent);
  return false;
}

void GangSearch::undo(Txn::Mark mark) {
  std::vector<NodeIndex> nodes;
  for (std::size_t at = mark; at < txn_.size(); ++at) {
    nodes.push_back(txn_.action(at).node);
    placed(state_.find(txn_.action(at).task)) = 0;
  }
  txn_.rollback(mark);
  for (const NodeIndex node : nodes) refresh(node);
}

std::uint32_t GangSearch::standing(const GangShape::Role& role) {
  std::uint32_t count = 0;
  for (std::uint32_t offset = 0; offset < role.count; ++offset) {
    const TaskIndex task = task_of(role, offset);
    count += stands(state_.tasks()[task].phase) || placed(task) != 0 ? 1 : 0;
  }
  return count;
}

bool GangSearch::lacks_any(const GangShape::Group& group) {
  for (std::uint32_t at = 0; at < group.roles; ++at) {
    if (missing(shape_.roles[group.first_role + at]) > 0) return true;
  }
  return false;
}

/// The minimum of each role of the group.
bool GangSearch::place_group(std::size_t number, Nodes within, bool anywhere) {
  const GangShape::Group& group = shape_.groups[number];
  for (std::uint32_t at = 0; at < group.roles; ++at) {
    const GangShape::Role& role = shape_.roles[role_order_[group.first_role + at]];
    if (!place_role(role, least(role), within, anywhere)) return false;
  }
  return true;
}

/// Places pending tasks of the role until `wanted` of it stand.
bool GangSearch::place_role(const GangShape::Role& role, std::uint32_t wanted, Nodes within,
                            bool anywhere) {
  std::uint32_t stand = standing(role);
  const Txn::Mark mark = txn_.mark();
  for (std::uint32_t offset = 0; offset < role.count && stand < wanted; ++offset) {
    const TaskIndex task = task_of(role, offset);
    if (state_.tasks()[task].phase != TaskPhase::pending || placed(task) != 0) continue;
    if (!place_task(task, role, within, anywhere)) break;
    placed(task) = 1;
    ++stand;
  }
  if (txn_.size() > mark + 1) txn_.deal_in_node_order(mark);
  return stand >= wanted;
}

bool GangSearch::place_task(TaskIndex task, const GangShape::Role& role, Nodes within,
                            bool anywhere) {
  const Place place = best_place(role, within, anywhere);
  if (!place.node.valid()) return false;
  txn_.place(task, place.shape, place.node);
  return true;
}

/// The alternative to take and its best node; no node where none fits.
GangSearch::Place GangSearch::best_place(const GangShape::Role& role, Nodes within, bool anywhere) {
  Workspace& workspace = txn_.workspace();
  const bool rated = workspace.policies().alternatives == AlternativeChoice::by_score &&
                     role.alternatives.size() > 1;
  Place best;
  Permille highest = 0;
  for (const ShapeIndex shape : role.alternatives) {
    if (!txn_.within_limits(queue_, shape)) {
      txn_.took(RarePath::limit_refused_task);
      continue;
    }
    const NodeIndex node =
        anywhere ? workspace.best(state_, shape) : workspace.best_among(state_, shape, within);
    if (!node.valid()) continue;
    if (!rated) return {shape, node};
    const Permille rating = workspace.rate(state_, shape, node);
    if (best.node.valid() && rating <= highest) continue;
    best = {shape, node};
    highest = rating;
  }
  return best;
}

/// Elastic roles get what is left, one role after the other, each in the domain of its group; a
/// later search chooses a domain for what has none yet.
void GangSearch::grow(Nodes within, bool anywhere) {
  for (const GangShape::Role& role : shape_.roles) {
    if (role.min == role.count || homeless_[role.group]) continue;
    const std::vector<NodeIndex>& home = chosen_[role.group];
    place_role(role, role.count, home.empty() ? within : Nodes(home), home.empty() && anywhere);
  }
}

// --- Choosing domains ---------------------------------------------------------------------------

std::vector<GangSearch::Need> GangSearch::needs_of(const GangShape::Group& group,
                                                   const Domains& level) {
  std::vector<Need> needs;
  for (std::uint32_t at = 0; at < group.roles; ++at) {
    const GangShape::Role& role = shape_.roles[group.first_role + at];
    Need need{.missing = missing(role), .slots = {}};
    for (const ShapeIndex shape : role.alternatives) need.slots.push_back(&slots(shape, level));
    needs.push_back(std::move(need));
  }
  return needs;
}

/// How many groups like this one the domain can hold at most, judged role by role.
std::uint64_t GangSearch::capacity(const std::vector<Need>& needs, DomainIndex domain) {
  std::uint64_t least = UINT64_MAX;
  for (const Need& need : needs) {
    if (need.missing > 0) least = std::min(least, need.places(domain) / need.missing);
  }
  return least;
}

bool GangSearch::has_room(const std::vector<Need>& needs, DomainIndex domain) {
  return std::ranges::all_of(needs,
                             [&](const Need& need) { return need.places(domain) >= need.missing; });
}

/// Domains that could hold the group, the tightest first.
std::vector<DomainIndex> GangSearch::candidates(const GangShape::Group& group, const Domains& level,
                                                Nodes within, bool anywhere) {
  std::vector<char> allowed(level.members.size(), anywhere ? 1 : 0);
  for (const NodeIndex node : within) {
    const DomainIndex domain = level.of_node[node.value()];
    if (domain.valid()) allowed[domain.value()] = 1;
  }
  const std::vector<Need> needs = needs_of(group, level);
  std::vector<std::pair<std::uint64_t, DomainIndex>> ranked;
  for (std::size_t at = 0; at < level.members.size(); ++at) {
    const DomainIndex domain(at);
    if (allowed[at] == 0) continue;
    const std::uint64_t places = needs.front().places(domain);
    if (places < needs.front().missing || !has_room(needs, domain)) continue;
    // Where nothing must stand, something should have room to.
    ranked.emplace_back(places > 0 ? places : UINT64_MAX, domain);
  }
  std::ranges::sort(ranked);
  std::vector<DomainIndex> domains;
  domains.reserve(ranked.size());
  for (const auto& [places, domain] : ranked) domains.push_back(domain);
  return domains;
}

/// Do the domains hold this group and all after it that lack the same and are bound to none of
/// them? Counting refutes what trying would take for ever to refute.
bool GangSearch::enough_for_equals(std::size_t from, const Domains& level,
                                   const std::vector<DomainIndex>& domains) {
  const GangShape::Group& group = shape_.groups[group_order_[from]];
  const auto equal = [&](const GangShape::Group& other) {
    if (other.closeness != group.closeness || other.roles != group.roles) return false;
    for (std::uint32_t at = 0; at < group.roles; ++at) {
      const GangShape::Role& a = shape_.roles[group.first_role + at];
      const GangShape::Role& b = shape_.roles[other.first_role + at];
      if (a.alternatives != b.alternatives || missing(a) != missing(b)) return false;
    }
    return !anchor(other).valid();
  };
  std::uint64_t wanted = 0;
  for (std::size_t at = from; at < shape_.groups.size(); ++at) {
    wanted += equal(shape_.groups[group_order_[at]]) ? 1 : 0;
  }
  std::uint64_t held = 0;
  const std::vector<Need> needs = needs_of(group, level);
  for (const DomainIndex domain : domains) held += capacity(needs, domain);
  return held >= wanted;
}

GangSearch::Slots& GangSearch::slots(ShapeIndex shape, const Domains& level) {
  for (const auto& known : slots_) {
    if (known->shape == shape && known->level == &level) return *known;
  }
  slots_.push_back(std::make_unique<Slots>(Slots{.shape = shape, .level = &level}));
  Slots& fresh = *slots_.back();
  fresh.of_node.resize(level.of_node.size());
  fresh.of_domain.resize(level.members.size());
  Workspace& workspace = txn_.workspace();
  static_cast<void>(workspace.best_among(state_, shape, {}));  // Repairs the ratings.
  const bool indexed = workspace.indexed(state_, shape);
  for (std::size_t at = 0; at < level.of_node.size(); ++at) {
    const NodeIndex node(at);
    const DomainIndex domain = level.of_node[at];
    if (!domain.valid() || !state_.fleet().open(node)) continue;
    if (indexed && workspace.rating(state_, shape, node) == ClassIndex::unfit) continue;
    const TaskClass& task = workspace.task_class(state_, shape);
    fresh.of_node[at] = tutti::slots(task, txn_.view(), node, shape_.tasks);
    fresh.of_domain[domain.value()] += fresh.of_node[at];
  }
  fresh.at_first = fresh.of_node;
  // What was placed before this count was made may be undone again.
  for (std::size_t at = start_; at < txn_.size(); ++at) {
    fresh.at_first[txn_.action(at).node.value()] = 1;
  }
  return fresh;
}

/// After what is held on a node changed.
void GangSearch::refresh(NodeIndex node) {
  for (const auto& each : slots_) {
    const DomainIndex domain = each->level->of_node[node.value()];
    // Where it could not stand at first, it never can: its filters said no, or it is too small.
    if (!domain.valid() || each->at_first[node.value()] == 0) continue;
    const TaskClass& task = txn_.workspace().task_class(state_, each->shape);
    std::uint32_t& here = each->of_node[node.value()];
    each->of_domain[domain.value()] -= here;
    here = tutti::slots(task, txn_.view(), node, shape_.tasks);
    each->of_domain[domain.value()] += here;
  }
}

void GangSearch::refresh_since(Txn::Mark mark) {
  for (std::size_t at = mark; at < txn_.size(); ++at) refresh(txn_.action(at).node);
}

NodeIndex GangSearch::anchor(const GangShape::Group& group) const {
  return tutti::anchor(state_, gang_,
                       std::span(shape_.roles).subspan(group.first_role, group.roles));
}

NodeIndex GangSearch::anchor() const {
  return gang_.holding == 0 ? NodeIndex::none() : tutti::anchor(state_, gang_, shape_.roles);
}

}  // namespace tutti
