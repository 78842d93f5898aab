/// Reproducible pseudo-random numbers: the same seed gives the same sequence on every compiler.
///
/// PCG-XSH-RR 64/32 (O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good
/// Algorithms for Random Number Generation", 2014). Not for secrets.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace tutti {

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed, std::uint64_t stream = 0) : step_(stream * 2 + 1) {
    next();
    state_ += seed;
    next();
  }

  constexpr std::uint32_t next() {
    const std::uint64_t old = state_;
    state_ = old * 6364136223846793005ULL + step_;
    const auto shifted = static_cast<std::uint32_t>(((old >> 18U) ^ old) >> 27U);
    const auto turn = static_cast<std::uint32_t>(old >> 59U);
    return (shifted >> turn) | (shifted << ((32U - turn) & 31U));
  }

  constexpr std::uint64_t next64() {
    const std::uint64_t high = next();
    return high << 32U | next();
  }

  /// Uniform in [0, bound), without modulo bias. REQUIRES: bound > 0.
  constexpr std::uint32_t below(std::uint32_t bound) {
    const std::uint32_t reject = (0U - bound) % bound;
    std::uint32_t value = next();
    while (value < reject) value = next();
    return value % bound;
  }

  /// Uniform in [low, high]. REQUIRES: low <= high, both within 32 bits of each other.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto count = static_cast<std::uint32_t>(high - low + 1);  // 0 stands for all 2^32.
    return low + static_cast<std::int64_t>(count == 0 ? next() : below(count));
  }

  /// True in `permille` of 1000 draws.
  constexpr bool chance(std::uint32_t permille) { return below(1000) < permille; }

 private:
  std::uint64_t state_ = 0;
  std::uint64_t step_;
};

/// Fisher-Yates: every order is equally likely.
template <class T>
void shuffle(std::span<T> items, Prng& prng) {
  for (std::size_t left = items.size(); left > 1; --left) {
    const std::size_t pick = prng.below(static_cast<std::uint32_t>(left));
    std::swap(items[left - 1], items[pick]);
  }
}

}  // namespace tutti
