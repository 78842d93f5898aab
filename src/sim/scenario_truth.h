/// What is true of an expectation; private to scenario*.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/scenario_world.h"

namespace tutti {

struct Truth {
  bool holds = false;
  std::string actual;  ///< In the spelling of Expectation::wanted; may have several lines.
  std::string why;     ///< Why the tasks wait, or were refused; empty where that is no question.
  /// The true statement, and the lines below it; none where only a person can mend it.
  std::optional<std::string> statement;
  std::vector<std::string> block;
};

Truth truth_of(const Expectation& expectation, ScenarioWorld& world);

/// "n0:0-3".
std::string told_place(const State& state, NodeIndex node, const DeviceSet& devices);

}  // namespace tutti
