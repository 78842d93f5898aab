/// What changed, in order, for readers that repair derived tables.
///
/// A bounded ring: a reader that fell too far behind is told so, and rebuilds. Positions only grow.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"

namespace tutti {

template <class Entry>
class ChangeLog {
 public:
  /// `capacity` is rounded up to a power of two.
  explicit ChangeLog(std::size_t capacity = std::size_t{1} << 16) {
    std::size_t size = 1;
    while (size < capacity) size *= 2;
    ring_.resize(size);
  }

  std::uint64_t end() const { return end_; }
  /// Can a reader that has seen everything before `position` still catch up entry by entry?
  bool reaches(std::uint64_t position) const { return end_ - position <= ring_.size(); }
  /// REQUIRES: reaches(position), position < end().
  const Entry& operator[](std::uint64_t position) const {
    return ring_[position & (ring_.size() - 1)];
  }
  void push(const Entry& entry) { ring_[end_++ & (ring_.size() - 1)] = entry; }
  /// Readers of older positions must rebuild.
  void skip_all() { end_ += ring_.size() + 1; }

 private:
  std::vector<Entry> ring_;
  std::uint64_t end_ = 0;
};

}  // namespace tutti
