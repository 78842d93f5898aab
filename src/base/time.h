/// Engine time. An `Instant` counts microseconds from the start of the run (simulator) or from the
/// Unix epoch (server); the pure folders only compare and subtract, they never ask a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace tutti {

struct Duration {
  std::int64_t us = 0;

  static constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000}; }
  static constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000}; }
  static constexpr Duration max() { return {std::numeric_limits<std::int64_t>::max()}; }
  constexpr double in_seconds() const { return static_cast<double>(us) / 1e6; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.us + b.us}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.us - b.us}; }
};

struct Instant {
  std::int64_t us = 0;

  static constexpr Instant max() { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.us + d.us}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.us - b.us}; }
};

}  // namespace tutti
