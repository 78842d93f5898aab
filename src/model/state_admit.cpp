/// What State accepts from people: checked before it is journaled, so that apply cannot fail.
#include <algorithm>
#include <set>

#include "base/limits.h"
#include "model/state_apply.h"

namespace tutti {
namespace {

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

Result<void> check_amounts(std::string_view what, const std::vector<NamedAmount>& amounts) {
  for (const NamedAmount& entry : amounts) {
    if (entry.amount >= 0 && entry.amount <= limits::amount) continue;
    return fail(Code::invalid, std::string(what) + ": " + entry.name + " is " +
                                   std::to_string(entry.amount) + "; 0 to 2^60 are allowed");
  }
  return {};
}

}  // namespace

Result<void> check_shape(const std::string& role, const TaskShape& shape) {
  TRY(check_amounts(role, shape.resources));
  if (shape.devices.size() > limits::devices_per_node) {
    return fail(Code::limit, role + ": has " + std::to_string(shape.devices.size()) +
                                 " device requests; at most " +
                                 std::to_string(limits::devices_per_node) + " are possible");
  }
  for (const DeviceRequest& request : shape.devices) {
    if (request.count == 0 || request.count > limits::devices_per_node) {
      return fail(Code::invalid,
                  role + ": asks for " + std::to_string(request.count) +
                      " devices on one node; 1 to " + std::to_string(limits::devices_per_node) +
                      " are possible",
                  "use more tasks with fewer devices each");
    }
    if (request.compute_permille > DeviceRequest::whole || request.memory_mib < 0) {
      return fail(Code::invalid, role + ": a share of " + std::to_string(request.compute_permille) +
                                     " per mille and " + std::to_string(request.memory_mib) +
                                     " MiB; a card has at most 1000 per mille");
    }
  }
  return {};
}

namespace {

Result<void> check_role(const std::string& job, const RoleSpec& role) {
  const std::string where = "job " + quoted(job) + ", role " + quoted(role.name);
  if (role.count == 0 || role.count > limits::tasks_per_job) {
    return fail(Code::limit, where + ": " + std::to_string(role.count) + " tasks; 1 to " +
                                 std::to_string(limits::tasks_per_job) + " are allowed");
  }
  if (role.min > role.count) {
    return fail(Code::invalid, where + ": at least " + std::to_string(role.min) +
                                   " tasks are wanted, but there are only " +
                                   std::to_string(role.count));
  }
  if (role.alternatives.empty()) return fail(Code::invalid, where + ": asks for nothing");
  for (const TaskShape& shape : role.alternatives) TRY(check_shape(where, shape));
  return {};
}

/// The number of tasks in all copies of the gang, at most one above what a job may have for each
/// of its roles. No gang and no group is empty: their number would be bounded by nothing.
Result<std::uint64_t> check_gang(const std::string& job, const GangSpec* gang) {
  constexpr std::uint64_t most = limits::tasks_per_job + std::uint64_t{1};
  if (gang == nullptr || gang->groups.empty()) {
    return fail(Code::invalid, "job " + quoted(job) + " has a gang without tasks");
  }
  std::uint64_t tasks = 0;
  std::uint64_t roles = 0;
  for (const GroupSpec& group : gang->groups) {
    if (group.roles.empty() || group.copies == 0 || gang->copies == 0) {
      return fail(Code::invalid, "job " + quoted(job) + " has a group without tasks");
    }
    roles += std::uint64_t{group.copies} * group.roles.size();
    for (const RoleSpec& role : group.roles) {
      TRY(check_role(job, role));
      const std::uint64_t copies = std::min(std::uint64_t{group.copies} * gang->copies, most);
      tasks += std::min(copies * role.count, most);
    }
  }
  if (roles > limits::roles_per_gang && tasks <= limits::tasks_per_job) {
    return fail(Code::limit, "job " + quoted(job) + " has a gang of " + std::to_string(roles) +
                                 " roles, copies of groups included; at most " +
                                 std::to_string(limits::roles_per_gang) + " are supported");
  }
  return tasks;
}

bool submits(std::span<const Event> events, JobId job) {
  return std::ranges::any_of(events, [&](const Event& event) {
    const auto* submitted = std::get_if<JobSubmitted>(&event);
    return submitted != nullptr && submitted->id == job;
  });
}

Result<void> check_after(const State& state, const std::string& job, const Dependency& after) {
  if (state.find(after.job).valid()) return {};
  const auto end = state.dependents().end_of(after.job);
  const std::string other = "job " + to_string(after.job);
  if (!end) {
    return fail(Code::not_found,
                "job " + quoted(job) + " is to wait for " + other + ", which is not known");
  }
  if (true_at(after.on, *end)) return {};
  return fail(Code::conflict,
              "job " + quoted(job) + " is to wait for the " + std::string(to_text(after.on)) +
                  " of " + other + ", which " + (*end == JobEnd::cancelled ? "was " : "has ") +
                  std::string(to_text(*end)),
              "without that condition it can start");
}

Result<void> check_rules(const std::string& job, const JobRules& rules, Duration ttl) {
  if (rules.after.size() > limits::dependencies_per_job) {
    return fail(Code::limit, "job " + quoted(job) + " waits for " +
                                 std::to_string(rules.after.size()) + " jobs; at most " +
                                 std::to_string(limits::dependencies_per_job) + " are possible");
  }
  if (ttl == JobSpec::as_usual) ttl = {};
  for (const Duration length : {rules.run_time_max, rules.pause, rules.pause_max, ttl}) {
    if (length.us >= 0 && length <= Duration::seconds(limits::longest_seconds)) continue;
    return fail(Code::invalid, "job " + quoted(job) + ": a time of " +
                                   std::to_string(length.us / 1'000'000) +
                                   " s; 0 to 10 years are possible");
  }
  return {};
}

Result<void> check_array(const JobSpec& spec) {
  std::uint64_t numbers = 0;
  for (const IndexRange& range : spec.array) {
    if (range.step == 0 || range.last < range.first) {
      return fail(Code::invalid, "job " + quoted(spec.name) + ": an array from " +
                                     std::to_string(range.first) + " to " +
                                     std::to_string(range.last) + " in steps of " +
                                     std::to_string(range.step));
    }
    numbers += (range.last - range.first) / range.step + std::uint64_t{1};
  }
  std::uint64_t gangs = 0;
  for (const auto& gang : spec.gangs) gangs += gang->copies;
  if (spec.array.empty() || numbers == gangs) return {};
  return fail(Code::invalid, "job " + quoted(spec.name) + " has " + std::to_string(numbers) +
                                 " numbers for " + std::to_string(gangs) + " gangs");
}

}  // namespace

Result<void> check_spec(const JobSpec& spec) {
  if (spec.name.size() > limits::name_length) {
    return fail(Code::limit, "a job's name has " + std::to_string(spec.name.size()) +
                                 " characters; at most " + std::to_string(limits::name_length) +
                                 " are allowed");
  }
  std::uint64_t tasks = 0;
  for (const auto& gang : spec.gangs) tasks += TRY(check_gang(spec.name, gang.get()));
  if (tasks == 0 || tasks > limits::tasks_per_job) {
    return fail(Code::limit, "job " + quoted(spec.name) + " has " + std::to_string(tasks) +
                                 " tasks; 1 to " + std::to_string(limits::tasks_per_job) +
                                 " are allowed");
  }
  TRY(check_array(spec));
  return check_rules(spec.name, spec.rules, spec.ttl);
}

namespace {

Result<void> check_job(const State& state, const JobSubmitted& event,
                       std::span<const Event> before) {
  if (event.spec == nullptr || !event.id.valid()) {
    return fail(Code::invalid, "a submission needs a job and its id");
  }
  const JobSpec& spec = *event.spec;
  if (state.find(event.id).valid()) {
    return fail(Code::conflict, "job " + to_string(event.id) + " exists already");
  }
  if (!state.find_queue(spec.queue)) {
    return fail(Code::not_found, "job " + quoted(spec.name) + ": no queue " + quoted(spec.queue));
  }
  TRY(check_spec(spec));
  for (const Dependency& each : spec.rules.after) {
    if (!submits(before, each.job)) TRY(check_after(state, spec.name, each));
  }
  return {};
}
Result<void> check_hold(const State& state, const JobHeld& event) {
  if (state.find(event.id).valid()) return {};
  return fail(Code::not_found, "no job " + to_string(event.id) + " waits or runs");
}

Result<void> check_queue(const QueueSpec& queue) {
  if (queue.name.empty()) return fail(Code::invalid, "a queue needs a name");
  const std::string name = "queue " + quoted(queue.name);
  TRY(check_amounts(name, queue.limit));
  TRY(check_amounts(name, queue.guarantee));
  for (const NamedAmount& entry : queue.limit) {
    if (entry.name != "gpu" || entry.amount <= limits::amount / DeviceRequest::whole) continue;
    return fail(
        Code::limit,
        name + ": a limit of " + std::to_string(entry.amount) + " gpu is beyond every fleet",
        "leave it out: what is not named is not limited");
  }
  return {};
}

Result<void> known_node(const State& state, const std::string& name) {
  if (state.fleet().find(name)) return {};
  return fail(Code::not_found, "no node " + quoted(name));
}

/// Is the action one that State can carry out, the earlier ones of its plan aside?
std::string wrong_with(const State& state, const Action& action) {
  const TaskIndex index = state.find(action.task);
  if (!index.valid()) return "which is unknown";
  const Task& task = state.tasks()[index];
  if (action.kind == ActionKind::evict) {
    const bool may_stop = holds(task.phase) && task.phase != TaskPhase::stopping;
    return may_stop && task.attempt == action.attempt ? "" : "which does not run so";
  }
  if (task.phase != TaskPhase::pending) return "which does not wait";
  if (action.attempt != task.attempt + 1) return "but that is not its next attempt";
  const GangShape& gang = state.gang_shape(state.gangs()[task.gang].shape);
  const std::vector<ShapeIndex>& alternatives = gang.roles[task.role].alternatives;
  if (std::ranges::find(alternatives, action.shape) == alternatives.end()) {
    return "but not by one of its alternatives";
  }
  if (!action.node.valid() || action.node.value() >= state.fleet().size()) return "but on no node";
  bool there = true;
  const std::size_t devices = state.fleet().devices(action.node).size();
  action.devices.each([&](unsigned ordinal) { there &= ordinal < devices; });
  return there ? "" : "but on devices that its node does not have";
}

/// A plan comes from a cycle or from a journal; the latter may have been tampered with.
Result<void> check_plan(const State& state, const PlanDecided& plan) {
  std::set<TaskId> seen;
  for (const Action& action : plan.actions) {
    if (action.kind != ActionKind::place && action.kind != ActionKind::evict) continue;
    std::string wrong = wrong_with(state, action);
    if (wrong.empty() && !seen.insert(action.task).second) wrong = "for the second time";
    if (wrong.empty()) continue;
    const std::string verb = action.kind == ActionKind::place ? "places" : "stops";
    return fail(Code::conflict,
                "a plan " + verb + " task " + to_string(action.task) + ", " + wrong);
  }
  return {};
}

}  // namespace

Result<void> State::admissible(const Event& event, std::span<const Event> before) const {
  if (const auto* reported = std::get_if<NodeReported>(&event)) {
    return fleet_.admissible(reported->node);
  }
  if (const auto* submitted = std::get_if<JobSubmitted>(&event)) {
    return check_job(*this, *submitted, before);
  }
  if (const auto* held = std::get_if<JobHeld>(&event)) return check_hold(*this, *held);
  if (const auto* set = std::get_if<QueueSet>(&event)) return check_queue(set->queue);
  if (const auto* plan = std::get_if<PlanDecided>(&event)) return check_plan(*this, *plan);
  if (const auto* mix = std::get_if<MixSet>(&event)) {
    for (const MixSet::Entry& entry : mix->entries) TRY(check_shape("the mix", entry.shape));
    return {};
  }
  if (const auto* cordoned = std::get_if<NodeCordoned>(&event)) {
    return known_node(*this, cordoned->node);
  }
  if (const auto* bound = std::get_if<TaskBound>(&event)) return known_node(*this, bound->node);
  if (const auto* health = std::get_if<DeviceHealthChanged>(&event)) {
    TRY(known_node(*this, health->node));
    const std::size_t devices = fleet_.devices(*fleet_.find(health->node)).size();
    if (health->ordinal < devices) return {};
    return fail(Code::not_found, "node " + quoted(health->node) + " has no device " +
                                     std::to_string(health->ordinal) + ", only " +
                                     std::to_string(devices));
  }
  return {};
}

}  // namespace tutti
