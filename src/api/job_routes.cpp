#include "api/job_routes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "api/json_text.h"
#include "api/query.h"
#include "format/json.h"
#include "sched/explain.h"
#include "sched/held_back.h"
#include "sched/pending.h"

namespace tutti {
namespace {

constexpr std::size_t page_usual = 100;
constexpr std::size_t page_most = 1000;

/// What a list is asked for.
struct Page {
  std::optional<JobState> state;
  std::optional<std::string> user;
  std::optional<std::string> queue;
  JobId below{~std::uint64_t{0} - 1};
  std::size_t most = page_usual;

  bool wants(const JobRow& row) const {
    return (!user || row.spec->user == *user) && (!queue || row.spec->queue == *queue);
  }
};

Result<Page> page_of(const net::Request& request) {
  Page page;
  for (const auto& [name, value] : request.query) {
    if (name == "state") {
      page.state = job_state_of(value);
      if (!page.state) {
        return fail(Code::invalid, "no job is ever \"" + value + "\"",
                    "states: pending running succeeded failed cancelled held");
      }
    } else if (name == "user") {
      page.user = value;
    } else if (name == "queue") {
      page.queue = value;
    } else if (name == "cursor") {
      const auto below = natural(value);
      if (!below) return fail(Code::invalid, "the cursor is none that this server gave");
      page.below = JobId(*below);
    } else if (name == "limit") {
      const auto most = natural(value);
      if (!most || *most == 0 || *most > page_most) {
        return fail(Code::invalid, "limit is \"" + value + "\"; 1 to 1000 jobs fit on a page");
      }
      page.most = *most;
    } else {
      return fail(Code::invalid, "unknown parameter \"" + name + "\"",
                  "known: state user queue cursor limit");
    }
  }
  return page;
}

/// Why the first gang of the job that waits does so.
std::string why_it_waits(const State& state, const PolicyFactory& factory, JobId id) {
  const JobIndex index = state.find(id);
  if (!index.valid()) return {};
  const Job& job = state.jobs()[index];
  if (std::string held = held_back(state, index); !held.empty()) return held;
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    const GangIndex gang(job.first_gang.value() + at);
    if (wants_place(state, gang)) return to_text(state, explain(state, factory, gang));
  }
  return {};
}

/// The answer to `explain` for a job of which nothing waits.
std::string state_in_words(const JobTable& table, const JobRow& row) {
  std::string out = row.finished ? "it is over: " : "it is ";
  out += to_text(row.state);
  if (!row.reason.empty()) out += ": " + row.reason;
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
  router.add("POST", "/api/v1/jobs", to(&JobRoutes::submit));
  router.add("GET", "/api/v1/jobs", [this](Call call) { list(std::move(call)); });
  router.add("GET", "/api/v1/jobs/{}", [this](Call call) { show(std::move(call)); });
  router.add("GET", "/api/v1/jobs/{}/explanation", to(&JobRoutes::explain));
  router.add("GET", "/api/v1/jobs/{}/output", to(&JobRoutes::output));
  router.add("POST", "/api/v1/jobs/{}:cancel", [this](Call call) {
    change(std::move(call), [](JobId id) { return JobCancelled{id}; });
  });
  router.add("POST", "/api/v1/jobs/{}:hold", [this](Call call) {
    change(std::move(call), [](JobId id) { return JobHeld{id, true}; });
  });
  router.add("POST", "/api/v1/jobs/{}:release", [this](Call call) {
    change(std::move(call), [](JobId id) { return JobHeld{id, false}; });
  });
}

const JobRow* JobRoutes::job_of(Call& call) const {
  const auto id = natural(call.parts[0]);
  const JobRow* const row = id ? ports_.jobs->find(JobId(*id)) : nullptr;
  if (row == nullptr) {
    call.refuse({Code::not_found, "no job " + call.parts[0], {}, "tutti jobs lists them"});
  }
  return row;
}

void JobRoutes::list(Call call) const {
  const Result<Page> page = page_of(call.request);
  if (!page) return call.refuse(page.error());
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("jobs").begin_list();
  std::size_t count = 0;
  std::optional<JobId> last;
  bool more = false;
  ports_.jobs->each(page->state, page->below, [&](const JobRow& row) {
    if (!page->wants(row)) return true;
    more = count == page->most;
    if (more) return false;
    write_job(json, *ports_.jobs, row);
    last = row.id;
    ++count;
    return true;
  });
  json.end_list().key("next");
  more ? json.value(std::to_string(last->value())) : json.null();
  json.end_object();
  call.send(200, std::move(out));
}

void JobRoutes::show(Call call) const {
  const JobRow* const row = job_of(call);
  if (row == nullptr) return;
  std::string out;
  JsonWriter json(out);
  write_job(json, *ports_.jobs, *row);
  call.send(200, std::move(out));
}

void JobRoutes::change(Call call, const std::function<Event(JobId)>& event) {
  const JobRow* const row = job_of(call);
  if (row == nullptr) return;
  if (!call.may_touch(row->spec->user)) {
    return call.refuse(
        {Code::denied, "job " + call.parts[0] + " belongs to " + row->spec->user, {}, {}});
  }
  if (ended(row->state)) {
    return call.refuse({Code::conflict,
                        "job " + call.parts[0] + " is over: " + std::string(to_text(row->state)),
                        {},
                        {}});
  }
  const JobId id = row->id;
  ports_.engine->send({event(id)}, [this, id, call = std::move(call)](
                                       const EngineThread::Answers& answers) mutable {
    if (!answers.front()) return call.refuse(answers.front().error());
    std::string out;
    JsonWriter json(out);
    write_job(json, *ports_.jobs, *ports_.jobs->find(id));
    call.send(200, std::move(out));
  });
}

void JobRoutes::explain(Call call) {
  const JobRow* const row = job_of(call);
  if (row == nullptr) return;
  const auto answer = [](Call to, const JobRow& job, const std::string& text) {
    std::string out;
    JsonWriter json(out);
    json.begin_object().member("id", std::to_string(job.id.value()));
    json.member("state", to_text(job.state)).member("text", text).end_object();
    to.send(200, std::move(out));
  };
  if (row->state != JobState::pending && row->state != JobState::held) {
    return answer(std::move(call), *row, state_in_words(*ports_.jobs, *row));
  }
  ports_.engine->ask([this, answer, id = row->id,
                      call = std::move(call)](const State& state) mutable -> EngineThread::Work {
    std::string text = why_it_waits(state, *ports_.factory, id);
    return [this, answer, id, text = std::move(text), call = std::move(call)]() mutable {
      const JobRow& job = *ports_.jobs->find(id);
      if (text.empty()) text = state_in_words(*ports_.jobs, job);
      answer(std::move(call), job, text);
    };
  });
}

}  // namespace tutti
