/// Lines out of pieces that end anywhere. A line longer than the limit is passed over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tutti {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t line_bytes_max) : max_(line_bytes_max) {}

  /// Calls `take(line, whole)` for each line that ends in `piece`, without its end; of one that is
  /// too long, with its beginning, and `whole` false. Stops, and is to be dropped, when `take`
  /// says false. Empty lines are passed over.
  template <class Take>
  void feed(std::string_view piece, Take take) {
    while (!piece.empty()) {
      const std::size_t size = std::min(piece.find('\n'), piece.size());
      const std::string_view part = piece.substr(0, size);
      const bool ends = size < piece.size();
      piece.remove_prefix(size + (ends ? 1 : 0));
      if (ends && kept_.empty() && part.size() <= max_) {
        if (!part.empty() && !take(part, true)) return;
        continue;
      }
      too_long_ = too_long_ || part.size() > max_ - kept_.size();
      kept_ += part.substr(0, max_ - kept_.size());
      if (!ends) return;
      const std::string line = std::exchange(kept_, {});
      if (!take(line, !std::exchange(too_long_, false))) return;
    }
  }

 private:
  std::size_t max_;
  std::string kept_;  ///< Of a line that has not ended, at most `max_` bytes.
  bool too_long_ = false;
};

}  // namespace tutti
