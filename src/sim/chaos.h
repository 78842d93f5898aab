/// Chaos: a random fleet, random jobs and random faults from one seed, with every invariant checked
/// after every step.
///
/// First a phase of faults; then everything is healed, and within bounded time every job must have
/// ended, or wait for a reason that no change of what runs could remove. At last the journal is
/// replayed into a fresh State, which must be the same bit for bit; and all of it happens a second
/// time, with the engine's derived tables thrown away before every step, and must end the same. The
/// faults that fired and the rare paths that the engine took are counted, the first time only: what
/// a test never met, it did not test.
#pragma once

#include <cstdint>
#include <string>

#include "sched/rare_paths.h"
#include "sim/faults.h"

namespace tutti {

struct ChaosOptions {
  std::uint64_t seed = 1;
  std::uint64_t until = UINT64_MAX;  ///< Stop after so many events.
  bool trace = false;                ///< Print every event and action to stdout.
  bool forgetful = false;            ///< Throw all derived tables away before every step.
};

struct ChaosResult {
  std::string violation;  ///< Empty when all invariants held.
  std::uint64_t events = 0;
  std::uint64_t jobs = 0;
  std::uint64_t placements = 0;
  std::uint64_t evictions = 0;
  std::uint64_t never_fit = 0;  ///< Jobs left that could never run.
  std::uint64_t state_hash = 0;
  FaultCounts faults;
  RarePaths rare_paths;
};

ChaosResult chaos(const ChaosOptions& options);

}  // namespace tutti
