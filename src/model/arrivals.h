/// How many tasks of which shape were submitted lately: what a target mix is learned from.
///
/// Counts fade: once all of them together exceed the window, each is halved. What came long ago
/// thus weighs half, then a quarter, and is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "model/shape.h"

namespace tutti {

class ArrivalCounts {
 public:
  /// REQUIRES: tasks <= limits::arrivals_window. O(1), and O(shapes) each half window.
  void add(ShapeIndex shape, std::uint32_t tasks) {
    if (counts_.size() <= shape.value()) counts_.resize(shape.value() + std::size_t{1});
    counts_[shape.value()] += tasks;
    weight_ += tasks;
    seen_ += tasks;
    if (weight_ > limits::arrivals_window) fade();
  }

  /// As it was when `counts` and `seen` were so. REQUIRES: the counts do not exceed the window.
  void restore(std::vector<std::uint32_t> counts, std::uint64_t seen) {
    counts_ = std::move(counts);
    seen_ = seen;
    weight_ = 0;
    for (const std::uint32_t count : counts_) weight_ += count;
  }

  /// All that were ever counted; only grows.
  std::uint64_t seen() const { return seen_; }
  /// By ShapeIndex; shapes beyond the end count nothing.
  const std::vector<std::uint32_t>& counts() const { return counts_; }

 private:
  void fade() {
    weight_ = 0;
    for (std::uint32_t& count : counts_) weight_ += count /= 2;
  }

  std::vector<std::uint32_t> counts_;
  std::uint64_t weight_ = 0;  ///< Σ of the counts.
  std::uint64_t seen_ = 0;
};

}  // namespace tutti
