/// Preferred: what a task would like, beside what it needs: nodes, the company of other tasks, even
/// spread, and no taint that asks to be left alone.
#include <map>
#include <optional>

#include "policy/eligible.h"
#include "policy/makers.h"
#include "sched/company.h"
#include "sched/domains.h"

namespace tutti {
namespace {

/// Matching tasks on one node.
std::uint32_t matching_on(const View& view, NodeIndex node, const Selector& tasks,
                          const std::vector<std::string>& namespaces, const TaskShape& owner) {
  std::uint32_t sum = 0;
  for (const Usage::ShapeCount& count : view.usage.shapes(node)) {
    const TaskShape& running = view.state.shape(count.shape).spec;
    if (counts_for(tasks, namespaces, owner, running)) sum += count.count;
  }
  return sum;
}

/// Matching tasks by domain, over all nodes that have the key. O(nodes * shapes on a node).
using DomainCounts = std::map<std::string_view, std::uint32_t>;
DomainCounts count_by_domain(const View& view, std::string_view key, const Selector& tasks,
                             const std::vector<std::string>& namespaces, const TaskShape& owner) {
  DomainCounts counts;
  for (std::size_t at = 0; at < view.fleet().size(); ++at) {
    const NodeIndex node(at);
    const auto domain = domain_name(view.fleet().node(node), key);
    if (domain) counts[*domain] += matching_on(view, node, tasks, namespaces, owner);
  }
  return counts;
}

/// Matching tasks in the domain of the node; none where it is in no domain.
std::optional<std::uint32_t> count_around(const DomainCounts& counts, const Node& node,
                                          std::string_view key) {
  const auto domain = domain_name(node, key);
  const auto found = domain ? counts.find(*domain) : counts.end();
  return found == counts.end() ? std::nullopt : std::optional(found->second);
}

class Preferred final : public Score {
 public:
  explicit Preferred(const Fleet& fleet) {
    for (std::size_t at = 0; at < fleet.size(); ++at) {
      some_reluctant_ |= fleet.node(NodeIndex(at)).reluctant();
    }
  }
  std::string_view name() const override { return "preferred"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  bool concerns(const TaskClass& task) const override {
    return some_reluctant_ || !task.spec().preferred_nodes.empty() || looks_at_others(task);
  }
  bool looks_at_others(const TaskClass& task) const override {
    for (const TaskAffinity& term : task.spec().affinities) {
      if (term.weight > 0) return true;
    }
    for (const Spread& spread : task.spec().spreads) {
      if (!spread.required) return true;
    }
    return false;
  }

  /// The weight of what is fulfilled, as a share of all weights; 500 where wishes cancel out.
  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    std::vector<DomainCounts> counts;
    std::int64_t weights = 0;
    for (const PreferredNodes& wish : task.spec().preferred_nodes) weights += wish.weight;
    for (const TaskAffinity& term : task.spec().affinities) {
      counts.push_back(term.weight == 0 ? DomainCounts{}
                                        : count_by_domain(view, term.topology_key, term.tasks,
                                                          term.namespaces, task.spec()));
      weights += term.weight;
    }
    for (const Spread& spread : task.spec().spreads) {
      counts.push_back(count_by_domain(view, spread.topology_key, spread.tasks, {}, task.spec()));
      weights += spread.required ? 0 : spread_weight;
    }
    weights += some_reluctant_ ? taint_weight : 0;
    weights = std::max<std::int64_t>(weights, 1);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const std::int64_t sum = fulfilled(task.spec(), view.fleet().node(nodes[at]), counts);
      out[at] = static_cast<Permille>(std::clamp<std::int64_t>(500 + 500 * sum / weights, 0, 1000));
    }
  }

 private:
  static constexpr std::int64_t spread_weight = 50;  ///< Of a wish for even spread, among 1..100.
  static constexpr std::int64_t taint_weight = 50;   ///< Of all taints of a node together.

  static std::int64_t fulfilled(const TaskShape& task, const Node& node,
                                const std::vector<DomainCounts>& counts) {
    std::int64_t sum = 0;
    for (const PreferredNodes& wish : task.preferred_nodes) {
      if (wish.nodes.matches(node.labels)) sum += wish.weight;
    }
    if (unwelcome(task, node) > 0) sum -= taint_weight;
    std::size_t next = 0;
    for (const TaskAffinity& term : task.affinities) {
      const auto near = count_around(counts[next++], node, term.topology_key);
      if (near.value_or(0) > 0) sum += term.anti ? -term.weight : term.weight;
    }
    for (const Spread& spread : task.spreads) {
      const DomainCounts& domains = counts[next++];
      if (spread.required || domains.empty()) continue;
      std::uint32_t most = 0;
      for (const auto& [domain, number] : domains) most = std::max(most, number);
      const auto near = count_around(domains, node, spread.topology_key);
      if (!near || most == 0) continue;
      sum += spread_weight * (most - *near) / most;
    }
    return sum;
  }

  bool some_reluctant_ = false;  ///< Some node has a taint that asks to be spared.
};

}  // namespace

std::unique_ptr<const Score> make_preferred(Arguments, const State& state) {
  return std::make_unique<Preferred>(state.fleet());
}

}  // namespace tutti
