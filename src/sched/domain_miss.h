/// Why a gang waits although each of its tasks would find a place: it must stand together, and no
/// domain has room for all that must share one.
#pragma once

#include <cstdint>
#include <string>

#include "sched/workspace.h"

namespace tutti {

struct DomainMiss {
  std::string level;         ///< Empty: no domain is missing.
  std::string domain;        ///< The one with the most room, the first among equals; or none.
  bool runs_there = false;   ///< Others of the same tasks do, so that no other domain will do.
  std::uint32_t room = 0;    ///< Tasks that would find places there, taken one by one ...
  std::uint32_t wanted = 0;  ///< ... of so many.
};

/// The first group that no domain can hold, the gang as a whole before its parts.
/// O(tasks * nodes) at most; a domain is left as soon as a task finds no place there.
DomainMiss domain_miss(const State& state, Workspace& workspace, GangIndex gang);

}  // namespace tutti
