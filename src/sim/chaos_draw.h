/// What a chaos run consists of, drawn from its seed: a fleet, queues, tasks, jobs. Private to
/// chaos.cpp.
///
/// Most of it is small and random. Some seeds, by their number, also get what chance would not
/// bring: a wide fleet, or one job that drives the engine to a limit. By their number, so that any
/// 200 seeds in a row meet all of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "model/event.h"

namespace tutti {

class ChaosDraw {
 public:
  /// Jobs that arrive, one after the other.
  static constexpr unsigned arrivals = 60;

  explicit ChaosDraw(std::uint64_t seed) : seed_(seed), prng_(seed, 1) {}

  Prng& prng() { return prng_; }

  std::vector<NodeSpec> fleet();
  /// None on every other seed.
  std::vector<QueueSpec> queues();
  MixSet mix();
  JobSpec job();

  /// A job that drives the engine to one of its limits.
  struct Extreme {
    unsigned arrival = 0;  ///< Comes after so many other jobs.
    JobSpec job;
    bool cancelled_at_once = false;  ///< It costs too much to be tried again at every step.
  };
  /// None on most seeds.
  std::optional<Extreme> extreme(const std::vector<NodeSpec>& fleet);

 private:
  NodeSpec node(unsigned number);
  TaskShape task();
  DeviceRequest request();
  void set_company(TaskShape& shape);
  RoleSpec role();
  JobRules rules();
  GangSpec gang();

  std::uint64_t seed_;
  Prng prng_;
  std::vector<std::string> queue_names_;
};

}  // namespace tutti
