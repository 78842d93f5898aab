/// Named faults, drawn from a seed. Each seed turns some off entirely and makes others frequent, so
/// that rare combinations meet.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/counts.h"
#include "base/prng.h"

namespace tutti {

enum class Fault : std::uint8_t {
  order_lost,       ///< An order never arrives, until it is repeated.
  order_twice,      ///< An order arrives twice.
  launch_refused,   ///< The backend will not start the task.
  launch_slow,      ///< It starts much later.
  refusal_lost,     ///< Nobody hears that it was refused.
  start_lost,       ///< Nobody hears that it started.
  exit_lost,        ///< Nobody hears that it ended, until somebody asks.
  report_twice,     ///< A report arrives again.
  report_late,      ///< A report arrives after newer ones.
  node_lost,        ///< A node vanishes, and comes back later.
  node_cordoned,    ///< An operator closes a node, and opens it later.
  node_shrunk,      ///< A node reports less than is allocated on it.
  node_relabelled,  ///< Labels change under waiting and running tasks.
  device_failed,    ///< A card fails, degrades or flaps.
  job_cancelled,    ///< A user gives up.
  workspace_lost,   ///< All derived tables are thrown away.
  job_held,         ///< A user holds a job back, and releases it later.
  state_reloaded,   ///< The engine goes on from a State that went through bytes.
};
inline constexpr std::array<std::string_view, 18> fault_names{
    "order_lost",     "order_twice", "launch_refused",  "launch_slow",   "refusal_lost",
    "start_lost",     "exit_lost",   "report_twice",    "report_late",   "node_lost",
    "node_cordoned",  "node_shrunk", "node_relabelled", "device_failed", "job_cancelled",
    "workspace_lost", "job_held",    "state_reloaded"};
static_assert(static_cast<std::size_t>(Fault::state_reloaded) + 1 == fault_names.size());

using FaultCounts = Counts<Fault, fault_names.size()>;

class Faults {
 public:
  explicit Faults(std::uint64_t seed) : prng_(seed, 77) {
    constexpr std::array<std::uint32_t, 5> swarm{0, 0, 20, 80, 300};
    for (std::uint32_t& chance : permille_) chance = swarm[prng_.below(swarm.size())];
  }

  bool fires(Fault fault) {
    // Drawn even when healed, so that healing does not shift what the rest of the run draws.
    const bool fired = prng_.chance(permille_[static_cast<std::size_t>(fault)]) && !healed_;
    if (fired) fired_.count(fault);
    return fired;
  }
  /// Instead of what the seed says.
  void set(Fault fault, std::uint32_t permille) {
    permille_[static_cast<std::size_t>(fault)] = permille;
  }
  /// From now on nothing goes wrong.
  void heal() { healed_ = true; }
  Prng& prng() { return prng_; }
  const FaultCounts& fired() const { return fired_; }

 private:
  Prng prng_;
  bool healed_ = false;
  std::array<std::uint32_t, fault_names.size()> permille_{};
  FaultCounts fired_;
};

}  // namespace tutti
