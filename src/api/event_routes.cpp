#include "api/event_routes.h"

#include <string>
#include <utility>

#include "api/job_access.h"
#include "api/query.h"
#include "format/text.h"

namespace tutti {

void EventRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/events", Role::viewer, [this](Call call) { read(std::move(call)); });
}

Result<EventFeed::Wish> EventRoutes::wish_of(const Call& call) const {
  const net::Request& request = call.request;
  TRY(only_known(request, {"job", "queue", "from", "follow"}));
  EventFeed::Wish wish;
  wish.reader = {call.user.queues, call.user.token};
  if (const auto job = request.query_value("job")) {
    const JobRow* const row = visible_job(call.user, jobs_, *job);
    if (row == nullptr) {
      return fail(Code::not_found, "no job " + std::string(*job), "tutti jobs lists them");
    }
    wish.filter.job = row->id;
  }
  wish.filter.queue = request.query_value("queue").value_or("");
  const std::string_view follow = request.query_value("follow").value_or("true");
  if (follow != "true" && follow != "false") {
    return fail(Code::invalid, "follow is " + quote(follow), "write true or false");
  }
  wish.follow = follow == "true";
  // A browser that comes back repeats the whole query, but knows better by then.
  const auto seen = request.headers.find("Last-Event-ID");
  const std::string_view from = seen.value_or(request.query_value("from").value_or("now"));
  if (from == "now" || from == "oldest") {
    wish.after = from == "now" ? feed_.newest() : feed_.complete_after();
    return wish;
  }
  const auto row = natural(from);
  if (!row) {
    return fail(Code::invalid, (seen ? "Last-Event-ID is " : "from is ") + quote(from),
                "write now, oldest, or the id of the last event that you have");
  }
  wish.after = *row;
  return wish;
}

void EventRoutes::read(Call call) {
  const Result<EventFeed::Wish> wish = wish_of(call);
  if (!wish) return call.refuse(wish.error());
  feed_.add(call.stream({.status = 200,
                         .headers = {{"Content-Type", "text/event-stream"},
                                     {"Cache-Control", "no-store"},
                                     {"X-Accel-Buffering", "no"}},
                         .body = {}}),
            *wish);
}

}  // namespace tutti
