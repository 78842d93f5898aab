#include "api/job_quota.h"

#include <fmt/core.h>

namespace tutti {

Result<JobQuota::Place> JobQuota::take(const std::string& owner) {
  const auto coming = on_their_way_->find(owner);
  const std::uint64_t live =
      jobs_.live_of(owner) + (coming == on_their_way_->end() ? 0 : coming->second);
  if (live >= most_) {
    return fail(
        Code::conflict,
        fmt::format("{} has {} jobs that are not over, and may have {}", owner, live, most_),
        "wait until some are over, or cancel some; serve --jobs-per-user sets the limit, "
        "which is not the administrator's");
  }
  ++(*on_their_way_)[owner];
  return Place(nullptr, [counts = on_their_way_, owner](void*) {
    const auto at = counts->find(owner);
    if (--at->second == 0) counts->erase(at);
  });
}

}  // namespace tutti
