#include "api/queue_routes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "api/fate.h"
#include "api/job_access.h"
#include "api/query.h"
#include "dialect/tutti.h"
#include "format/json.h"
#include "format/quantity.h"
#include "format/text.h"
#include "model/resources.h"
#include "sched/queue_trial.h"

namespace tutti {
namespace {

using Names = std::vector<std::string_view>;

/// A tree of tenants has hundreds; each costs every list, and none is ever removed.
constexpr std::size_t queues_most = 10'000;

/// Of a queue and of all below it. O(queues below it).
LiveJobs jobs_of(const JobTable::ByQueue& by_queue, const std::string& queue) {
  LiveJobs out;
  const auto add = [&](const LiveJobs& jobs) {
    out.running += jobs.running;
    out.waiting += jobs.waiting;
  };
  const auto own = by_queue.find(queue);
  if (own != by_queue.end()) add(own->second);
  const std::string below = queue + "/";
  for (auto at = by_queue.lower_bound(below); at != by_queue.end(); ++at) {
    if (!at->first.starts_with(below)) break;
    add(at->second);
  }
  return out;
}

/// "1500m" cores, "64Gi" of memory, "8" of all else: as limits are written.
void write_amounts(JsonWriter& json, const std::vector<NamedAmount>& amounts) {
  json.begin_object();
  for (const NamedAmount& each : amounts) {
    json.member(each.name, amount_number(each.name, each.amount));
  }
  json.end_object();
}

void write_used(JsonWriter& json, const State& state, QueueIndex index) {
  const QueueUsage& used = state.queue_usage(index);
  json.begin_object();
  for (std::size_t lane = 0; lane < used.lanes.size(); ++lane) {
    const std::string& name = state.fleet().lanes().name(Lane(lane));
    if (used.lanes[lane] > 0) json.member(name, amount_number(name, used.lanes[lane]));
  }
  if (used.gpu_milli > 0) json.member("gpu", quantity_milli_text(used.gpu_milli));
  json.end_object();
}

void write_queue(JsonWriter& json, const State& state, QueueIndex index,
                 const JobTable::ByQueue& by_queue) {
  const QueueSpec& spec = state.queue(index).spec;
  json.begin_object().member("name", spec.name).member("weight", spec.weight);
  json.key("limit");
  write_amounts(json, spec.limit);
  json.key("guarantee");
  write_amounts(json, spec.guarantee);
  json.key("used");
  write_used(json, state, index);
  const LiveJobs jobs = jobs_of(by_queue, spec.name);
  json.member("running", jobs.running).member("pending", jobs.waiting).end_object();
}

/// The queues that somebody may see, by name.
std::string queues_json(const State& state, const User& reader, const JobTable::ByQueue& by_queue) {
  std::map<std::string_view, QueueIndex> queues;
  for (std::size_t at = 0; at < state.queue_count(); ++at) {
    const std::string& name = state.queue(QueueIndex(at)).spec.name;
    if (reader.sees(name)) queues.emplace(name, QueueIndex(at));
  }
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("queues").begin_list();
  for (const auto& [name, index] : queues) write_queue(json, state, index, by_queue);
  json.end_list().end_object();
  return out;
}

Error no_queue(const State& state, const User& reader, std::string_view name) {
  Names known;
  for (std::size_t at = 0; at < state.queue_count(); ++at) {
    const std::string& each = state.queue(QueueIndex(at)).spec.name;
    if (reader.sees(each)) known.push_back(each);
  }
  return {Code::not_found, "no queue " + quote(name), {}, did_you_mean(name, known)};
}

/// May this user make or change such a queue here? Says whether it would be a new one.
Result<bool> check(const State& state, const User& user, const QueueSpec& queue) {
  TRY(state.admissible(QueueSet{queue}));
  for (const auto* const amounts : {&queue.limit, &queue.guarantee}) {
    for (const NamedAmount& each : *amounts) {
      if (each.name == "gpu" || state.fleet().lanes().find(each.name)) continue;
      Names known{"gpu"};
      for (std::size_t lane = 0; lane < state.fleet().lanes().size(); ++lane) {
        known.push_back(state.fleet().lanes().name(Lane(lane)));
      }
      return fail(Code::not_found, "no node has " + quote(each.name),
                  did_you_mean(each.name, known));
    }
  }
  if (state.find_queue(queue.name)) return false;
  if (state.queue_count() >= queues_most) {
    return fail(
        Code::limit,
        "there are " + std::to_string(state.queue_count()) + " queues, and no more are possible",
        "give one that nobody uses another limit instead");
  }
  const std::size_t slash = queue.name.rfind('/');
  if (slash == queue.name.npos && user.role != Role::admin) {
    return fail(Code::denied, "queue " + quote(queue.name) + " would be below no other",
                "administrators make such queues, operators those below theirs");
  }
  if (slash == queue.name.npos || state.find_queue(queue.name.substr(0, slash))) return true;
  return fail(Code::not_found,
              "queue " + quote(queue.name) + " would be below " +
                  quote(queue.name.substr(0, slash)) + ", which is not there",
              "make that one first");
}

std::string trial_json(const State& state, const User& reader, const QueueTrial& trial) {
  constexpr std::size_t shown_most = 100;
  std::string out;
  JsonWriter json(out);
  std::vector<JobId> seen;
  for (const JobId id : trial.would_start) {
    if (may(reader, *state.jobs()[state.find(id)].spec, Deed::see)) seen.push_back(id);
  }
  json.begin_object().member("dry_run", true).member("starting", seen.size());
  json.key("would_start").begin_list();
  for (const JobId id : std::span(seen).first(std::min(seen.size(), shown_most))) {
    const JobSpec& spec = *state.jobs()[state.find(id)].spec;
    json.begin_object().member("id", std::to_string(id.value())).member("name", spec.name);
    json.member("user", spec.user).end_object();
  }
  json.end_list().key("above").begin_list();
  for (const QueueTrial::Above& each : trial.above) {
    const std::string used = each.used.name == "gpu"
                                 ? quantity_milli_text(each.used.amount)
                                 : amount_number(each.used.name, each.used.amount);
    json.begin_object().member("resource", each.used.name).member("used", used);
    json.member("limit", amount_number(each.limit.name, each.limit.amount)).end_object();
  }
  json.end_list().end_object();
  return out;
}

}  // namespace

void QueueRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/queues", Role::viewer, [this](Call call) { list(std::move(call)); });
  router.add("GET", "/api/v1/queues/{}", Role::viewer,
             [this](Call call) { show(std::move(call), 200); });
  router.add("PUT", "/api/v1/queues/{}", Role::operator_,
             [this](Call call) { set(std::move(call)); });
}

