/// This machine as a node: what it has, and what its owner says that it has.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace tutti {

class Catalog;

/// Where the kernel's files lie; another one in tests.
struct MachineFiles {
  std::string proc = "/proc";
};

/// Cores that this process may use, memory of the machine, and `devices` in the short form of fleet
/// files ("8xA100-80G"): a try-out, or cards that nothing here detects. Called as the host is.
Result<NodeSpec> this_machine(const std::vector<std::string>& devices, const Catalog* catalog,
                              const MachineFiles& files = {});

}  // namespace tutti
