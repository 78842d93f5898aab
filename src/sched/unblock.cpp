#include "sched/unblock.h"

#include <algorithm>
#include <map>
#include <set>

#include "sched/fit.h"
#include "sched/ideal_node.h"
#include "sched/what_if.h"

namespace tutti {
namespace {

using Facts = std::vector<Unblock>;

/// Trials, then the facts at hand are given as they are, superfluous ones among them: a trial takes
/// about 10 ms on 10 000 nodes, and people wait for the answer.
constexpr unsigned trials_max = 200;

class Search {
 public:
  Search(const State& state, const PolicyFactory& factory, GangIndex gang)
      : state_(state),
        factory_(factory),
        index_(gang),
        gang_(state.gangs()[gang]),
        shape_(state.gang_shape(gang_.shape)) {
    order_nodes();
  }

  Unblocking run() {
    Unblocking out;
    const Facts limits = raised_limits();
    const Facts ends = ended_tasks();
    const Facts repairs = repaired();
    out.never = !starts_when_empty(joined(ends, repairs));
    if (!out.never) {
      for (const Facts& all : {limits, joined(limits, ends), joined(limits, repairs),
                               joined(joined(limits, ends), repairs)}) {
        out.facts = enough_of(all);
        if (!out.facts.empty()) return out;
      }
    }
    const Facts company = companions();
    Facts all = joined(joined(limits, company), joined(ends, repairs));
    if (!company.empty()) out.facts = enough_of(joined(limits, company));
    if (out.facts.empty() && !company.empty()) out.facts = enough_of(all);
    if (out.facts.empty() && untouched()) out.facts = enough_of(joined(tolerated(), all));
    if (out.facts.empty()) out.facts = more_nodes(limits);
    return out;
  }

 private:
  // --- Trials -----------------------------------------------------------------------------------

  bool starts(const Facts& facts, std::vector<NodeIndex>* nodes = nullptr) const {
    ++trials_;
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    return world.starts(factory_, nodes);
  }

  /// On the emptied, healthy fleet; what it must be near may be there again by then.
  bool starts_when_empty(const Facts& facts) const {
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    if (untouched() && !terms().empty()) world.forget_company();
    return world.starts(factory_);
  }

  static Facts joined(Facts a, const Facts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  /// A part of the facts that is enough, and none of it superfluous; none where all are too little.
  /// Earlier facts are preferred.
  Facts enough_of(const Facts& all) const {
    std::vector<NodeIndex> nodes;
    if (all.empty() || !starts(all, &nodes)) return {};
    // Mostly only what concerns the nodes that it would take is needed.
    std::size_t low = 0;
    std::size_t high = all.size();
    while (low + 1 < high && !tired()) {
      const std::size_t middle = (low + high) / 2;
      std::vector<NodeIndex> there;
      const Facts part(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(middle));
      if (starts(part, &there)) {
        high = middle;
        nodes = std::move(there);
      } else {
        low = middle;
      }
    }
    Facts some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(high));
    Facts near = some;
    std::erase_if(near, [&](const Unblock& fact) {
      return fact.node.valid() && std::ranges::find(nodes, fact.node) == nodes.end();
    });
    if (starts(near)) some = std::move(near);
    Facts least = needed(some, {}, false);
    return starts(least) ? least : drop_one_by_one(some);
  }

  /// The facts of `from` without which, with `given`, the gang does not start: halves that are not
  /// needed fall as one.
  Facts needed(const Facts& from, const Facts& given, bool given_changed) const {
    if (given_changed && starts(given)) return {};
    if (from.size() <= 1 || tired()) return from;
    const auto half = from.begin() + static_cast<std::ptrdiff_t>(from.size() / 2);
    const Facts first(from.begin(), half);
    const Facts second(half, from.end());
    const Facts late = needed(second, joined(given, first), true);
    const Facts early = needed(first, joined(given, late), !late.empty());
    return joined(early, late);
  }

  /// Where fewer facts can be worse than more: what can go, goes.
  Facts drop_one_by_one(Facts facts) const {
    for (std::size_t at = facts.size(); at-- > 0 && !tired();) {
      Facts fewer = facts;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
      if (starts(fewer)) facts = std::move(fewer);
    }
    return facts;
  }

