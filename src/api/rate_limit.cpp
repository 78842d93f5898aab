#include "api/rate_limit.h"

#include <algorithm>

namespace tutti {
namespace {

constexpr Duration at_once = Duration::seconds(4);

}  // namespace

Duration RateLimit::take(const std::string& who, Instant now) {
  if (spent_until_.size() >= forget_at_) forget(now);
  const Duration price{1'000'000 / per_second_};
  Instant& until = spent_until_.try_emplace(who, now).first->second;
  until = std::max(until, now);
  const Duration left = at_once - (until - now);
  if (price <= left) {
    until = until + price;
    return {};
  }
  return price - left;
}

/// Those who have all that they may. O(remembered), once for as many new ones.
void RateLimit::forget(Instant now) {
  std::erase_if(spent_until_, [&](const auto& each) { return each.second <= now; });
  forget_at_ = std::max<std::size_t>(1024, 2 * spent_until_.size());
}

}  // namespace tutti
