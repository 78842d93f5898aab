/// Topology spread: matching tasks in numbers that differ by at most max_skew between domains.
#include "policy/domains.h"
#include "policy/eligible.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class SpreadFilter final : public Filter {
 public:
  std::string_view name() const override { return "topology_spread"; }
  Depends depends_on() const override { return Depends::everything; }

  bool concerns(const TaskClass& task) const override {
    for (const Spread& spread : task.spec().spreads) {
      if (spread.required) return true;
    }
    return false;
  }

  Reject check(const TaskClass& task, const View& view, NodeIndex node) const override {
    return check_with(task, view, node, count(task, view));
  }

  void narrow(const TaskClass& task, const View& view,
              std::vector<NodeIndex>& nodes) const override {
    const std::vector<Counted> counted = count(task, view);
    std::erase_if(nodes,
                  [&](NodeIndex node) { return !check_with(task, view, node, counted).ok(); });
  }

 private:
  struct Counted {
    const Spread* spread = nullptr;
    std::uint32_t row = 0;
    DomainCounts counts;  ///< Of the domains that the task could use.
    std::uint32_t least = 0;
  };

  static bool eligible(const TaskShape& task, const Spread& spread, const Node& node) {
    if (spread.honor_node_affinity && !selects(task, node)) return false;
    return !spread.honor_node_taints || untolerated(task, node) < 0;
  }

  static std::vector<Counted> count(const TaskClass& task, const View& view) {
    std::vector<Counted> out;
    const auto& spreads = task.spec().spreads;
    for (std::size_t at = 0; at < spreads.size(); ++at) {
      const Spread& spread = spreads[at];
      if (!spread.required) continue;
      Counted counted{.spread = &spread, .row = static_cast<std::uint32_t>(at)};
      for (std::size_t number = 0; number < view.fleet().size(); ++number) {
        const NodeIndex index(number);
        const Node& node = view.fleet().node(index);
        const std::string_view domain = domain_name(node, spread.topology_key);
        if (domain.empty() || !node.present || !eligible(task.spec(), spread, node)) continue;
        counted.counts[domain] += matching_on(view, index, spread.tasks, {}, task.spec());
      }
      // With fewer domains than asked for, an empty one is imagined.
      bool some = false;
      for (const auto& [domain, number] : counted.counts) {
        counted.least = some ? std::min(counted.least, number) : number;
        some = true;
      }
      if (counted.counts.size() < spread.min_domains) counted.least = 0;
      out.push_back(std::move(counted));
    }
    return out;
  }

  static Reject check_with(const TaskClass& task, const View& view, NodeIndex index,
                           const std::vector<Counted>& counted) {
    const Node& node = view.fleet().node(index);
    for (const Counted& each : counted) {
      const std::string_view domain = domain_name(node, each.spread->topology_key);
      if (domain.empty()) return {Reason::spread_exceeded, each.row};
      const auto found = each.counts.find(domain);
      const std::uint32_t there = found == each.counts.end() ? 0 : found->second;
      const bool joins = each.spread->tasks.matches(task.spec().labels);
      const std::uint32_t after = there + (joins ? 1 : 0);
      if (after > each.least + each.spread->max_skew) {
        return {Reason::spread_exceeded, each.row, after - each.least - each.spread->max_skew};
      }
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<const Filter> make_topology_spread() { return std::make_unique<SpreadFilter>(); }

}  // namespace tutti
