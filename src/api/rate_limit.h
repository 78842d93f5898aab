/// How often somebody may do something: so many times a second on average, and four seconds' worth
/// at once. Belongs to the readers' thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"

namespace tutti {

class RateLimit {
 public:
  /// REQUIRES: 1 to 1 000 000.
  explicit RateLimit(std::uint32_t per_second) : per_second_(per_second) {}

  /// Zero: he may, and has done it. Else how long he has to wait.
  Duration take(const std::string& who, Instant now);
  std::uint32_t per_second() const { return per_second_; }
  std::size_t remembered() const { return spent_until_.size(); }

 private:
  void forget(Instant now);

  std::uint32_t per_second_;
  /// When each will have earned what he took; who is not here has all that he may.
  std::map<std::string, Instant> spent_until_;
  std::size_t forget_at_ = 1024;  ///< When so many are remembered.
};

}  // namespace tutti
