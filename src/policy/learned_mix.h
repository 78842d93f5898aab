/// The target mix, learned on line from the tasks that were submitted.
///
/// What State counts of them (model/arrivals.h) is the mix: nothing is smoothed, and nothing is
/// assumed before the first submission, which is learned before it is placed.
///
/// A new mix makes the workspace rate every node anew, so it is looked at in epochs only: after 1,
/// 2, 3, ... arrivals, soon each time that a quarter more have come, and at the latest after
/// `every`. There it is set if it differs enough from the one in effect. Epochs follow from the
/// number of arrivals alone, so that the same history has the same mixes in every world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "model/event.h"
#include "model/state.h"

namespace tutti {

/// Classes of a learned mix; the rarest of more are left out. The openb traces have up to 312.
inline constexpr std::size_t learned_classes_max = 512;

/// Tasks, in ‰ of the mix, that must be of other classes than the mix in effect says.
inline constexpr std::uint32_t learned_drift_permille = 50;

/// The first epoch after that many arrivals. REQUIRES: every > 0. O(log every).
std::uint64_t next_epoch(std::uint64_t seen, std::uint32_t every);

/// The event to journal, if there is reason to: an epoch passed since `seen_before` arrivals and
/// the mix is another, or the one in effect was given. O(1) between epochs, else O(shapes).
std::optional<MixSet> learned_mix(const State& state, std::uint64_t seen_before,
                                  std::uint32_t every);

}  // namespace tutti
