/// Mixes of tasks: what is typical, and how often it occurs.
///
/// Of a task only its cpu and its devices count; the rest of its shape says nothing about what a
/// fleet should stay able to take.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/event.h"

namespace tutti {

/// Counts tasks that are equal as far as a mix is concerned. O(log n) a call.
class MixCounter {
 public:
  /// The shape must outlive the counter.
  void add(const TaskShape& shape, std::uint64_t tasks);

  /// At most `most` entries, the most frequent first.
  std::vector<MixSet::Entry> ranked(std::size_t most) const;

  /// What is counted, in ‰ of itself, that another counter has too little or too much of: the total
  /// variation distance. 1000 where one of the two is empty, 0 where both are.
  std::uint32_t distance_permille(const MixCounter& other) const;

 private:
  /// Of one request: share, count, models, memory. Mixes are ranked by it, so its order is fixed.
  using RequestKey = std::tuple<std::uint16_t, std::uint16_t, std::string, std::int64_t>;
  /// What makes two tasks equal in a mix: cpu, then devices.
  using Key = std::pair<std::int64_t, std::vector<RequestKey>>;
  struct Count {
    std::uint64_t tasks = 0;
    const TaskShape* shape = nullptr;
  };
  static Key key_of(const TaskShape& shape);
  std::uint64_t total() const;

  std::map<Key, Count> counts_;
};

}  // namespace tutti
