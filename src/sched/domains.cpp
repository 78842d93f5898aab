#include "sched/domains.h"

#include <map>

namespace tutti {

bool covers_all_nodes(std::string_view level) {
  return level == "host" || level == "kubernetes.io/hostname";
}

std::optional<std::string_view> domain_name(const Node& node, std::string_view level) {
  if (level == "host") return node.name;
  const std::string* label = node.labels.find(level);
  if (label != nullptr) return *label;
  if (covers_all_nodes(level)) return node.name;
  return std::nullopt;
}

Domains Domains::of(const Fleet& fleet, std::string_view level) {
  Domains domains{.level = std::string(level)};
  domains.of_node.resize(fleet.size());
  std::map<std::string_view, DomainIndex> known;
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    const NodeIndex node(at);
    const auto name = domain_name(fleet.node(node), level);
    if (!name) continue;
    const auto [entry, fresh] = known.try_emplace(*name, DomainIndex(domains.names.size()));
    if (fresh) {
      domains.names.emplace_back(*name);
      domains.members.emplace_back();
    }
    domains.of_node[at] = entry->second;
    domains.members[entry->second.value()].push_back(node);
  }
  return domains;
}

}  // namespace tutti
