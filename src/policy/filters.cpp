#include "policy/makers.h"

namespace tutti {

std::vector<std::unique_ptr<const Filter>> make_filters() {
  std::vector<std::unique_ptr<const Filter>> filters;
  filters.push_back(make_node_selector());
  filters.push_back(make_taints());
  filters.push_back(make_stack());
  filters.push_back(make_ports());
  filters.push_back(make_task_affinity());
  filters.push_back(make_topology_spread());
  return filters;
}

}  // namespace tutti
