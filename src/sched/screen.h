/// Which classes may fit on a node: the cheap half of a capacity check, for all classes at once.
///
/// A changed node concerns every class, yet on a busy fleet it has room for few. The screen keeps
/// the needs of all classes side by side, as 16-bit numbers, and sorts out in a handful of vector
/// instructions which classes are worth an exact look. It never rejects a class that fits.
#pragma once

#include <array>
#include <cstdint>

#include "base/limits.h"
#include "model/usage.h"

namespace tutti {

class Screen {
 public:
  static constexpr unsigned width = limits::classes;
  static constexpr unsigned words = width / 64;
  static_assert(width % 64 == 0);
  using Mask = std::array<std::uint64_t, words>;  ///< One bit per class.

  Screen() { clear(); }

  /// No class fits anywhere.
  void clear();
  /// From now on class `number` needs what a task of the shape needs. O(1) but when a larger need
  /// than ever comes.
  void set(unsigned number, const ShapeRow& row);
  /// Class `number` fits nowhere.
  void unset(unsigned number) { open_[number] = never; }

  /// The classes that may fit on the node now.
  Mask may_fit(const Usage& usage, NodeIndex node) const;

 private:
  static constexpr std::uint16_t never = 0xffff;  ///< More ‰ than any device has.
  static constexpr std::array<Lane, 2> screened{lane::cpu, lane::memory};

  /// Needs of one lane, divided by 2^shift and rounded down, so that the largest one has 16 bits.
  struct Needs {
    std::array<std::int64_t, width> exact{};
    std::array<std::uint16_t, width> coarse{};
    unsigned shift = 0;

    void set(unsigned number, std::int64_t amount);
    std::uint16_t offered(std::int64_t free) const;
  };

  std::array<std::uint16_t, width> open_;
  std::array<std::uint16_t, width> whole_;
  std::array<Needs, screened.size()> lanes_;
  unsigned used_words_ = 0;  ///< Words beyond it hold no class.
};

}  // namespace tutti
