/// How long to wait before the next try: a random part of a time that doubles with each failure
/// ("full jitter"), so that many who failed together do not come back together.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prng.h"
#include "base/time.h"

namespace tutti {

class Backoff {
 public:
  static constexpr Duration first = Duration::milliseconds(200);
  static constexpr Duration most = Duration::seconds(30);

  /// Counts a failure.
  Duration next(Prng& prng) {
    constexpr unsigned doublings = 8;  // 200 ms times 2^8 is beyond `most`.
    const Duration longest{first.us << std::min(failures_, doublings)};
    ++failures_;
    return {prng.between(0, std::min(longest, most).us)};
  }
  void reset() { failures_ = 0; }
  /// In a row.
  unsigned failures() const { return failures_; }

 private:
  unsigned failures_ = 0;
};

}  // namespace tutti