  // --- What could happen ------------------------------------------------------------------------

  /// Nodes in the order of how little they lack for the gang's first task.
  void order_nodes() {
    const TaskClass task{.shape = front(), .row = &state_.shape(front())};
    const View view{state_, state_.usage()};
    std::vector<std::pair<std::int64_t, NodeIndex>> ranked;
    for (std::size_t at = 0; at < state_.fleet().size(); ++at) {
      const Reject reject = fit_reject(task, view, NodeIndex(at));
      ranked.emplace_back(reject.ok() ? 0 : distance(task, reject), NodeIndex(at));
    }
    std::ranges::sort(ranked);
    for (const auto& [away, node] : ranked) nodes_.push_back(node);
  }

  ShapeIndex front() const { return shape_.roles.front().alternatives.front(); }

  Facts raised_limits() const {
    Facts out;
    QueueIndex queue = state_.jobs()[gang_.job].queue;
    for (; queue.valid(); queue = state_.queue(queue).parent) raise_limits(queue, out);
    return out;
  }

  /// What this very queue would have to grant at most, by whichever alternatives.
  void raise_limits(QueueIndex index, Facts& out) const {
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

  /// Tasks of others, those on the nearest nodes first; last, those that it wants to be near.
  Facts ended_tasks() const {
    std::map<NodeIndex, Facts> by_node;
    Facts friends;
    const std::vector<const TaskAffinity*> company = terms();
    for (std::size_t at = 0; at < state_.tasks().size(); ++at) {
      const TaskIndex index(at);
      const Task& task = state_.tasks()[index];
      if (!task.gang.valid() || !holds(task.phase) || task.gang == index_) continue;
      const Unblock fact{
          .kind = Unblock::Kind::task_ends, .node = task.node, .task = state_.id_of(index)};
      const bool wanted = std::ranges::any_of(company, [&](const TaskAffinity* term) {
        return term->tasks.matches(state_.shape(task.shape).spec.labels);
      });
      (wanted ? friends : by_node[task.node]).push_back(fact);
    }
    Facts out;
    for (const NodeIndex node : nodes_) {
      const auto here = by_node.find(node);
      if (here != by_node.end()) out = joined(std::move(out), here->second);
    }
    return joined(std::move(out), friends);
  }

  Facts repaired() const {
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

  /// Every taint that keeps someone away, once.
  Facts tolerated() const {
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

  /// The terms by which the gang's tasks must be near others.
  std::vector<const TaskAffinity*> terms() const {
    std::vector<const TaskAffinity*> out;
    for (const GangShape::Role& role : shape_.roles) {
      for (const ShapeIndex shape : role.alternatives) {
        for (const TaskAffinity& term : state_.shape(shape).spec.affinities) {
          if (!term.anti && term.weight == 0) out.push_back(&term);
        }
      }
    }
    return out;
  }

  /// A task for each such term on each node that takes work.
  Facts companions() const {
    Facts out;
    for (const GangShape::Role& role : shape_.roles) {
      for (const ShapeIndex shape : role.alternatives) {
        const TaskShape& spec = state_.shape(shape).spec;
        for (const TaskAffinity& term : spec.affinities) {
          if (term.anti || term.weight != 0) continue;
          TaskShape companion{.space = spec.space};
          if (!term.namespaces.empty() && term.namespaces.front() != "*") {
            companion.space = term.namespaces.front();
          }
          fulfil(term.tasks, companion.labels);
          for (const NodeIndex node : nodes_) {
            if (!state_.fleet().node(node).present) continue;
            out.push_back({.kind = Unblock::Kind::company, .node = node, .companion = companion});
          }
        }
      }
    }
    return out;
  }

  /// New nodes: for each role its own kind, or one that holds all of the gang.
  Facts more_nodes(const Facts& limits) const {
    std::size_t alternatives = 0;
    for (const GangShape::Role& role : shape_.roles) {
      alternatives = std::max(alternatives, role.alternatives.size());
    }
    for (std::size_t at = 0; at < alternatives; ++at) {
      for (const Facts& nodes :
           {ideal_nodes(state_, index_, at, nodes_), ideal_node(state_, index_, at, nodes_)}) {
        const Facts all = joined(limits, nodes);
        if (!nodes.empty() && starts(all)) return fewest(all);
      }
    }
    return {};
  }

  /// No fact too many, and of each kind of node as few as will do.
  Facts fewest(const Facts& all) const {
    Facts least = needed(all, {}, false);
    if (!starts(least)) least = all;
    for (Unblock& fact : least) {
      std::uint32_t low = 0;
      std::uint32_t high = fact.count;
      while (low + 1 < high && !tired()) {
        fact.count = low + (high - low) / 2;
        (starts(least) ? high : low) = fact.count;
      }
      fact.count = high;
    }
    return least;
  }

  bool tired() const { return trials_ >= trials_max; }
  /// Could it be submitted anew with other shapes? Not when some of it runs, or ended.
  bool untouched() const { return gang_.holding == 0 && gang_.done == 0; }

  const State& state_;
  const PolicyFactory& factory_;
  GangIndex index_;
  const Gang& gang_;
  const GangShape& shape_;
  std::vector<NodeIndex> nodes_;  ///< The nearest to fitting first.
  mutable unsigned trials_ = 0;
};

std::string text_of(const NodeSpec& spec) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  for (const NamedAmount& part : spec.capacity) {
    add(amount_text(part.name, part.amount));
  }
  std::map<std::string, unsigned> devices;
  for (const DeviceSpec& device : spec.devices) ++devices[device.type.model];
  for (const auto& [model, count] : devices) add(std::to_string(count) + " x " + model);
  for (const StackVersion& version : spec.stack) add(version.name + " " + version.version);
  for (const Label& label : spec.labels.all()) add(label.key + "=" + label.value);
  return out;
}

std::string text_of(const State& state, const Task& task) {
  const ShapeRow& row = state.shape(task.shape);
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : ", ") + part; };
  if (const unsigned devices = task.devices.size(); devices > 0) {
    add(std::to_string(devices) + (devices == 1 ? " device" : " devices"));
  }
  for (const Resources::Amount& part : row.request) {
    if (part.lane == lane::pods) continue;
    add(amount_text(state.fleet().lanes().name(part.lane), part.amount));
  }
  return out.empty() ? "" : " (" + out + ")";
}

}  // namespace

Unblocking unblock(const State& state, const PolicyFactory& factory, GangIndex gang) {
  return Search(state, factory, gang).run();
}

std::string to_text(const State& state, const Unblock& fact) {
  const std::string node = fact.node.valid() ? state.fleet().node(fact.node).name : std::string();
  switch (fact.kind) {
    case Unblock::Kind::raise_limit:
      return "queue " + state.queue(fact.queue).spec.name + " may use " +
             amount_text(fact.amount.name, fact.amount.amount);
    case Unblock::Kind::task_ends:
      return "task " + state.jobs()[state.find(fact.task.job)].spec->name + "/" +
             std::to_string(fact.task.ordinal) + " on " + node + " ends" +
             text_of(state, state.tasks()[state.find(fact.task)]);
    case Unblock::Kind::uncordon:
      return node + " is uncordoned";
    case Unblock::Kind::node_returns:
      return node + " comes back";
    case Unblock::Kind::device_heals:
      return "device " + std::to_string(fact.ordinal) + " of " + node + " is online again";
    case Unblock::Kind::company: {
      std::string labels;
      for (const Label& label : fact.companion.labels.all()) {
        labels += (labels.empty() ? "" : ", ") + label.key + "=" + label.value;
      }
      return "a task with " + labels + " runs on " + node;
    }
    case Unblock::Kind::tolerate:
      return "it tolerates the taint " + fact.taint.key +
             (fact.taint.value.empty() ? "" : "=" + fact.taint.value);
    case Unblock::Kind::add_nodes:
      return std::to_string(fact.count) + (fact.count == 1 ? " more node" : " more nodes") +
             " with " + text_of(fact.spec);
  }
  return {};
}

}  // namespace tutti
