/// Lines of a journal into events, by several threads, in order.
///
/// One thread reads lines, others decode them in batches, and the caller takes the events one after
/// the other: a start costs what the slowest of the three does, not their sum.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/event.h"

namespace tutti {

class RowDecoder {
 public:
  using VisitLine = std::function<Result<void>(std::uint64_t row, const std::string& line)>;
  /// Hands over lines in order, until that one returns an error.
  using Read = std::function<Result<void>(const VisitLine& visit)>;
  using Visit = std::function<Result<void>(std::uint64_t row, const Event& event, Instant at)>;

  /// Calls `read` on a thread of its own and `visit` on this one. The first error in the order of
  /// rows ends it, after all rows before it were visited; a line that cannot be decoded stands at
  /// `path`: row N.
  static Result<void> run(const std::string& path, const Read& read, const Visit& visit);
};

}  // namespace tutti
