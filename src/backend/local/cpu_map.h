/// The processors of this machine, and which of them are near each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

/// One processor as the kernel counts them: a hardware thread of a core. The other numbers name
/// what it shares with others, counted from 0 over the machine.
struct Cpu {
  unsigned number = 0;
  unsigned core = 0;
  unsigned cache = 0;  ///< The last level.
  unsigned numa = 0;   ///< As the kernel counts NUMA nodes.
  unsigned socket = 0;
  friend bool operator==(const Cpu&, const Cpu&) = default;
};

/// Those that this process may use, neighbours side by side: by socket, NUMA node, cache, core.
/// `synthetic` describes another machine in the words of hwloc, for tests: "node:2 core:4 pu:2".
Result<std::vector<Cpu>> find_cpus(const std::string& synthetic = {});

/// "2 sockets, 2 NUMA nodes, 64 cores, 128 threads": whichever of them differ.
std::string describe(std::span<const Cpu> cpus);

}  // namespace tutti
