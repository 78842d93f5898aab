/// What would become of jobs if they were submitted now.
#include <utility>

#include "api/fate.h"
#include "api/job_routes.h"
#include "format/json.h"
#include "sched/suppose.h"

namespace tutti {
namespace {

Result<void> admit_all(const State& state, const std::vector<Event>& events) {
  for (std::size_t at = 0; at < events.size(); ++at) {
    TRY(Turns::admit(state, events[at], std::span(events).first(at)));
  }
  return {};
}

std::string fates_json(const State& state, const std::vector<Event>& events,
                       const PolicyFactory& factory, const User& reader) {
  const Supposed supposed = suppose(state, factory, events);
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("dry_run", true).key("jobs");
  write_fates(json, supposed, factory, reader, events);
  json.end_object();
  return out;
}

}  // namespace

void JobRoutes::try_out(Call call) {
  call.dry_run = true;
  const std::uint64_t next = next_id_;
  Result<Submissions> wanted = submissions(call);
  next_id_ = next;  // Nobody gets these ids.
  if (!wanted) return call.refuse(wanted.error());
  ports_.engine->ask([events = std::move(wanted->events), &factory = *ports_.factory,
                      call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    if (auto good = admit_all(state, events); !good) {
      return [error = std::move(good).error(), call = std::move(call)]() mutable {
        call.refuse(error);
      };
    }
    std::string text = fates_json(state, events, factory, call.user);
    return [text = std::move(text), call = std::move(call)]() mutable {
      call.send(200, std::move(text));
    };
  });
}

}  // namespace tutti
