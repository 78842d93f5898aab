/// The best node for one class, at any moment, without looking at all nodes.
///
/// Every node has a rating for the class: 0 when it does not fit, else 1 + its Permille. Blocks of
/// 32 nodes know their maximum, and blocks of 32 blocks theirs, so that "highest rating, then
/// lowest index" takes three short scans, and a change of one rating repairs at most two maxima.
/// O(n / 1024) for `best` with a tiny constant; O(1) for `set`.
#pragma once

#include <cstdint>
#include <vector>

#include "model/node.h"

namespace tutti {

class ClassIndex {
 public:
  using Rating = std::uint16_t;
  static constexpr Rating unfit = 0;

  /// All nodes unfit.
  void reset(std::size_t nodes);

  Rating rating(NodeIndex node) const { return leaves_[node.value()]; }
  void set(NodeIndex node, Rating rating) {
    if (leaves_[node.value()] != rating) change(node, rating);
  }

  /// The node with the highest rating, the lowest index among equals; none when none fits.
  NodeIndex best() const;
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t fan = 32;

  void change(NodeIndex node, Rating rating);

  std::size_t size_ = 0;
  std::vector<Rating> leaves_;  ///< Padded with `unfit` to whole blocks, as are the levels above.
  std::vector<Rating> blocks_;
  std::vector<Rating> top_;
};

}  // namespace tutti
