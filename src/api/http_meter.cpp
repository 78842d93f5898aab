#include "api/http_meter.h"

#include <algorithm>
#include <array>

namespace tutti {

void HttpMeter::answered(std::string_view method, int status, Duration took) {
  // Whoever asks chooses the word, so that unknown ones must not make rows without end.
  constexpr std::array<std::string_view, 7> known{"GET",   "HEAD",   "POST",   "PUT",
                                                  "PATCH", "DELETE", "OPTIONS"};
  const bool usual = std::ranges::find(known, method) != known.end();
  ++counts_[{status, std::string(usual ? method : "other")}];
  seconds_.add(took);
}

void HttpMeter::write(MetricsText& text) const {
  text.family("tutti_http_requests_total", "counter", "Requests that were answered.");
  for (const auto& [key, count] : counts_) {
    text.sample({{"code", std::to_string(key.first)}, {"method", key.second}},
                static_cast<double>(count));
  }
  text.family("tutti_http_request_seconds", "histogram",
              "From a whole request to its answer, or the head of a stream.")
      .histogram(seconds_);
}

}  // namespace tutti
