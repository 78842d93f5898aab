#include "sched/unblock.h"

#include <algorithm>
#include <set>

#include "base/limits.h"
#include "sched/domain_miss.h"
#include "sched/domains.h"
#include "sched/ideal_node.h"
#include "sched/remedies.h"
#include "sched/what_if.h"

namespace tutti {
namespace {

/// Trials, then the facts at hand are given as they are, superfluous ones among them: a trial takes
/// about 10 ms on 10 000 nodes, and people wait for the answer.
constexpr unsigned trials_max = 200;

class ChangeSearch {
 public:
  ChangeSearch(const State& state, const PolicyFactory& factory, GangIndex gang)
      : state_(state),
        factory_(factory),
        index_(gang),
        gang_(state.gangs()[gang]),
        shape_(state.gang_shape(gang_.shape)),
        remedies_(state, gang) {}

  Unblocking run() {
    // It may wait for the end of what is being stopped, or for its turn.
    if (starts({})) return {.facts = with_those_ahead({}), .search_limit = tired()};
    find_ends_and_repairs();
    never_ = never_starts(joined(joined(strangers_, friends_), repairs_)) &&
             (untouched() || never_starts(joined(strangers_, repairs_)));
    Facts facts = enough();
    if (!facts.empty()) facts = with_those_ahead(with_low_limits(facts));
    // What may come about by itself is no obstacle for ever.
    if (!facts.empty() && std::ranges::all_of(facts, may_happen)) never_ = false;
    return {.facts = std::move(facts), .never = never_, .search_limit = tired()};
  }

 private:
  void find_ends_and_repairs() {
    strangers_ = remedies_.ended_strangers();
    friends_ = remedies_.ended_friends();
    repairs_ = remedies_.repaired();
  }

  Facts enough() const {
    const Facts limits = remedies_.raised_limits();
    const Facts ends = joined(strangers_, friends_);
    const Facts both = joined(ends, repairs_);
    std::vector<Facts> choices;
    if (!never_) {
      choices = {limits, joined(limits, strangers_), joined(limits, ends), joined(limits, repairs_),
                 joined(limits, both)};
    }
    Facts all = joined(limits, both);
    if (remedies_.needs_company()) {
      const Facts company = remedies_.companions(false);
      choices.push_back(joined(limits, company));
      all = joined(joined(limits, company), both);
      choices.push_back(all);
      all = joined(all, remedies_.companions(true));
      choices.push_back(all);
    }
    if (untouched()) choices.push_back(joined(remedies_.tolerated(), all));
    for (const Facts& choice : choices) {
      Facts facts = enough_of(choice);
      if (!facts.empty()) return facts;
    }
    return more_nodes(limits);
  }

  // --- Trials -----------------------------------------------------------------------------------

  /// Without anyone changing the gang, its limits or the fleet.
  static bool may_happen(const Unblock& fact) {
    return fact.kind != Unblock::Kind::raise_limit && fact.kind != Unblock::Kind::tolerate &&
           fact.kind != Unblock::Kind::add_nodes;
  }

  bool starts(const Facts& facts, WhatIf::Taken* taken = nullptr) const {
    std::set<JobId> before;
    if (in_turn_) return starts_in_turn(facts, before, taken);
    ++trials_;
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    return world.starts(factory_, taken).placed;
  }

  bool starts_in_turn(const Facts& facts, std::set<JobId>& before,
                      WhatIf::Taken* taken = nullptr) const {
    ++trials_;
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    return world.starts_in_turn(factory_, before, taken);
  }

