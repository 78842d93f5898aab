/// What somebody sent becomes jobs.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/fate.h"
#include "api/job_access.h"
#include "api/job_routes.h"
#include "api/json_text.h"
#include "api/query.h"
#include "dialect/tutti.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

/// Where it was read from, as the client calls it: "jobs.yaml:3:5" says more than "3:5".
std::string source_of(const net::Request& request) {
  return std::string(request.query_value("source").value_or(""));
}

bool is_json(const net::Request& request) {
  return request.headers.find("Content-Type").value_or("").starts_with("application/json");
}

Result<Workload> parse(const net::Request& request, const Catalog* catalog) {
  const auto read = [&]() -> Result<Workload> {
    if (!is_json(request)) return parse_workload(request.body, {}, catalog, TaskLabels::all);
    return parse_workload(TRY(parse_json(request.body)), {}, catalog, TaskLabels::all);
  };
  Result<Workload> workload = read();
  if (workload) return workload;
  const std::string source = source_of(request);
  return fail(source.empty() ? workload.error() : std::move(workload.error()).at(source));
}

/// The same job with its variables kept under `name`.
std::shared_ptr<JobSpec> with_environment(const JobSpec& spec, const std::string& name) {
  auto changed = std::make_shared<JobSpec>(spec);
  for (auto& gang : changed->gangs) {
    auto copy = std::make_shared<GangSpec>(*gang);
    for (GroupSpec& group : copy->groups) {
      for (RoleSpec& role : group.roles) role.launch.environment = name;
    }
    gang = std::move(copy);
  }
  return changed;
}

/// A program that is not there will hardly be there a moment later.
constexpr std::uint32_t launches_most = 3;

std::uint64_t array_of(const JobSpec& spec) {
  return spec.array.empty() ? 0 : spec.gangs.front()->copies;
}

bool has_commands(const JobSpec& spec) {
  return std::ranges::all_of(spec.gangs, [](const auto& gang) {
    return std::ranges::all_of(gang->groups, [](const GroupSpec& group) {
      return std::ranges::all_of(group.roles,
                                 [](const RoleSpec& role) { return !role.launch.command.empty(); });
    });
  });
}

/// `array`: how many numbers the only one of them has, or 0.
std::string ids_json(const std::vector<JobId>& ids, std::uint64_t array) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  if (ids.size() == 1) json.member("id", std::to_string(ids.front().value()));
  if (array > 0) json.member("count", array);
  json.key("ids").begin_list();
  for (const JobId id : ids) json.value(std::to_string(id.value()));
  json.end_list().end_object();
  return out;
}

std::vector<JobId> ids_of(const std::vector<Event>& events) {
  std::vector<JobId> ids;
  for (const Event& event : events) ids.push_back(std::get<JobSubmitted>(event).id);
  return ids;
}

/// As whom the job is to run.
Result<std::string> owner_of(const User& user, const JobSpec& spec) {
  const std::string& owner = spec.user.empty() ? user.name : spec.user;
  if (owner.empty()) {
    return fail(Code::denied, user.who() + " names no user of this machine, so its jobs cannot run",
                "an administrator makes one that does: tutti token create --user");
  }
  if (user.owns(owner)) return owner;
  if (user.role == Role::admin) {
    constexpr std::size_t longest = 64;
    const bool plain = std::ranges::all_of(owner, [](char c) { return c > ' ' && c < 0x7f; });
    if (plain && owner.size() <= longest) return owner;
    return fail(Code::invalid, "a job of user " + quote(owner) + ", whom no machine has");
  }
  return fail(Code::denied, user.who() + " may not submit jobs of " + owner,
              "leave out user: a job belongs to who submits it");
}

Error other_content() {
  return {Code::conflict,
          "this Idempotency-Key came with another request before",
          {},
          "a key belongs to one request: take a new one"};
}

