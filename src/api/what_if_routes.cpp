#include "api/what_if_routes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/fate.h"
#include "api/job_access.h"
#include "api/json_text.h"
#include "api/query.h"
#include "format/json.h"
#include "format/reader.h"
#include "format/text.h"
#include "sched/what_if.h"

namespace tutti {
namespace {

constexpr std::int64_t nodes_most = 1000;
constexpr std::size_t shown_most = 100;

struct Question {
  std::int64_t add_nodes = 0;
  std::string like;  ///< A node; empty: the first one.
  std::vector<std::string> uncordon;
  std::vector<std::string> drain;
  std::vector<JobId> cancel;
  std::optional<JobId> job;
};

Result<JobId> job_id(const std::string& word) {
  const auto number = natural(word);
  if (number) return JobId(*number);
  return fail(Code::invalid, quote(word) + " is no job", "the id of a job is a number in quotes");
}

Result<Question> read(const std::string& body) {
  const Value value = TRY(parse_json(body));
  return decode(value, "question", [](Reader& r) -> Result<Question> {
    Question question;
    question.add_nodes = TRY(r.optional_integer("add_nodes", 0, nodes_most)).value_or(0);
    question.like = TRY(r.optional_text("like")).value_or("");
    question.uncordon = TRY(r.texts("uncordon"));
    question.drain = TRY(r.texts("drain"));
    for (const std::string& each : TRY(r.texts("cancel"))) {
      question.cancel.push_back(TRY(job_id(each)));
    }
    if (const auto job = TRY(r.optional_text("job"))) question.job = TRY(job_id(*job));
    return question;
  });
}

/// A node as that one, when nothing runs there.
NodeSpec one_more(const State& state, NodeIndex like, const std::string& name) {
  NodeSpec spec = description(state, like);
  spec.name = name;
  spec.cordoned = false;
  for (DeviceSpec& each : spec.devices) {
    each.device.id.clear();
    each.device.health = Health::online;
  }
  return spec;
}

Result<std::vector<Event>> events_of(const State& state, const Question& question) {
  const Fleet& fleet = state.fleet();
  std::vector<Event> events;
  if (question.add_nodes > 0) {
    const auto like =
        question.like.empty() ? std::optional(NodeIndex(0)) : fleet.find(question.like);
    if (!like || fleet.size() == 0) {
      return fail(Code::not_found, "no node " + quote(question.like) + " to add more of", {});
    }
    for (std::int64_t at = 1, made = 0; made < question.add_nodes; ++at) {
      const std::string name = "new-" + std::to_string(at);
      if (fleet.find(name)) continue;
      events.emplace_back(NodeReported{one_more(state, *like, name)});
      ++made;
    }
  }
  for (const std::string& each : question.uncordon) events.emplace_back(NodeCordoned{each, false});
  for (const std::string& each : question.drain) {
    events.emplace_back(NodeCordoned{each, true, true});
  }
  for (const JobId each : question.cancel) events.emplace_back(JobCancelled{each});
  for (const Event& each : events) TRY(state.admissible(each));
  return events;
}

std::string json_of(const State& state, const Supposed& supposed, const PolicyFactory& factory,
                    const User& reader, std::optional<JobId> job) {
  std::string out;
  JsonWriter json(out);
  std::vector<const Supposed::Start*> seen;
  for (const Supposed::Start& each : supposed.starts) {
    if (may(reader, *state.jobs()[state.find(each.job)].spec, Deed::see)) seen.push_back(&each);
  }
  json.begin_object().member("dry_run", true).member("starting", seen.size());
  json.key("would_start").begin_list();
  for (std::size_t at = 0; at < seen.size() && at < shown_most; ++at) {
    const JobSpec& spec = *state.jobs()[state.find(seen[at]->job)].spec;
    json.begin_object().member("id", std::to_string(seen[at]->job.value()));
    json.member("name", spec.name).member("user", spec.user);
    write_nodes(json, supposed.state, seen[at]->nodes);
    json.end_object();
  }
  json.end_list();
  if (job) {
    json.key("job").begin_object().member("id", std::to_string(job->value()));
    write_fate(json, supposed, factory, reader, *job);
    json.end_object();
  }
  json.end_object();
  return out;
}

}  // namespace

void WhatIfRoutes::declare(Router& router) {
  router.add("POST", "/api/v1/whatif", Role::viewer,
             [this](Call call) { answer(std::move(call)); });
}

void WhatIfRoutes::answer(Call call) {
  call.dry_run = true;
  const Result<Question> question = read(call.request.body);
  if (!question) return call.refuse(question.error());
  std::vector<JobId> named = question->cancel;
  if (question->job) named.push_back(*question->job);
  for (const JobId id : named) {
    const JobRow* const row = jobs_.find(id);
    if (row == nullptr || !may(call.user, *row->spec, Deed::see)) {
      return call.refuse({Code::not_found, "no job " + std::to_string(id.value()), {}, {}});
    }
  }
  engine_.ask([this, question = *question,
               call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    const Result<std::vector<Event>> events = events_of(state, question);
    if (!events) {
      return [error = events.error(), call = std::move(call)]() mutable { call.refuse(error); };
    }
    std::string text =
        json_of(state, suppose(state, factory_, *events), factory_, call.user, question.job);
    return [text = std::move(text), call = std::move(call)]() mutable {
      call.send(200, std::move(text));
    };
  });
}

}  // namespace tutti
