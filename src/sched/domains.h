/// Domains of one topology level: which nodes stand near each other.
///
/// A level is a label key ("rack"); nodes with equal values form a domain. "host" makes each node a
/// domain. Nodes without the label belong to none. Domains are numbered in the order of their first
/// node, so that every tie falls to the lower one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "model/fleet.h"

namespace tutti {

using DomainIndex = Index<struct DomainTag>;

/// The value that places a node in a domain of the level, or none. An empty value is one too.
std::optional<std::string_view> domain_name(const Node& node, std::string_view level);

/// Does every node stand in some domain of the level, whatever its labels?
bool covers_all_nodes(std::string_view level);

struct Domains {
  std::string level;
  std::vector<std::string> names;               ///< By domain.
  std::vector<std::vector<NodeIndex>> members;  ///< By domain, ascending.
  std::vector<DomainIndex> of_node;             ///< By node.

  /// O(nodes log domains).
  static Domains of(const Fleet& fleet, std::string_view level);
};

}  // namespace tutti