/// One line of a batch: a job, alone or as the member "job".
Result<Workload> parse_line(const JobBatch::Line& line, const Catalog* catalog) {
  const Place place{.line = static_cast<std::uint32_t>(line.number), .column = 1};
  Value job = TRY(parse_json(line.text, place));
  if (job.is(Kind::map) && job.find("job") == nullptr && job.find("jobs") == nullptr) {
    std::vector<Value::Member> members;
    members.push_back({.key = "job", .place = place, .value = std::move(job)});
    job = Value::map(std::move(members), place);
  }
  Workload workload = TRY(parse_workload(job, {}, catalog, TaskLabels::all));
  if (workload.jobs.size() == 1) return workload;
  return fail(
      Error{Code::invalid,
            "a line of a batch is one job; this one is " + std::to_string(workload.jobs.size()),
            place.text(), "write a line for each"});
}

}  // namespace

JobId JobRoutes::next_id() {
  next_id_ = std::max(next_id_, ports_.jobs->next_id().value());
  return JobId(next_id_);
}

/// A job goes to the queues of who submits it, and waits for what he can see.
Result<void> JobRoutes::check_sight(const User& user, const JobSpec& spec) const {
  if (!user.sees(spec.queue)) {
    const std::vector<std::string_view> queues(user.queues.begin(), user.queues.end());
    return fail(Code::denied,
                "job \"" + spec.name + "\": " + user.who() + " may not submit to queue \"" +
                    spec.queue + "\"",
                "submit to " + join_names(queues) + ", or to queues below");
  }
  for (const Dependency& each : spec.rules.after) {
    const JobRow* const row = ports_.jobs->find(each.job);
    if (row == nullptr || may(user, *row->spec, Deed::see)) continue;
    // As if it were not there.
    return fail(Code::not_found, "job \"" + spec.name + "\" is to wait for job " +
                                     std::to_string(each.job.value()) + ", which is not known");
  }
  return {};
}

Result<Event> JobRoutes::submission(const Call& call, const Submission& wanted,
                                    JobQuota::Place& place) {
  const std::string owner = TRY(owner_of(call.user, *wanted.spec));
  TRY(check_sight(call.user, *wanted.spec));
  if (!ports_.only_user.empty() && owner != ports_.only_user) {
    return fail(Code::denied,
                "this server runs jobs of " + ports_.only_user + " only, not of " + owner,
                "a server that is started by root runs the jobs of everybody");
  }
  if (!has_commands(*wanted.spec)) {
    return fail(Code::invalid, "job \"" + wanted.spec->name + "\" has a role without a command",
                "write command: [program, argument, ...]");
  }
  if (call.user.role != Role::admin) place = TRY(quota_.take(owner));
  const JobId id = next_id();
  ++next_id_;
  auto spec = std::make_shared<JobSpec>(*wanted.spec);
  if (!wanted.environment.empty() && !call.dry_run) {
    const std::string name = std::to_string(id.value());
    TRY(ports_.keep_environment(name, encode_environment(wanted.environment)));
    spec = with_environment(*spec, name);
  }
  spec->user = owner;
  spec->rules.launches = launches_most;
  return JobSubmitted{id, std::move(spec)};
}

Result<JobRoutes::Submissions> JobRoutes::submissions(const Call& call) {
  const Workload workload = TRY(parse(call.request, ports_.catalog));
  Submissions out;
  const std::uint64_t first = next_id().value();
  for (const Submission& wanted : workload.jobs) {
    Submission numbered = wanted;
    for (Dependency& each : numbered.after) each.job = JobId(first + each.job.value());
    numbered.spec = with_after(wanted.spec, std::move(numbered.after));
    out.events.push_back(TRY(submission(call, numbered, out.places.emplace_back())));
  }
  return out;
}

std::uint64_t JobRoutes::array_of_only(const std::vector<JobId>& jobs) const {
  const JobRow* const row = jobs.size() == 1 ? ports_.jobs->find(jobs.front()) : nullptr;
  return row == nullptr ? 0 : array_of(*row->spec);
}

bool JobRoutes::answered_before(Call& call, const RequestKey& key) {
  if (const RequestKeys::Known* const known = ports_.requests->find(key.name)) {
    if (known->content != key.content) {
      call.refuse(other_content());
    } else {
      call.send({.status = 201,
                 .headers = {{"Content-Type", "application/json"}, {"Idempotent-Replayed", "true"}},
                 .body = ids_json(known->jobs, array_of_only(known->jobs))});
    }
    return true;
  }
  const auto under_way = under_way_->find(key.name);
  if (under_way == under_way_->end()) return false;
  if (under_way->second.content != key.content) {
    call.refuse(other_content());
  } else {
    under_way->second.waiting.push_back(std::move(call));
  }
  return true;
}

