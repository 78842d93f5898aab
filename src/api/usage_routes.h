/// GET /api/v1/usage: who used how much, a row each and a total.
///
/// Operators and administrators see all of the queues that they may see, others what is their own
/// there.
#pragma once

#include <functional>

#include "api/router.h"
#include "ledger/meter.h"

namespace tutti {

class UsageRoutes {
 public:
  using Clock = std::function<Instant()>;

  /// The meter must outlive the routes.
  UsageRoutes(const Meter& meter, Clock clock) : meter_(meter), clock_(std::move(clock)) {}
  void declare(Router& router);

 private:
  void answer(Call call) const;
  Result<Meter::Question> question_of(const Call& call) const;

  const Meter& meter_;
  Clock clock_;
};

}  // namespace tutti
