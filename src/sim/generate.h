/// Synthetic fleets and workloads as Tutti's YAML, of any size that the format allows.
///
/// The same options give the same text on every machine: all draws are integers. Times follow named
/// distributions, written as text:
///   30s                   always the same
///   uniform:1m..2h        every value equally likely
///   lognormal:1h:1.5      median 1 h; one standard deviation is 1.5 doublings
///   exponential:30s       mean 30 s, as the gaps of a Poisson process are
/// Complexity: linear in the output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"

namespace tutti {

class Distribution {
 public:
  static Result<Distribution> parse(std::string_view text);
  /// In microseconds, rounded to whole seconds where it is longer than one.
  Duration draw(Prng& prng) const;

 private:
  enum class Kind : std::uint8_t { constant, uniform, lognormal, exponential };
  Kind kind_ = Kind::constant;
  std::int64_t low_us_ = 0;  ///< Or the median, or the mean.
  std::int64_t high_us_ = 0;
  std::int64_t doublings_milli_ = 0;
};

/// "8xA100-80G:60" is {"8xA100-80G", 60}; a missing weight is 1.
struct WeightedWord {
  std::string word;
  std::uint32_t weight = 1;
};
Result<WeightedWord> parse_weighted(std::string_view text);

struct FleetPlan {
  std::uint64_t seed = 42;
  std::uint32_t nodes = 100;
  std::vector<WeightedWord> kinds;  ///< "8xA100-80G", or "cpu" for nodes without accelerators.
  std::uint32_t rack = 16;          ///< Nodes of a kind in a rack.
};

struct WorkloadPlan {
  std::uint64_t seed = 42;
  std::uint32_t jobs = 1000;
  std::vector<WeightedWord> gpus;   ///< As in a job: "0", "0.5", "2" or "8xA100-80G".
  std::vector<WeightedWord> tasks;  ///< How many tasks start together: "1", "4".
  Distribution every;
  Distribution length;
};

Result<std::string> generate_fleet(const FleetPlan& plan);
Result<std::string> generate_workload(const WorkloadPlan& plan);

}  // namespace tutti
