/// Domains of a topology key, and how many matching tasks each holds; private to policy/.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sched/domains.h"
#include "sched/policy.h"

namespace tutti {

/// Does a running task count for a selector of `owner`? Namespaces must agree, where they are
/// known.
inline bool counts_for(const Selector& tasks, const std::vector<std::string>& namespaces,
                       const TaskShape& owner, const TaskShape& running) {
  bool same = namespaces.empty() ? running.space == owner.space : false;
  for (const std::string& name : namespaces) same = same || name == running.space || name == "*";
  return same && tasks.matches(running.labels);
}

/// Matching tasks on one node.
inline std::uint32_t matching_on(const View& view, NodeIndex node, const Selector& tasks,
                                 const std::vector<std::string>& namespaces,
                                 const TaskShape& owner) {
  std::uint32_t sum = 0;
  for (const Usage::ShapeCount& count : view.usage.shapes(node)) {
    const TaskShape& running = view.state.shape(count.shape).spec;
    if (counts_for(tasks, namespaces, owner, running)) sum += count.count;
  }
  return sum;
}

/// Matching tasks by domain, over all nodes that have the key. O(nodes * shapes on a node).
using DomainCounts = std::map<std::string_view, std::uint32_t>;
inline DomainCounts count_by_domain(const View& view, std::string_view key, const Selector& tasks,
                                    const std::vector<std::string>& namespaces,
                                    const TaskShape& owner) {
  DomainCounts counts;
  for (std::size_t at = 0; at < view.fleet().size(); ++at) {
    const NodeIndex node(at);
    const std::string_view domain = domain_name(view.fleet().node(node), key);
    if (domain.empty()) continue;
    counts[domain] += matching_on(view, node, tasks, namespaces, owner);
  }
  return counts;
}

}  // namespace tutti
