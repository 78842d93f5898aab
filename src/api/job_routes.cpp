#include "api/job_routes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/job_access.h"
#include "api/job_page.h"
#include "api/json_text.h"
#include "format/json.h"
#include "sched/why_waits.h"

namespace tutti {
namespace {

/// The answer to `explain` for a job of which nothing waits.
std::string state_in_words(const JobTable& table, const JobRow& row, const User& reader) {
  std::string out = row.finished ? "it is over: " : "it is ";
  out += to_text(row.state);
  const std::string reason = may(reader, *row.spec, Deed::read) ? row.reason : reason_for_all(row);
  if (!reason.empty()) out += ": " + reason;
  if (!row.finished && row.tasks.front().node.valid()) {
    out += " on " + table.node(row.tasks.front().node);
  }
  return out + "\n";
}

}  // namespace

void JobRoutes::declare(Router& router) {
  const auto to = [this](void (JobRoutes::*handle)(Call)) {
    return [this, handle](Call call) { (this->*handle)(std::move(call)); };
  };
  router.add("POST", "/api/v1/jobs", Role::user, to(&JobRoutes::submit));
  router.add("POST", "/api/v1/jobs:batch", Role::user, to(&JobRoutes::batch));
  router.add("GET", "/api/v1/jobs", Role::viewer, [this](Call call) { list(std::move(call)); });
  router.add("GET", "/api/v1/jobs/{}", Role::viewer, [this](Call call) { show(std::move(call)); });
  router.add("GET", "/api/v1/jobs/{}/explanation", Role::viewer, to(&JobRoutes::explain));
  router.add("GET", "/api/v1/jobs/{}/output", Role::viewer, to(&JobRoutes::output));
  router.add("POST", "/api/v1/jobs/{}:cancel", Role::user, [this](Call call) {
    change(std::move(call), [](JobId id) { return JobCancelled{id}; });
  });
  router.add("POST", "/api/v1/jobs/{}:hold", Role::user, [this](Call call) {
    change(std::move(call), [](JobId id) { return JobHeld{id, true}; });
  });
  router.add("POST", "/api/v1/jobs/{}:release", Role::user, [this](Call call) {
    change(std::move(call), [](JobId id) { return JobHeld{id, false}; });
  });
}

void JobRoutes::list(Call call) const {
  const Result<JobPage> page = JobPage::of(call.request);
  if (!page) return call.refuse(page.error());
  call.send(200, jobs_json(*ports_.jobs, *page, call.user));
}

void JobRoutes::show(Call call) const {
  const JobRow* const row = job_for(call, *ports_.jobs, Deed::see);
  if (row == nullptr) return;
  JobFields fields = all_job_fields();
  if (const auto names = call.request.query_value("fields")) {
    const Result<JobFields> wanted = job_fields_of(*names);
    if (!wanted) return call.refuse(wanted.error());
    fields = *wanted;
  }
  call.send(200, job_json(*ports_.jobs, *row, {fields, may(call.user, *row->spec, Deed::read)}));
}

std::string JobRoutes::json_for(const User& reader, const JobRow& row) const {
  return job_json(*ports_.jobs, row, {.whole = may(reader, *row.spec, Deed::read)});
}

/// Whoever says what he has seen changes that and nothing newer. While another change is on its
/// way, nobody can know what it will have made of the job.
bool JobRoutes::unseen(Call& call, const JobRow& row) const {
  if (!call.request.headers.find("If-Match")) return false;
  if (!changing_.contains(row.id) &&
      call.request.headers.lists("If-Match", etag_of(json_for(call.user, row)))) {
    return false;
  }
  if (call.request.headers.lists("If-Match", "*")) return false;
  call.send(412, error_json({Code::conflict,
                             "job " + call.parts[0] + " has changed meanwhile",
                             {},
                             "look at it again, and repeat the change with its new ETag"}));
  return true;
}

void JobRoutes::change(Call call, const std::function<Event(JobId)>& event) {
  const JobRow* const row = job_for(call, *ports_.jobs, Deed::change);
  if (row == nullptr) return;
  if (unseen(call, *row)) return;
  if (ended(row->state)) {
    return call.refuse({Code::conflict,
                        "job " + call.parts[0] + " is over: " + std::string(to_text(row->state)),
                        {},
                        {}});
  }
  const JobId id = row->id;
  changing_.insert(id);
  ports_.engine->send({event(id)}, [this, id, call = std::move(call)](
                                       const EngineThread::Answers& answers) mutable {
    changing_.erase(changing_.find(id));
    if (!answers.front()) return call.refuse(answers.front().error());
    call.send(200, json_for(call.user, *ports_.jobs->find(id)));
  });
}

void JobRoutes::explain(Call call) {
  const JobRow* const row = job_for(call, *ports_.jobs, Deed::see);
  if (row == nullptr) return;
  const auto answer = [](Call to, const JobRow& job, const std::string& text) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().member("id", std::to_string(job.id.value()));
    json.member("state", to_text(job.state)).member("text", text).end_object();
    to.send(200, std::move(out));
  };
  if (row->state != JobState::pending && row->state != JobState::held) {
    std::string text = state_in_words(*ports_.jobs, *row, call.user);
    return answer(std::move(call), *row, text);
  }
  ports_.engine->ask([this, answer, id = row->id,
                      call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    const auto may_name = [&](const JobSpec& job) { return may(call.user, job, Deed::see); };
    std::string text = why_waits(state, *ports_.factory, id, may_name);
    return [this, answer, id, text = std::move(text), call = std::move(call)]() mutable {
      const JobRow* const job = ports_.jobs->find(id);
      if (job == nullptr) return call.refuse({Code::not_found, "it is forgotten by now", {}, {}});
      if (text.empty()) text = state_in_words(*ports_.jobs, *job, call.user);
      answer(std::move(call), *job, text);
    };
  });
}

}  // namespace tutti
