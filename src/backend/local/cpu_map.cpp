#include "backend/local/cpu_map.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>

namespace tutti {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

Result<Topology> load(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Code::io, "hwloc does not start");
  Topology topology(raw, &hwloc_topology_destroy);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) {
    return fail(Code::invalid, "hwloc does not understand \"" + synthetic + "\"");
  }
  if (hwloc_topology_load(raw) != 0) return fail(Code::io, "hwloc cannot look at this machine");
  return topology;
}

/// May this process run there? Of a machine with more processors than fit into the set: yes.
bool allowed(unsigned number) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (number >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof set, &set) != 0) return true;
  return CPU_ISSET(number, &set);
}

unsigned number_of(hwloc_topology_t topology, hwloc_obj_t from, hwloc_obj_type_t type) {
  const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, from);
  return found == nullptr ? 0 : found->logical_index;
}

unsigned last_cache_of(hwloc_topology_t topology, hwloc_obj_t from) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, type, from);
    if (found != nullptr) return found->logical_index;
  }
  return number_of(topology, from, HWLOC_OBJ_PACKAGE);
}

unsigned numa_of(hwloc_topology_t topology, hwloc_obj_t from) {
  // Memory hangs beside the tree of processors: the first node whose processors include this one.
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isset(node->cpuset, from->os_index) != 0) return node->os_index;
  }
  return 0;
}

template <class Member>
std::string counted(std::span<const Cpu> cpus, Member Cpu::* member, const char* noun) {
  std::set<Member> different;
  for (const Cpu& cpu : cpus) different.insert(cpu.*member);
  const std::size_t count = different.size();
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace

Result<std::vector<Cpu>> find_cpus(const std::string& synthetic) {
  const Topology topology = TRY(load(synthetic));
  std::vector<Cpu> out;
  hwloc_obj_t each = nullptr;
  while ((each = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_PU, each)) != nullptr) {
    if (synthetic.empty() && !allowed(each->os_index)) continue;
    out.push_back({.number = each->os_index,
                   .core = number_of(topology.get(), each, HWLOC_OBJ_CORE),
                   .cache = last_cache_of(topology.get(), each),
                   .numa = numa_of(topology.get(), each),
                   .socket = number_of(topology.get(), each, HWLOC_OBJ_PACKAGE)});
  }
  std::ranges::sort(out, {}, [](const Cpu& cpu) {
    return std::tuple(cpu.socket, cpu.numa, cpu.cache, cpu.core, cpu.number);
  });
  if (out.empty()) return fail(Code::io, "hwloc finds no processor that we may use");
  return out;
}

std::string describe(std::span<const Cpu> cpus) {
  return counted(cpus, &Cpu::socket, "socket") + ", " + counted(cpus, &Cpu::numa, "NUMA node") +
         ", " + counted(cpus, &Cpu::core, "core") + ", " + counted(cpus, &Cpu::number, "thread");
}

}  // namespace tutti