void QueueRoutes::list(Call call) {
  engine_.ask([by_queue = jobs_.by_queue(),
               call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    std::string text = queues_json(state, call.user, by_queue);
    return [text = std::move(text), call = std::move(call)]() mutable {
      call.send(200, std::move(text));
    };
  });
}

void QueueRoutes::show(Call call, int status) {
  engine_.ask([by_queue = jobs_.by_queue(), status,
               call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    const std::string& name = call.parts[0];
    const auto index = state.find_queue(name);
    if (!index || !call.user.sees(name)) {
      Error error = no_queue(state, call.user, name);
      return [error = std::move(error), call = std::move(call)]() mutable { call.refuse(error); };
    }
    std::string text;
    JsonWriter json(text);
    write_queue(json, state, *index, by_queue);
    return [text = std::move(text), status, call = std::move(call)]() mutable {
      call.send(status, std::move(text));
    };
  });
}

void QueueRoutes::set(Call call) {
  if (const auto known = only_known(call.request, {"dry_run"}); !known) {
    return call.refuse(known.error());
  }
  const Result<bool> dry_run = is_dry_run(call.request);
  if (!dry_run) return call.refuse(dry_run.error());
  call.dry_run = *dry_run;
  if (!call.user.sees(call.parts[0])) {
    const Names queues(call.user.queues.begin(), call.user.queues.end());
    return call.refuse({Code::denied,
                        call.user.who() + " may not change queue " + quote(call.parts[0]),
                        {},
                        "operators may change " + join_names(queues) + " and queues below"});
  }
  auto read = [&]() -> Result<QueueSpec> {
    return parse_queue(TRY(parse_json(call.request.body)), call.parts[0]);
  }();
  if (!read) return call.refuse(read.error());
  engine_.ask([this, queue = *std::move(read),
               call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    const Result<bool> is_new = check(state, call.user, queue);
    if (!is_new) {
      return [error = is_new.error(), call = std::move(call)]() mutable { call.refuse(error); };
    }
    if (!call.dry_run) {
      return [this, is_new = *is_new, queue = std::move(queue), call = std::move(call)]() mutable {
        keep(std::move(call), std::move(queue), is_new);
      };
    }
    std::string text = trial_json(state, call.user, try_queue(state, factory_, queue));
    return [text = std::move(text), call = std::move(call)]() mutable {
      call.send(200, std::move(text));
    };
  });
}

void QueueRoutes::keep(Call call, QueueSpec queue, bool is_new) {
  engine_.send({QueueSet{std::move(queue)}},
               [this, is_new, call = std::move(call)](const EngineThread::Answers& done) mutable {
                 if (!done.front()) return call.refuse(done.front().error());
                 show(std::move(call), is_new ? 201 : 200);
               });
}

}  // namespace tutti
