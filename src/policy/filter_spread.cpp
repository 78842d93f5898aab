/// Topology spread: matching tasks in numbers that differ by at most max_skew between domains.
#include <algorithm>

#include "policy/eligible.h"
#include "policy/makers.h"
#include "sched/company.h"
#include "sched/domains.h"

namespace tutti {
namespace {

class SpreadFilter final : public Filter {
 public:
  std::string_view name() const override { return "topology_spread"; }
  Depends depends_on() const override { return Depends::everything; }

  bool concerns(const TaskClass& task) const override {
    return std::ranges::any_of(task.spec().spreads, &Spread::required);
  }
  bool opened_by_others(const TaskClass&) const override { return true; }

  std::vector<Watch> watches(const TaskClass& task) const override {
    std::vector<Watch> out;
    const auto& spreads = task.spec().spreads;
    for (std::size_t at = 0; at < spreads.size(); ++at) {
      if (spreads[at].required) out.push_back(watch(task, at));
    }
    return out;
  }

  std::vector<Watch> counts(const TaskClass& task, const TaskShape& running) const override {
    std::vector<Watch> out;
    const auto& spreads = task.spec().spreads;
    for (std::size_t at = 0; at < spreads.size(); ++at) {
      if (!spreads[at].required) continue;
      if (counts_for(spreads[at].tasks, {}, task.spec(), running)) out.push_back(watch(task, at));
    }
    return out;
  }

  bool counts_on(const TaskClass& task, const Watch& watch, const Node& node) const override {
    const Spread& spread = task.spec().spreads[watch.number];
    if (!node.present) return false;
    // A node without the key of another spread can never be its place, nor a cordoned one now.
    for (const Spread& each : task.spec().spreads) {
      if (each.required && !domain_name(node, each.topology_key)) return false;
    }
    if (spread.honor_node_affinity && !selects(task.spec(), node)) return false;
    return !spread.honor_node_taints || (!node.cordoned && untolerated(task.spec(), node) < 0);
  }

  Reject check(const TaskClass& task, const View&, NodeIndex node) const override {
    for (const Tally& tally : task.tallies) {
      if (&tally.owner() != this) continue;
      const std::uint32_t row = tally.watch().number;
      const Spread& spread = task.spec().spreads[row];
      if (!tally.in_domain(node)) return {Reason::spread_exceeded, row};
      // With fewer domains than asked for, an empty one is imagined.
      const std::uint32_t least = tally.domains() < spread.min_domains ? 0 : tally.least();
      const std::uint32_t after = tally.at(node) + (tally.counts_self() ? 1 : 0);
      if (after > least + spread.max_skew) {
        return {Reason::spread_exceeded, row, after - least - spread.max_skew};
      }
    }
    return {};
  }

 private:
  static Watch watch(const TaskClass& task, std::size_t row) {
    return {static_cast<std::uint32_t>(row), task.spec().spreads[row].topology_key};
  }
};

}  // namespace

std::unique_ptr<const Filter> make_topology_spread() { return std::make_unique<SpreadFilter>(); }

}  // namespace tutti