  /// Does it not start even on the emptied, healthy fleet? What it must be near may be there again
  /// by then, and what was not tried in full is not known.
  bool never_starts(const Facts& facts) const {
    WhatIf world(state_, index_);
    for (const Unblock& fact : facts) world.happen(fact);
    if (untouched() && remedies_.needs_company()) world.forget_company();
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

  /// Others may come first, and take what the facts make free. Limits may let them in too, they may
  /// step aside, or it takes as much as lets both in.
  Facts with_those_ahead(const Facts& facts) {
    std::set<JobId> before;
    if (starts_in_turn(facts, before)) return facts;
    if (Facts higher = with_room_for_all(facts); !higher.empty()) return higher;
    std::set<JobId> gone;
    Facts ahead;
    bool enough_ahead = false;
    while (!enough_ahead) {
      const std::size_t known = gone.size();
      gone.merge(before);
      if (gone.size() == known) break;
      ahead.clear();
      for (const JobId job : gone)
        ahead.push_back({.kind = Unblock::Kind::steps_aside, .job = job});
      if (tired()) return joined(facts, ahead);
      enough_ahead = starts_in_turn(joined(facts, ahead), before);
    }
    if (!enough_ahead) {
      Facts more = enough_for_all();
      return more.empty() ? facts : more;
    }
    // One that runs takes its tasks with it, so that others may no longer have to end.
    in_turn_ = true;
    Facts all = drop_one_by_one(joined(facts, ahead));
    in_turn_ = false;
    return all;
  }

  /// What lets it start in its turn where those who come first cannot go: they are of its own job,
  /// or it needs them near.
  Facts enough_for_all() {
    if (tired()) return {};
    find_ends_and_repairs();
    in_turn_ = true;
    Facts facts = enough();
    if (!facts.empty()) facts = with_low_limits(facts);
    in_turn_ = false;
    return facts;
  }

  /// The facts with limits that let in those who come first as well; none where that is not enough.
  Facts with_room_for_all(const Facts& facts) const {
    constexpr std::int64_t boundless = limits::amount / DeviceRequest::whole;
    Facts higher = facts;
    for (Unblock& fact : higher) {
      if (fact.kind == Unblock::Kind::raise_limit) fact.amount.amount = boundless;
    }
    std::set<JobId> before;
    WhatIf::Taken taken;
    if (!starts_in_turn(higher, before, &taken)) return {};
    for (Unblock& fact : higher) {
      if (fact.kind == Unblock::Kind::raise_limit)
        set_limit(fact, taken.queues[fact.queue.value()]);
    }
    return starts_in_turn(higher, before) ? higher : Facts();
  }

  /// New nodes: for each role its own kind, or one that holds all of the gang; in the domain that
  /// has the most room for it, or in one of their own.
  Facts more_nodes(const Facts& limits) const {
    std::size_t alternatives = 0;
    for (const GangShape::Role& role : shape_.roles) {
      alternatives = std::max(alternatives, role.alternatives.size());
    }
    std::vector<Site> sites{{.models = remedies_.nodes()}};
    const NodeIndex best = in_best_domain();
    if (best.valid()) sites.insert(sites.begin(), {.models = remedies_.nodes(), .beside = best});
    for (const Site& site : sites) {
      for (std::size_t at = 0; at < alternatives; ++at) {
        for (Facts nodes :
             {ideal_nodes(state_, index_, at, site), ideal_node(state_, index_, at, site)}) {
          for (Unblock& node : nodes) node.count *= turns();
          const Facts all = joined(limits, nodes);
          if (!nodes.empty() && starts(all)) return fewest(all);
        }
      }
    }
    return {};
  }

  /// A node of the domain that is only a little too small; none where nothing must be close.
  NodeIndex in_best_domain() const {
    Workspace workspace(factory_);
    workspace.sync(state_);
    const DomainMiss miss = domain_miss(state_, workspace, index_);
    if (miss.domain.empty() || covers_all_nodes(miss.level)) return {};
    const Domains& level = workspace.domains(state_, miss.level);
    const auto at = std::ranges::find(level.names, miss.domain) - level.names.begin();
    return level.members[static_cast<std::size_t>(at)].front();
  }

  /// Gangs of its job that start in one trial, at most.
  std::uint32_t turns() const { return in_turn_ ? state_.jobs()[gang_.job].gangs : 1; }

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
  Remedies remedies_;
  Facts strangers_;  ///< Tasks that end ...
  Facts friends_;    ///< ... and those that it wants to be near.
  Facts repairs_;
  bool never_ = false;
  bool in_turn_ = false;  ///< A trial lets those who come first start first.
  mutable unsigned trials_ = 0;
};

}  // namespace

Unblocking unblock(const State& state, const PolicyFactory& factory, GangIndex gang) {
  return ChangeSearch(state, factory, gang).run();
}

}  // namespace tutti
