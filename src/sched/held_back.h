/// Why a job does not even try to find places: its rules or somebody's word hold it back.
#pragma once

#include <string>

#include "model/state.h"

namespace tutti {

/// Sentences of one line each, or nothing where some gang of it looks for places, or all of them
/// have theirs. O(gangs).
std::string held_back(const State& state, JobIndex job);

}  // namespace tutti
