#include "sched/explain.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "sched/fit.h"
#include "sched/gang.h"
#include "sched/ideal_node.h"
#include "sched/trial.h"
#include "sched/txn.h"

namespace tutti {
namespace {

/// Nodes, ascending; none: anywhere.
using Home = std::optional<std::vector<NodeIndex>>;

/// The first thing that keeps the task from the node, asked in a fixed order.
Reject why(const TaskClass& task, const View& view, const PolicySet& policies, NodeIndex node) {
  if (!view.fleet().node(node).present) return {Reason::not_present};
  if (!view.fleet().open(node)) return {Reason::cordoned};
  const auto ask = [&](bool about_description) -> Reject {
    for (const auto& filter : policies.filters) {
      const bool describes = filter->depends_on() == Depends::class_and_description;
      if (describes != about_description || !filter->concerns(task)) continue;
      if (const Reject reject = filter->check(task, view, node); !reject.ok()) return reject;
    }
    return {};
  };
  if (const Reject reject = ask(true); !reject.ok()) return reject;
  if (const Reject reject = fit_reject(task, view, node); !reject.ok()) return reject;
  return ask(false);
}

void count(Explanation& out, const Reject& reject) {
  const auto same = std::ranges::find_if(out.counts, [&](const Explanation::Count& known) {
    return known.reject.reason == reject.reason && known.reject.detail == reject.detail;
  });
  if (same == out.counts.end()) {
    out.counts.push_back({reject, 1});
    return;
  }
  ++same->nodes;
  same->reject.shortfall = std::min(same->reject.shortfall, reject.shortfall);
}

void look_at_nodes(Explanation& out, const TaskClass& task, const View& view,
                   const PolicySet& policies, const Home& home) {
  std::int64_t least = INT64_MAX;
  for (std::size_t at = 0; at < view.fleet().size(); ++at) {
    const NodeIndex node(at);
    const Reject reject = why(task, view, policies, node);
    if (reject.ok()) {
      ++out.fitting;
      continue;
    }
    count(out, reject);
    const std::int64_t away = distance(task, reject);
    const bool elsewhere = home && !std::ranges::binary_search(*home, node);
    if (away >= least || elsewhere) continue;
    least = away;
    out.nearest = node;
    out.nearest_miss = reject;
  }
  std::ranges::stable_sort(out.counts, std::ranges::greater{}, &Explanation::Count::nodes);
}

/// Where tasks of the role must stand because others of the gang do.
Home home_of(const State& state, Workspace& workspace, const Gang& gang,
             const GangShape::Role& role) {
  const GangShape& shape = state.gang_shape(gang.shape);
  const GangShape::Group& group = shape.groups[role.group];
  Home out;
  const auto bind = [&](const Closeness& closeness, std::span<const GangShape::Role> roles) {
    if (closeness.level.empty() || !closeness.required) return;
    const NodeIndex there = anchor(state, gang, roles);
    if (!there.valid()) return;
    const Domains& level = workspace.domains(state, closeness.level);
    const DomainIndex domain = level.of_node[there.value()];
    std::vector<NodeIndex> members;
    if (domain.valid()) members = level.members[domain.value()];
    if (out)
      std::erase_if(members,
                    [&](NodeIndex node) { return !std::ranges::binary_search(*out, node); });
    out = std::move(members);
  };
  bind(shape.closeness, shape.roles);
  bind(group.closeness, std::span(shape.roles).subspan(group.first_role, group.roles));
  return out;
}

/// As many tasks as find places one by one, the choosiest first; the first that finds none is the
/// one to explain. Returns where that one must stand, if that is known.
Home look_at_tasks(Explanation& out, const State& state, Workspace& workspace, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  const GangShape& shape = state.gang_shape(gang.shape);
  const std::vector<const GangShape::Role*> order = choosiest_first(state, workspace, gang);
  Trial trial(state, workspace, index);
  Home where;
  for (const GangShape::Role* const each : order) {
    const GangShape::Role& role = *each;
    const std::uint32_t wanted = lacking(state, index, role);
    const Home home = home_of(state, workspace, gang, role);
    auto found = Trial::Found::place;
    for (std::uint32_t task = 0; task < wanted; ++task) {
      found = trial.take_one(role, home);
      if (found != Trial::Found::place) break;
      ++out.placed;
    }
    out.over_limit |= found == Trial::Found::limit;
    if (found != Trial::Found::place && !out.shape.valid()) {
      out.shape = role.alternatives.front();
      where = home;
    }
    out.wanted += wanted;
  }
  if (!out.shape.valid()) out.shape = shape.roles.front().alternatives.front();
  return where;
}

std::string tasks_text(std::uint32_t count) {
  return std::to_string(count) + (count == 1 ? " task" : " tasks");
}

std::string to_text(const DomainMiss& miss) {
  const std::string tasks = std::to_string(miss.wanted) + (miss.runs_there ? " more" : "") +
                            (miss.wanted == 1 ? " task" : " tasks");
  const std::string room = std::to_string(miss.room);
  if (miss.runs_there && miss.domain.empty()) {
    return "where it runs is in no " + miss.level + ", which all of it must share";
  }
  if (miss.runs_there) {
    return miss.level + " " + miss.domain + ", where it runs, has room for " + room + " of " +
           tasks;
  }
  if (miss.domain.empty()) return "no " + miss.level + " has room for any of " + tasks;
  return "no " + miss.level + " has room for " + tasks + "; " + miss.domain + " has room for " +
         room;
}

/// " lacks 2 devices", " has 8 of 9 such devices": the nearest miss.
std::string miss_text(const State& state, const Explanation& explanation) {
  const Reject& miss = explanation.nearest_miss;
  if (miss.reason == Reason::device_type_missing) {
    const std::int64_t asked = state.shape(explanation.shape).spec.devices[miss.detail].count;
    return " has " + std::to_string(asked - miss.shortfall) + " of " + std::to_string(asked) +
           " such devices";
  }
  if (miss.reason == Reason::devices_busy) {
    return " lacks " + std::to_string(miss.shortfall) +
           (miss.shortfall == 1 ? " device" : " devices");
  }
  return " lacks " + amount_text(state.fleet().lanes().name(Lane(miss.detail)), miss.shortfall);
}

/// Does no node have any device that the task could use?
bool nobody_has(const State& state, const Explanation& explanation) {
  const std::vector<DeviceRequest>& requests = state.shape(explanation.shape).spec.devices;
  return explanation.fitting == 0 &&
         std::ranges::all_of(explanation.counts, [&](const Explanation::Count& count) {
           return count.reject.reason == Reason::device_type_missing &&
                  count.reject.shortfall == requests[count.reject.detail].count;
         });
}

/// "whole devices with model == L4 and 10Gi memory": what a request asks for.
std::string devices_text(const DeviceRequest& request) {
  constexpr std::string_view uncut = " && !profile";
  std::string_view where = request.where.text();
  const bool whole = where.ends_with(uncut);
  if (whole) where.remove_suffix(uncut.size());
  std::string out = whole ? "whole devices" : "devices";
  if (!where.empty()) out += " with " + std::string(where);
  if (request.memory_mib > 0) {
    out += (where.empty() ? " with " : " and ") +
           amount_text("memory", std::int64_t{request.memory_mib} << 20U);
  }
  return out;
}

/// "the fleet has 4 x A100-80G, 2 x L4": the commonest first.
std::string devices_text(const Fleet& fleet) {
  std::map<std::string, unsigned> known;
  for (std::uint32_t row = 0; row < fleet.device_count(); ++row) {
    const DeviceType& type = fleet.types()[fleet.device_type(row).value()];
    ++known[type.model + (type.profile.empty() ? "" : " " + type.profile)];
  }
  std::vector<std::pair<std::string, unsigned>> models(known.begin(), known.end());
  std::ranges::stable_sort(models, std::greater<>(), &std::pair<std::string, unsigned>::second);
  std::string out = models.empty() ? "the fleet has no devices" : "the fleet has ";
  constexpr std::size_t most = 6;
  for (std::size_t at = 0; at < std::min(models.size(), most); ++at) {
    out += (at > 0 ? ", " : "") + std::to_string(models[at].second) + " x " + models[at].first;
  }
  if (models.size() > most) out += " and " + std::to_string(models.size() - most) + " other models";
  return out;
}

/// Of many facts of one kind only the first few are shown.
void append_facts(std::string& out, const State& state, const std::vector<Unblock>& facts,
                  const MayName& may_name) {
  constexpr std::size_t most = 8;
  if (!facts.empty()) out += "  it would start if";
  if (facts.size() > 1) out += " all of these hold";
  if (!facts.empty()) out += "\n";
  std::map<Unblock::Kind, std::size_t> shown;
  for (std::size_t at = 0; at < facts.size(); ++at) {
    const std::size_t alike = ++shown[facts[at].kind];
    if (alike <= most) out += "    " + to_text(state, facts[at], may_name) + "\n";
    const bool last = at + 1 == facts.size() || facts[at + 1].kind != facts[at].kind;
    if (last && alike > most) {
      out += "    and " + std::to_string(alike - most) + " more like these\n";
    }
  }
}

}  // namespace

Explanation reasons(const State& state, const PolicyFactory& factory, GangIndex index) {
  Explanation out;
  Workspace workspace(factory);
  workspace.sync(state);
  const Gang& gang = state.gangs()[index];
  out.running = gang.holding - gang.stopping;
  out.stopping = gang.stopping;
  {
    Txn txn(state, workspace);
    out.over_limit = over_limit(txn, index);
    out.search_limit = place_gang(txn, index).search_limit;
  }
  const Home home = look_at_tasks(out, state, workspace, index);
  look_at_nodes(out, workspace.task_class(state, out.shape), workspace.view(state),
                workspace.policies(), home);
  if (out.placed >= out.wanted || out.running > 0) out.apart = domain_miss(state, workspace, index);
  return out;
}

Explanation explain(const State& state, const PolicyFactory& factory, GangIndex index) {
  Explanation out = reasons(state, factory, index);
  Unblocking unblocking = unblock(state, factory, index);
  if (unblocking.never) out.outcome = Outcome::never;
  out.unblock = std::move(unblocking.facts);
  out.facts_limit = unblocking.search_limit;
  return out;
}

std::string to_text(const State& state, const Explanation& explanation, const Reject& reject) {
  const TaskShape& shape = state.shape(explanation.shape).spec;
  switch (reject.reason) {
    case Reason::none:
      return "fits";
    case Reason::not_present:
      return "gone";
    case Reason::cordoned:
      return "cordoned";
    case Reason::lane_short:
      return "not enough " + state.fleet().lanes().name(Lane(reject.detail));
    case Reason::lane_unknown:
      return "no such resource";
    case Reason::device_type_missing: {
      const DeviceRequest& request = shape.devices[reject.detail];
      return (reject.shortfall < request.count ? "too few " : "no ") + devices_text(request);
    }
    case Reason::devices_unhealthy:
      return "devices not healthy";
    case Reason::devices_busy:
      return "devices in use";
    case Reason::devices_apart:
      return "free devices not in one " + shape.devices[reject.detail].closeness.level;
    case Reason::selector_mismatch:
      return "other labels than asked for";
    case Reason::taint_not_tolerated:
      return "a taint that is not tolerated";
    case Reason::stack_mismatch:
      return "no fitting version of " + shape.stack[reject.detail].name;
    case Reason::port_taken:
      return "port " + std::to_string(reject.detail) + " in use";
    case Reason::affinity_unmet:
      return "away from the tasks it must be near";
    case Reason::anti_affinity_broken:
      return "near tasks it must be away from";
    case Reason::spread_exceeded:
      return "more tasks than an even spread allows";
  }
  return {};
}

std::string to_text(const State& state, const Explanation& explanation, const MayName& may_name) {
  const bool more = explanation.running > 0;
  const bool never = explanation.outcome == Outcome::never;
  std::string out =
      never ? (more ? "never grows" : "never fits") : (more ? "waits to grow" : "waits");
  if (more)
    out += "; " + tasks_text(explanation.running) + (explanation.running == 1 ? " runs" : " run");
  // Where all tasks find places one by one, or a limit refuses them, no node stands in the way.
  const bool nodes_matter = explanation.placed < explanation.wanted &&
                            !(explanation.over_limit && explanation.fitting > 0);
  if (more || explanation.wanted > 1) {
    out += ": " + std::to_string(explanation.placed) + " of " + std::to_string(explanation.wanted) +
           (more ? " more" : "") + (explanation.wanted == 1 ? " task" : " tasks") +
           " would find places";
    if (!nodes_matter && !explanation.apart.level.empty()) {
      out += ", but not as near each other as they must be";
    } else if (!nodes_matter && !explanation.over_limit && !explanation.search_limit &&
               explanation.stopping == 0) {
      out += ", but not all at once as they must be";
    }
  }
  out += "\n";
  if (explanation.stopping > 0) {
    out += "  it starts anew once " + tasks_text(explanation.stopping) +
           (explanation.stopping == 1 ? " has" : " have") + " stopped\n";
  }
  if (explanation.search_limit) {
    out += "  the search for places stopped at its limit: there may be some\n";
  }
  if (explanation.over_limit) out += "  its queue's limit is reached\n";
  if (!explanation.apart.level.empty()) out += "  " + to_text(explanation.apart) + "\n";
  for (const Explanation::Count& count : explanation.counts) {
    if (!nodes_matter) break;
    out += "  " + std::to_string(count.nodes) + (count.nodes == 1 ? " node  " : " nodes  ") +
           to_text(state, explanation, count.reject) + "\n";
  }
  if (nodes_matter && explanation.fitting > 0 && explanation.apart.level.empty()) {
    out += "  " + std::to_string(explanation.fitting) +
           (explanation.fitting == 1 ? " node  has" : " nodes  have") + " room, but not for all\n";
  }
  if (nodes_matter && explanation.nearest.valid()) {
    out += "  nearest: " + state.fleet().node(explanation.nearest).name +
           miss_text(state, explanation) + "\n";
  }
  if (nodes_matter && nobody_has(state, explanation))
    out += "  " + devices_text(state.fleet()) + "\n";
  append_facts(out, state, explanation.unblock, may_name);
  if (explanation.facts_limit) {
    out += "    and perhaps more, or not all of these: the search stopped at its limit\n";
  }
  return out;
}

}  // namespace tutti
