/// Named faults, drawn from a seed. Each seed turns some off entirely and makes others frequent, so
/// that rare combinations meet.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/prng.h"

namespace tutti {

enum class Fault : std::uint8_t {
  launch_refused,   ///< The backend will not start the task.
  launch_slow,      ///< It starts much later.
  start_lost,       ///< Nobody hears that it started.
  exit_lost,        ///< Nobody hears that it ended, until the world is observed.
  report_twice,     ///< A report arrives again.
  report_late,      ///< A report arrives after newer ones.
  node_lost,        ///< A node vanishes, and comes back later.
  node_cordoned,    ///< An operator closes a node, and opens it later.
  node_shrunk,      ///< A node reports less than is allocated on it.
  node_relabelled,  ///< Labels change under waiting and running tasks.
  device_failed,    ///< A card fails, degrades or flaps.
  job_cancelled,    ///< A user gives up.
  workspace_lost,   ///< All derived tables are thrown away.
};
inline constexpr std::array<std::string_view, 13> fault_names{
    "launch_refused", "launch_slow",   "start_lost",    "exit_lost",   "report_twice",
    "report_late",    "node_lost",     "node_cordoned", "node_shrunk", "node_relabelled",
    "device_failed",  "job_cancelled", "workspace_lost"};

class Faults {
 public:
  explicit Faults(std::uint64_t seed) : prng_(seed, 77) {
    constexpr std::array<std::uint32_t, 5> swarm{0, 0, 20, 80, 300};
    for (std::uint32_t& chance : permille_) chance = swarm[prng_.below(swarm.size())];
  }

  bool fires(Fault fault) {
    const auto at = static_cast<std::size_t>(fault);
    // Drawn even when healed, so that healing does not shift what the rest of the run draws.
    const bool fired = prng_.chance(permille_[at]) && !healed_;
    fired_[at] += fired ? 1 : 0;
    return fired;
  }
  /// From now on nothing goes wrong.
  void heal() { healed_ = true; }
  Prng& prng() { return prng_; }
  std::span<const std::uint64_t> fired() const { return fired_; }

 private:
  Prng prng_;
  bool healed_ = false;
  std::array<std::uint32_t, fault_names.size()> permille_{};
  std::array<std::uint64_t, fault_names.size()> fired_{};
};

}  // namespace tutti
