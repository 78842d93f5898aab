/// How often each of a few named things happened. `Kind` is an enum that counts from 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti {

template <class Kind, std::size_t kinds>
class Counts {
 public:
  void count(Kind kind) { ++times_[static_cast<std::size_t>(kind)]; }
  void add(const Counts& other) {
    for (std::size_t at = 0; at < kinds; ++at) times_[at] += other.times_[at];
  }
  std::uint64_t of(Kind kind) const { return times_[static_cast<std::size_t>(kind)]; }
  /// By kind.
  std::span<const std::uint64_t, kinds> all() const { return times_; }

 private:
  std::array<std::uint64_t, kinds> times_{};
};

}  // namespace tutti
