/// The integer part of 100 / (1 + exp(-x / scale)), without a floating-point number.
#pragma once

#include <array>
#include <cstdint>

namespace tutti {

/// A table of the 99 values of x at which the level rises. O(log 99) per look-up.
class SigmoidLevels {
 public:
  /// REQUIRES: 0 < scale < 2^50.
  explicit SigmoidLevels(std::int64_t scale);
  /// 0 to 99; 50 for x = 0.
  unsigned of(std::int64_t x) const;

 private:
  std::array<std::int64_t, 99> reaches_{};  ///< Level L is reached at reaches_[L - 1].
};

}  // namespace tutti
