/// What somebody sent becomes jobs.
#include <algorithm>
#include <memory>
#include <utility>

#include "api/job_routes.h"
#include "api/json_text.h"
#include "dialect/tutti.h"
#include "format/json.h"

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

std::uint64_t gangs_of(const JobSpec& spec) {
  std::uint64_t gangs = 0;
  for (const auto& gang : spec.gangs) gangs += gang->copies;
  return gangs;
}

bool has_commands(const JobSpec& spec) {
  return std::ranges::all_of(spec.gangs, [](const auto& gang) {
    return std::ranges::all_of(gang->groups, [](const GroupSpec& group) {
      return std::ranges::all_of(group.roles,
                                 [](const RoleSpec& role) { return !role.launch.command.empty(); });
    });
  });
}

std::string ids_json(const std::vector<Event>& events) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  if (events.size() == 1) {
    const JobSubmitted& job = std::get<JobSubmitted>(events.front());
    json.member("id", std::to_string(job.id.value()));
    if (!job.spec->array.empty()) json.member("count", gangs_of(*job.spec));
  }
  json.key("ids").begin_list();
  for (const Event& event : events) {
    json.value(std::to_string(std::get<JobSubmitted>(event).id.value()));
  }
  json.end_list().end_object();
  return out;
}

}  // namespace

Result<Event> JobRoutes::submission(const Call& call, const Submission& wanted) {
  const std::string& owner = wanted.spec->user.empty() ? call.user.name : wanted.spec->user;
  if (!call.may_touch(owner)) {
    return fail(Code::denied, call.user.name + " may not submit jobs of " + owner,
                "leave out user: a job belongs to who submits it");
  }
  if (!ports_.only_user.empty() && owner != ports_.only_user) {
    return fail(Code::denied,
                "this server runs jobs of " + ports_.only_user + " only, not of " + owner,
                "a server that is started by root runs the jobs of everybody");
  }
  if (!has_commands(*wanted.spec)) {
    return fail(Code::invalid, "job \"" + wanted.spec->name + "\" has a role without a command",
                "write command: [program, argument, ...]");
  }
  const JobId id(next_id_++);
  auto spec = std::make_shared<JobSpec>(*wanted.spec);
  if (!wanted.environment.empty()) {
    const std::string name = std::to_string(id.value());
    TRY(ports_.keep_environment(name, encode_environment(wanted.environment)));
    spec = with_environment(*spec, name);
  }
  spec->user = owner;
  spec->rules.launches = launches_most;
  return JobSubmitted{id, std::move(spec)};
}

Result<std::vector<Event>> JobRoutes::submissions(const Call& call) {
  const Workload workload = TRY(parse(call.request, ports_.catalog));
  next_id_ = std::max(next_id_, ports_.jobs->next_id().value());
  std::vector<Event> events;
  const std::uint64_t first = next_id_;
  for (const Submission& wanted : workload.jobs) {
    Submission numbered = wanted;
    for (Dependency& each : numbered.after) each.job = JobId(first + each.job.value());
    numbered.spec = with_after(wanted.spec, std::move(numbered.after));
    events.push_back(TRY(submission(call, numbered)));
  }
  return events;
}

void JobRoutes::submit(Call call) {
  Result<std::vector<Event>> events = submissions(call);
  if (!events) return call.refuse(events.error());
  std::string ids = ids_json(*events);
  ports_.engine->send(*std::move(events), [call = std::move(call), ids = std::move(ids)](
                                              const EngineThread::Answers& answers) mutable {
    const auto refused = std::ranges::find_if(answers, [](const Result<void>& each) {
      return !each && each.error().what != EngineThread::refused_with_another;
    });
    if (refused != answers.end()) return call.refuse(refused->error());
    call.send(201, std::move(ids));
  });
}

}  // namespace tutti
