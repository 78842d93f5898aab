/// GET /api/v1/events: what happens, as it happens.
#pragma once

#include "api/event_feed.h"
#include "api/router.h"

namespace tutti {

class EventRoutes {
 public:
  /// Both must outlive the routes.
  EventRoutes(EventFeed& feed, const JobTable& jobs) : feed_(feed), jobs_(jobs) {}
  void declare(Router& router);

 private:
  void read(Call call);
  Result<EventFeed::Wish> wish_of(const Call& call) const;

  EventFeed& feed_;
  const JobTable& jobs_;
};

}  // namespace tutti
