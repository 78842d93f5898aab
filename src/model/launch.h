/// What a task runs and how it is stopped, on backends that start processes themselves. Elsewhere
/// the world knows that already, and all of it is empty.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"

namespace tutti {

struct LaunchSpec {
  std::vector<std::string> command;  ///< The program and its arguments.
  std::string directory;             ///< Where it starts; empty: the home of its user.
  std::string output;                ///< A file for what it prints; empty: the backend keeps it.
  /// The name under which its variables are kept, apart and readable by their owner only: their
  /// values stand in no journal.
  std::string environment;
  std::string stop_signal = "TERM";        ///< Asks it to end, after a checkpoint perhaps ...
  Duration grace = Duration::seconds(30);  ///< ... for which it has so long before it is killed.
  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

}  // namespace tutti
