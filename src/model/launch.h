/// What a task runs and how it is stopped, on backends that start processes themselves. Elsewhere
/// the world knows that already, and all of it is empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace tutti {

/// Does somebody sit at it, typing what it reads and seeing what it writes?
enum class Attended : std::uint8_t {
  no,
  terminal,  ///< It has a terminal.
  pipes,     ///< As part of a pipeline.
};
std::string_view to_text(Attended attended);

struct LaunchSpec {
  std::vector<std::string> command;  ///< The program and its arguments.
  std::string directory;             ///< Where it starts; empty: the home of its user.
  std::string output;                ///< A file for what it prints; empty: the backend keeps it.
  /// The name under which its variables are kept, apart and readable by their owner only: their
  /// values stand in no journal.
  std::string environment;
  std::string stop_signal = "TERM";        ///< Asks it to end, after a checkpoint perhaps ...
  Duration grace = Duration::seconds(30);  ///< ... for which it has so long before it is killed.
  Attended attended = Attended::no;
  std::uint16_t rows = 24;  ///< Of its terminal, at its start.
  std::uint16_t columns = 80;
  friend bool operator==(const LaunchSpec&, const LaunchSpec&) = default;
};

}  // namespace tutti
