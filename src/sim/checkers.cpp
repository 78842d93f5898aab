#include "sim/checkers.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tutti {
namespace {

std::string check_capacity(const State& state, const Expectations& expectations) {
  const Fleet& fleet = state.fleet();
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    const NodeIndex node(at);
    if (expectations.shrunk.contains(fleet.node(node).name)) continue;
    for (std::size_t lane = 0; lane < fleet.lanes().size(); ++lane) {
      const std::int64_t free = state.usage().free(node, Lane(lane));
      if (free >= 0) continue;
      return "capacity exceeded: node " + fleet.node(node).name + " is short of " +
             std::to_string(-free) + " " + fleet.lanes().name(Lane(lane));
    }
  }
  return {};
}

/// Counted here, apart from the engine, which may be what is wrong.
bool has_minima(const State& state, const Gang& gang) {
  const auto& roles = state.gang_shape(gang.shape).roles;
  std::vector<std::uint32_t> standing(roles.size());
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const Task& task = state.tasks()[TaskIndex(gang.first_task.value() + offset)];
    const bool waits = task.phase == TaskPhase::pending || task.phase == TaskPhase::stopping;
    if (!waits) ++standing[task.role];
  }
  for (std::size_t at = 0; at < roles.size(); ++at) {
    if (standing[at] < roles[at].min) return false;
  }
  return true;
}

/// After a cycle, what a gang needs runs, or all that is left of it was told to stop.
std::string check_gangs(const State& state) {
  for (std::size_t at = 0; at < state.gangs().size(); ++at) {
    const GangIndex index(at);
    const Gang& gang = state.gangs()[index];
    if (!gang.job.valid() || gang.holding == 0 || gang.stopping == gang.holding) continue;
    const bool to_end = state.jobs()[gang.job].cancelled || gang.fate != Fate::none;
    if (!to_end && has_minima(state, gang)) continue;
    return "gang of job " + to_string(state.jobs()[gang.job].id) +
           " is half there: " + std::to_string(gang.holding) + " of " + std::to_string(gang.tasks) +
           " tasks hold, " + std::to_string(gang.stopping) + " of them stop";
  }
  return {};
}

/// What a job's rules say of its gangs holds, and no timer is overdue.
std::string check_rules(const State& state) {
  const auto next = state.timers().next();
  if (next && *next < state.now()) return "a timer is overdue";
  for (std::size_t at = 0; at < state.jobs().size(); ++at) {
    const Job& job = state.jobs()[JobIndex(at)];
    if (!job.id.valid()) continue;
    const JobRules& rules = job.spec->rules;
    std::uint32_t active = 0;
    for (std::uint32_t offset = 0; offset < job.gangs; ++offset) {
      const Gang& gang = state.gangs()[GangIndex(job.first_gang.value() + offset)];
      active += gang.holding > 0 ? 1 : 0;
      if (gang.retries > rules.retries) return "job " + to_string(job.id) + " had more retries";
    }
    if (rules.at_once > 0 && active > rules.at_once) {
      return "job " + to_string(job.id) + " has " + std::to_string(active) +
             " gangs at once, not " + std::to_string(rules.at_once);
    }
    for (const Dependency& each : rules.after) {
      const JobIndex other = state.find(each.job);
      const bool open =
          other.valid() && (each.on != Dependency::On::start || !state.jobs()[other].started);
      if (open && active > 0) return "job " + to_string(job.id) + " did not wait";
    }
  }
  return {};
}

/// The value by which nodes of the level are near each other.
std::optional<std::string_view> place_of(const Node& node, const std::string& level) {
  if (level == "host") return node.name;
  const std::string* const value = node.labels.find(level);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

/// What the tasks of some roles hold lies in one place of the level that they must share.
std::string check_near(const State& state, const Gang& gang, const Closeness& wanted,
                       std::span<const GangShape::Role> roles) {
  if (!wanted.required || wanted.level.empty()) return {};
  const Task* first = nullptr;
  for (const GangShape::Role& role : roles) {
    for (std::uint32_t each = 0; each < role.count; ++each) {
      const Task& task = state.tasks()[TaskIndex(gang.first_task.value() + role.first_task + each)];
      if (!holds(task.phase)) continue;
      if (first == nullptr) first = &task;
      const Node& node = state.fleet().node(task.node);
      const Node& other = state.fleet().node(first->node);
      const auto place = place_of(node, wanted.level);
      if (place && place == place_of(other, wanted.level)) continue;
      return "job " + to_string(state.jobs()[gang.job].id) + " must be together within \"" +
             wanted.level + "\", and stands apart on " + other.name + " and " + node.name;
    }
  }
  return {};
}

/// What must be close is, but for gangs under which labels changed.
std::string check_closeness(const State& state, const Uprooted& uprooted) {
  for (std::size_t at = 0; at < state.gangs().size(); ++at) {
    const GangIndex index(at);
    const Gang& gang = state.gangs()[index];
    if (!gang.job.valid() || gang.holding == 0) continue;
    const GangShape& shape = state.gang_shape(gang.shape);
    std::string wrong = check_near(state, gang, shape.closeness, shape.roles);
    for (const GangShape::Group& group : shape.groups) {
      if (!wrong.empty()) break;
      wrong = check_near(state, gang, group.closeness,
                         std::span(shape.roles).subspan(group.first_role, group.roles));
    }
    if (!wrong.empty() && !uprooted.covers(state, index)) return wrong;
  }
  return {};
}

std::string check_queues(const State& state, const Expectations& expectations) {
  for (std::size_t at = 0; at < state.queue_count(); ++at) {
    const Queue& queue = state.queue(QueueIndex(at));
    const QueueUsage& usage = state.queue_usage(QueueIndex(at));
    if (expectations.over_limit.contains(queue.spec.name)) continue;
    if (queue.gpu_milli_limit >= 0 && usage.gpu_milli > queue.gpu_milli_limit) {
      return "queue " + queue.spec.name + " uses " + std::to_string(usage.gpu_milli) +
             " thousandths of a gpu, its limit is " + std::to_string(queue.gpu_milli_limit);
    }
  }
  return {};
}

}  // namespace

std::string check_invariants(const State& state, const Expectations& expectations) {
  if (std::string wrong = state.verify(); !wrong.empty()) return wrong;
  if (std::string wrong = check_capacity(state, expectations); !wrong.empty()) return wrong;
  if (std::string wrong = check_gangs(state); !wrong.empty()) return wrong;
  if (std::string wrong = check_rules(state); !wrong.empty()) return wrong;
  if (std::string wrong = check_closeness(state, expectations.uprooted); !wrong.empty()) {
    return wrong;
  }
  if (std::string wrong = check_queues(state, expectations); !wrong.empty()) return wrong;
  if (state.live_jobs() == expectations.jobs_alive) return {};
  return "jobs lost: State knows " + std::to_string(state.live_jobs()) + ", " +
         std::to_string(expectations.jobs_alive) + " should live";
}

}  // namespace tutti
