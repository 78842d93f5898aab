/// Queues: the tree of tenants that share a fleet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "model/shape.h"

namespace tutti {

using QueueIndex = Index<struct QueueTag>;

struct QueueSpec {
  std::string name;                    ///< "research/vision": the path from the root.
  std::vector<NamedAmount> limit;      ///< Hard; a resource that is not named is unlimited.
  std::vector<NamedAmount> guarantee;  ///< What borrowers must give back; nobody borrows yet.
  std::uint32_t weight = 1;
  friend bool operator==(const QueueSpec&, const QueueSpec&) = default;
};

}  // namespace tutti
