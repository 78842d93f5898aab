/// What a cycle returns: a plan, and a decision for every gang that it looked at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/action.h"
#include "sched/policy.h"

namespace tutti {

enum class Outcome : std::uint8_t {
  placed,  ///< All of it, or as much as an elastic gang gets now.
  waits,   ///< It could run when something changes.
  never,   ///< No change of what runs can help; something described must change.
};
std::string_view to_text(Outcome outcome);

/// What may make a waiting gang's answer another one.
enum class Wake : std::uint8_t { capacity_freed, queue_freed, description_changed };

struct Decision {
  GangIndex gang;
  JobId job;
  Outcome outcome = Outcome::waits;
  Wake wakes_on = Wake::capacity_freed;
  bool search_limit = false;  ///< It waits, but not everything was tried: ExactSearch::units_max.
};

struct Plan {
  std::uint64_t base_version = 0;  ///< Of the State that it was made from.
  std::vector<Action> actions;
  std::vector<Decision> decisions;
};

}  // namespace tutti