void JobRoutes::submit(Call call) {
  if (const auto known = only_known(call.request, {"source", "dry_run"}); !known) {
    return call.refuse(known.error());
  }
  const Result<bool> dry_run = is_dry_run(call.request);
  if (!dry_run) return call.refuse(dry_run.error());
  if (*dry_run) return try_out(std::move(call));
  const Result<std::optional<RequestKey>> key = RequestKey::of(call);
  if (!key) return call.refuse(key.error());
  if (*key && answered_before(call, **key)) return;
  Result<Submissions> wanted = submissions(call);
  if (!wanted) return call.refuse(wanted.error());
  std::vector<Event>& events = wanted->events;
  std::string name;
  if (*key) {
    for (Event& event : events) std::get<JobSubmitted>(event).request = (*key)->text();
    name = (*key)->name;
    (*under_way_)[name].content = (*key)->content;
  }
  const bool alone = events.size() == 1;
  std::vector<JobId> jobs = ids_of(events);
  std::string ids =
      ids_json(jobs, alone ? array_of(*std::get<JobSubmitted>(events.front()).spec) : 0);
  ports_.engine->send(
      std::move(events),
      [this, name, call = std::move(call), ids = std::move(ids), jobs = std::move(jobs),
       places = std::move(wanted->places)](const EngineThread::Answers& answers) mutable {
        std::vector<Call> calls;
        if (const auto mine = under_way_->extract(name)) calls = std::move(mine.mapped().waiting);
        calls.push_back(std::move(call));
        const auto refused = std::ranges::find_if(answers, [](const Result<void>& each) {
          return !each && each.error().what != Turns::refused_with_another;
        });
        for (Call& each : calls) {
          if (refused != answers.end()) {
            each.refuse(refused->error());
          } else {
            for (const JobId id : jobs) each.made.add(id);
            each.send(201, ids);
          }
        }
      });
}

Result<JobBatch::Outcome> JobRoutes::batch_line(const Call& call,
                                                const std::optional<RequestKey>& batch,
                                                const JobBatch::Line& line) {
  std::string request;
  if (batch) {
    const RequestKey key = batch->part(line.number, line.text);
    if (const RequestKeys::Known* const known = ports_.requests->find(key.name)) {
      if (known->content != key.content) return fail(other_content());
      return JobBatch::Outcome{{}, std::to_string(known->jobs.front().value())};
    }
    request = key.text();
  }
  const Workload workload = TRY(parse_line(line, ports_.catalog));
  JobQuota::Place place;
  Event event = TRY(submission(call, workload.jobs.front(), place));
  auto& submitted = std::get<JobSubmitted>(event);
  submitted.request = std::move(request);
  std::string id = std::to_string(submitted.id.value());
  return JobBatch::Outcome{std::move(event), std::move(id), std::move(place)};
}

void JobRoutes::batch(Call call) {
  const Result<std::optional<RequestKey>> key = RequestKey::of(call);
  if (!key) return call.refuse(key.error());
  // Lines that the engine has are not known yet, so the same batch must not run twice at once.
  std::shared_ptr<void> mine;
  if (*key) {
    if (!under_way_->try_emplace((*key)->name).second) {
      return call.refuse({Code::conflict,
                          "the batch with this Idempotency-Key is being done",
                          {},
                          "send it again in a moment, to hear what came of it"});
    }
    mine = {nullptr, [all = std::weak_ptr(under_way_), name = (*key)->name](void*) {
              if (const auto there = all.lock()) there->erase(name);
            }};
  }
  JobBatch::Ports ports{
      .loop = ports_.loop,
      .engine = ports_.engine,
      .read = [this, key = *key, mine](const Call& from, const JobBatch::Line& line) {
        return batch_line(from, key, line);
      }};
  std::make_shared<JobBatch>(std::move(ports), std::move(call))->start();
}

}  // namespace tutti
