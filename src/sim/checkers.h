/// The invariants that hold after every step of an engine, whatever happened.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "model/state.h"
#include "sim/uprooted.h"

namespace tutti {

/// What is known beside State, to tell a violation from a fact of life.
struct Expectations {
  std::set<std::string> shrunk;      ///< Nodes whose capacity was cut below what was allocated.
  std::uint64_t jobs_alive = 0;      ///< Submitted, and neither finished nor cancelled and gone.
  std::set<std::string> over_limit;  ///< Queues whose limit was set below what they held.
  Uprooted uprooted;                 ///< Gangs under which labels changed.
};

/// The first invariant that does not hold, in words, or empty. O(state).
std::string check_invariants(const State& state, const Expectations& expectations);

}  // namespace tutti
