#include "sched/unblock.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
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
    // It may wait for the end of what is being stopped, or for its turn.
    if (starts({})) return {.facts = with_those_ahead({})};
    Unblocking out = enough();
    if (!out.facts.empty()) out.facts = with_those_ahead(with_low_limits(out.facts));
    return out;
  }

 private:
  Unblocking enough() {
    Unblocking out;
    const Facts limits = raised_limits();
    Facts friends;
    const Facts others = ended_tasks(friends);
    const Facts ends = joined(others, friends);
    const Facts repairs = repaired();
    out.never = never_starts(joined(ends, repairs)) &&
                (untouched() || never_starts(joined(others, repairs)));
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

  // --- Trials -----------------------------------------------------------------------------------

  bool starts(const Facts& facts, WhatIf::Taken* taken = nullptr) const {
    ++trials_;
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    return world.starts(factory_, taken).placed;
  }

  /// Does it not start even on the emptied, healthy fleet? What it must be near may be there again
  /// by then, and what was not tried in full is not known.
  bool never_starts(const Facts& facts) const {
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    if (untouched() && !terms().empty()) world.forget_company();
    const Placing placing = world.starts(factory_);
    return !placing && !placing.search_limit;
  }

  static Facts joined(Facts a, const Facts& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  /// A part of the facts that is enough, and none of it superfluous; none where all are too little.
  /// Earlier facts are preferred.
  Facts enough_of(const Facts& all) const {
    WhatIf::Taken taken;
    if (all.empty() || !starts(all, &taken)) return {};
    // Mostly only what concerns the nodes that it would take is needed.
    std::size_t low = 0;
    std::size_t high = all.size();
    while (low + 1 < high && !tired()) {
      const std::size_t middle = (low + high) / 2;
      WhatIf::Taken there;
      const Facts part(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(middle));
      if (starts(part, &there)) {
        high = middle;
        taken = std::move(there);
      } else {
        low = middle;
      }
    }
    Facts some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(high));
    Facts near = some;
    std::erase_if(near, [&](const Unblock& fact) {
      return fact.node.valid() && std::ranges::find(taken.nodes, fact.node) == taken.nodes.end();
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

  /// The least limit that allows what a queue uses.
  void set_limit(Unblock& fact, const QueueUsage& used) const {
    const auto lane = state_.fleet().lanes().find(fact.amount.name);
    if (fact.amount.name == "gpu") {
      fact.amount.amount = (used.gpu_milli + DeviceRequest::whole - 1) / DeviceRequest::whole;
    } else if (lane && lane->value() < used.lanes.size()) {
      fact.amount.amount = used.lanes[lane->value()];
    }
  }

  /// No higher limit than the facts need when all of them hold.
  Facts with_low_limits(const Facts& facts) const {
    WhatIf::Taken taken;
    if (tired() || !starts(facts, &taken)) return facts;
    Facts lower = facts;
    for (Unblock& fact : lower) {
      if (fact.kind == Unblock::Kind::raise_limit)
        set_limit(fact, taken.queues[fact.queue.value()]);
    }
    return starts(lower) ? lower : facts;
  }

  bool starts_in_turn(const Facts& facts, std::set<JobId>& before,
                      std::vector<QueueUsage>* queues = nullptr) const {
    ++trials_;
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    if (!world.starts_in_turn(factory_, before)) return false;
    for (std::size_t at = 0; queues != nullptr && at < world.state().queue_count(); ++at) {
      queues->push_back(world.state().queue_usage(QueueIndex(at)));
    }
    return true;
  }

  /// Others may come first, and take what the facts make free. Limits may let them in too; else
  /// they are named as well.
  Facts with_those_ahead(const Facts& facts) const {
    std::set<JobId> before;
    if (starts_in_turn(facts, before)) return facts;
    if (Facts higher = with_room_for_all(facts); !higher.empty()) return higher;
    Facts ahead;
    while (!starts_in_turn(joined(facts, ahead), before)) {
      if (before.empty() || tired()) return facts;
      for (const JobId job : before) {
        ahead.push_back({.kind = Unblock::Kind::steps_aside, .job = job});
      }
    }
    for (std::size_t at = ahead.size(); at-- > 0 && !tired();) {
      Facts fewer = ahead;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(at));
      if (starts_in_turn(joined(facts, fewer), before)) ahead = std::move(fewer);
    }
    return joined(facts, ahead);
  }

  /// The facts with limits that let in those who come first as well; none where that is not enough.
  Facts with_room_for_all(const Facts& facts) const {
    constexpr std::int64_t boundless = limits::amount / DeviceRequest::whole;
    Facts higher = facts;
    for (Unblock& fact : higher) {
      if (fact.kind == Unblock::Kind::raise_limit) fact.amount.amount = boundless;
    }
    std::set<JobId> before;
    std::vector<QueueUsage> queues;
    if (!starts_in_turn(higher, before, &queues)) return {};
    for (Unblock& fact : higher) {
      if (fact.kind == Unblock::Kind::raise_limit) set_limit(fact, queues[fact.queue.value()]);
    }
    return starts_in_turn(higher, before) ? higher : Facts();
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

  /// Tasks of others, those on the nearest nodes first; `friends` are those that it wants to be
  /// near.
  Facts ended_tasks(Facts& friends) const {
    std::map<NodeIndex, Facts> by_node;
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
    return out;
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
            if (!state_.fleet().open(node)) continue;
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

}  // namespace

Unblocking unblock(const State& state, const PolicyFactory& factory, GangIndex gang) {
  return Search(state, factory, gang).run();
}

}  // namespace tutti
