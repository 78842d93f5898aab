/// One chunk for many readers: each queues the same bytes, none is copied.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/answer.h"

namespace tutti::net {

/// Readers that have gone, or were too slow, are forgotten with the next chunk.
class StreamHub {
 public:
  void add(OpenStream reader) { readers_.push_back(std::move(reader)); }

  /// O(readers), without a system call for streams that are coalesced.
  void push(const std::shared_ptr<const std::string>& chunk) {
    std::erase_if(readers_, [&](OpenStream& reader) { return !reader.push(chunk); });
  }
  void push(std::string chunk) { push(std::make_shared<const std::string>(std::move(chunk))); }

  std::size_t size() const {
    return static_cast<std::size_t>(std::ranges::count_if(readers_, &OpenStream::open));
  }
  /// Ends the streams of all.
  void finish() { readers_.clear(); }

 private:
  std::vector<OpenStream> readers_;
};

}  // namespace tutti::net
