/// Which jobs wait for which, and how those ended that State forgot.
///
/// Of about a million jobs, the newest, the end is remembered; older ones are not known any more.
/// Noting an end costs O(1), a dependency O(log n).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "model/job.h"

namespace tutti {

class Dependents {
 public:
  static constexpr std::uint64_t ends_most = std::uint64_t{1} << 20U;

  void add(JobId on, JobId waiter) { waiters_.emplace(on, waiter); }
  void remove(JobId on, JobId waiter) { waiters_.erase({on, waiter}); }
  /// Those that wait for this job, in the order of their ids.
  std::vector<JobId> waiting_for(JobId on) const {
    std::vector<JobId> out;
    for (auto at = waiters_.lower_bound({on, JobId(0)}); at != waiters_.end() && at->first == on;) {
      out.push_back((at++)->second);
    }
    return out;
  }

  void ended(JobId job, JobEnd end) {
    const std::uint64_t wanted = std::bit_ceil(std::min(job.value(), ends_most - 1) + 1);
    if (ends_.size() < wanted) ends_.resize(wanted);
    ends_[job.value() % ends_.size()] = {job, end};
  }
  std::optional<JobEnd> end_of(JobId job) const {
    if (ends_.empty()) return std::nullopt;
    const Ended& row = ends_[job.value() % ends_.size()];
    if (row.job != job) return std::nullopt;
    return row.end;
  }
  /// Calls `visit(job, end)` for all ends that are remembered, in no order that means anything.
  template <class Visit>
  void each_end(Visit&& visit) const {
    for (const Ended& row : ends_) {
      if (row.job.valid()) visit(row.job, row.end);
    }
  }

 private:
  struct Ended {
    JobId job;
    JobEnd end = JobEnd::succeeded;
  };
  std::set<std::pair<JobId, JobId>> waiters_;
  std::vector<Ended> ends_;  ///< By id, modulo its length: 1, 2, 4 ... `ends_most`.
};

}  // namespace tutti
