/// Counts what was answered, and how long that took. Belongs to the readers' thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/metrics.h"

namespace tutti {

class HttpMeter {
 public:
  /// Of a stream, `took` is the time until its head.
  void answered(std::string_view method, int status, Duration took);
  void write(MetricsText& text) const;

 private:
  std::map<std::pair<int, std::string>, std::uint64_t> counts_;  ///< By status and method.
  Histogram seconds_;
};

}  // namespace tutti
