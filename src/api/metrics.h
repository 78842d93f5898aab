/// Figures of the server, and how Prometheus reads them (text format 0.0.4).
///
///   MetricsText text;
///   text.family("tutti_jobs", "gauge", "Jobs by state.").sample({{"state", "held"}}, 3);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "base/time.h"

namespace tutti {

/// How often something took how long. A value: whoever owns it copies it for readers.
class Histogram {
 public:
  /// Upper bounds in seconds; what took longer is counted, too.
  static constexpr std::array<double, 13> bounds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,
                                                 0.3,    1,      3,     10,    30,   100};
  void add(Duration took);

  std::uint64_t count() const { return count_; }
  double sum_seconds() const { return sum_.in_seconds(); }
  /// Of those up to bounds[bucket], without the smaller ones.
  std::uint64_t in_bucket(std::size_t bucket) const { return buckets_[bucket]; }

 private:
  std::array<std::uint64_t, bounds.size() + 1> buckets_{};
  std::uint64_t count_ = 0;
  Duration sum_;
};

class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// What follows belongs to it. `type` is gauge, counter or histogram.
  MetricsText& family(std::string_view name, std::string_view type, std::string_view help);
  MetricsText& sample(Labels labels, double value);
  MetricsText& sample(double value) { return sample({}, value); }
  MetricsText& histogram(const Histogram& figures);

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view ending, Labels labels, double value);

  std::string name_;
  std::string text_;
};

/// process_cpu_seconds_total and the like, from /proc.
void write_process(MetricsText& text);

}  // namespace tutti
