#include "sim/chaos_draw.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace tutti {
namespace {

/// More nodes than the engine keeps warm, or offers one by one to a filter.
constexpr unsigned wide = 70;

JobSpec job_of(std::string name, GangSpec gang) {
  JobSpec job{.name = std::move(name)};
  job.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
  return job;
}

RoleSpec role_of(std::uint32_t tasks, std::int64_t cpu_milli) {
  TaskShape shape;
  shape.resources = {{"cpu", cpu_milli}};
  return {.name = "task", .count = tasks, .min = tasks, .alternatives = {std::move(shape)}};
}

/// Waiting gangs beyond what the change log holds; none of them ever fits.
GangSpec sweep() {
  GangSpec gang{.groups = {{.roles = {role_of(1, 1'000'000'000)}}}};
  gang.copies = 70'000;
  return gang;
}

/// One task with more alternatives than there are classes, the largest first.
GangSpec choosy() {
  RoleSpec role = role_of(1, 0);
  role.alternatives.clear();
  for (std::int64_t left = 330; left > 0; --left) {
    role.alternatives.push_back(role_of(1, left * 300).alternatives.front());
  }
  return {.groups = {{.roles = {role}}}};
}

/// Two kinds of small tasks, more of them than an exact search takes.
GangSpec crowd(Prng& prng) {
  GroupSpec group;
  for (int kind = 0; kind < 2; ++kind) {
    // Drawn one after the other: compilers differ in the order of arguments.
    const std::uint32_t tasks = 33 + prng.below(20);
    group.roles.push_back(role_of(tasks, prng.between(1, 12) * 100));
  }
  return {.groups = {group}};
}

/// One group more than the hosts can take, all of them different: nothing but trying refutes it.
GangSpec puzzle(const std::vector<NodeSpec>& fleet) {
  constexpr std::int64_t places = 14;  // Enough orders to use up every budget.
  const auto places_of = [&](std::int64_t size) {
    std::int64_t sum = 0;
    for (const NodeSpec& node : fleet) sum += node.capacity.front().amount / size;
    return sum;
  };
  std::int64_t size = 500;
  while (places_of(size) > places) size += 500;
  GangSpec gang;
  for (std::int64_t at = 0; at <= places_of(size); ++at) {
    gang.groups.push_back({.closeness = {"host", true}, .roles = {role_of(1, size - at)}});
  }
  return gang;
}

}  // namespace

// --- The fleet -----------------------------------------------------------------------------------

NodeSpec ChaosDraw::node(unsigned number) {
  NodeSpec node{
      .name = "n" + std::to_string(number),
      .capacity = {{"cpu", prng_.between(1, 8) * 4000}, {"memory", std::int64_t{64} << 30}}};
  const DeviceSpec device{.type = {.model = prng_.chance(500) ? "A" : "B", .memory_mib = 40'000}};
  node.devices.assign(prng_.below(5), device);
  for (std::size_t card = 0; card < node.devices.size(); ++card) {
    node.devices[card].device.island = static_cast<std::uint16_t>(card / 2);
  }
  if (node.devices.size() == 4 && prng_.chance(300)) {  // The first card is cut into the others.
    for (std::size_t slice = 1; slice < 4; ++slice) node.devices[slice].device.parent = 0;
  }
  return node;
}

std::vector<NodeSpec> ChaosDraw::fleet() {
  const bool is_wide = seed_ % 20 == 3;
  const unsigned nodes = is_wide ? wide + prng_.below(10) : 3 + prng_.below(10);
  const unsigned nodes_per_rack = is_wide ? wide : 3;
  std::vector<NodeSpec> fleet;
  for (unsigned at = 0; at < nodes; ++at) {
    fleet.push_back(node(at));
    fleet.back().labels.set("rack", "r" + std::to_string(at / nodes_per_rack));
  }
  return fleet;
}

std::vector<QueueSpec> ChaosDraw::queues() {
  std::vector<QueueSpec> queues;
  if (prng_.chance(500)) {
    queues.push_back({.name = "small", .limit = {{"gpu", 1 + prng_.below(8)}}});
    queue_names_.emplace_back("small");
  }
  return queues;
}

MixSet ChaosDraw::mix() {
  MixSet mix;
  for (int at = 0; at < 5; ++at) mix.entries.push_back({task(), 1 + prng_.below(20)});
  return mix;
}

// --- Jobs ----------------------------------------------------------------------------------------

DeviceRequest ChaosDraw::request() {
  DeviceRequest request;
  request.count = static_cast<std::uint16_t>(1 + prng_.below(3));
  if (request.count == 1 && prng_.chance(500)) {
    request.compute_permille = static_cast<std::uint16_t>(100 + prng_.below(800));
  }
  if (prng_.chance(200)) request.closeness = {"island", prng_.chance(500)};
  if (prng_.chance(200)) request.where = *AttributeExpression::parse("model == A");
  return request;
}

/// What the task says of others.
void ChaosDraw::set_company(TaskShape& shape) {
  shape.labels.set("app", prng_.chance(500) ? "x" : "y");
  const Selector same{{{"app", Operator::in, {*shape.labels.find("app")}}}};
  if (prng_.chance(500)) {
    const std::string level = prng_.chance(600) ? "host" : "rack";
    shape.affinities = {{.tasks = same, .topology_key = level, .anti = prng_.chance(700)}};
  } else {
    shape.spreads = {{.tasks = same, .topology_key = "rack", .max_skew = 1}};
  }
}

TaskShape ChaosDraw::task() {
  TaskShape shape;
  shape.resources = {{"cpu", prng_.between(1, 8) * 500}};
  if (prng_.chance(600)) shape.devices = {request()};
  if (prng_.chance(100)) shape.nodes.requirements = {{"rack", Operator::in, {"r0", "r1"}}};
  if (prng_.chance(100)) shape.ports = {{.port = 80}};
  if (prng_.chance(150)) set_company(shape);
  return shape;
}

RoleSpec ChaosDraw::role() {
  RoleSpec role{.name = "task", .alternatives = {task()}};
  role.count = prng_.chance(300) ? 1 + prng_.below(5) : 1;
  role.min = prng_.chance(50) ? 0 : 1 + prng_.below(role.count);
  if (prng_.chance(150)) role.alternatives.push_back(task());
  return role;
}

GangSpec ChaosDraw::gang() {
  GangSpec gang;
  const unsigned groups = !prng_.chance(200) ? 1 : prng_.chance(100) ? 3 : 2;
  for (unsigned at = 0; at < groups; ++at) {
    GroupSpec group{.roles = {role()}};
    if (prng_.chance(200)) group.closeness = {"rack", prng_.chance(600)};
    gang.groups.push_back(group);
  }
  if (prng_.chance(50)) gang.closeness = {"rack", prng_.chance(500)};
  gang.copies = prng_.chance(100) ? 2 : 1;
  return gang;
}

JobRules ChaosDraw::rules() {
  JobRules rules;
  if (prng_.chance(300)) rules.retries = 1 + prng_.below(3);
  rules.pause = Duration::seconds(prng_.below(30));
  rules.pause_max = Duration::seconds(40);
  // Tasks run for 5 s to 2 minutes.
  if (prng_.chance(200)) rules.run_time_max = Duration::seconds(20 + prng_.below(100));
  if (prng_.chance(300)) rules.launches = 1 + prng_.below(4);
  if (prng_.chance(500)) rules.at_once = 1 + prng_.below(2);
  for (std::uint32_t at = prng_.chance(300) ? prng_.below(3) : 0; at > 0; --at) {
    rules.gang_rules.push_back({.when = static_cast<GangRule::When>(prng_.below(4)),
                                .then = static_cast<GangRule::Then>(prng_.below(4)),
                                .role = prng_.chance(500) ? "task" : "",
                                .exit_code = prng_.chance(200) ? 1 : 0});
  }
  return rules;
}

JobSpec ChaosDraw::job() {
  JobSpec job = job_of("job", gang());
  if (prng_.chance(400)) job.rules = rules();
  job.priority = static_cast<std::int32_t>(prng_.below(3));
  if (!queue_names_.empty() && prng_.chance(400)) job.queue = queue_names_.front();
  return job;
}

std::optional<ChaosDraw::Extreme> ChaosDraw::extreme(const std::vector<NodeSpec>& fleet) {
  // Its rows stay in the tables of State, and checking these costs time with every event after it.
  if (seed_ % 100 == 50) return Extreme{arrivals - 1, job_of("sweep", sweep()), true};
  // While most of the fleet is free.
  if (seed_ % 25 == 7) return Extreme{1, job_of("puzzle", puzzle(fleet)), true};
  if (seed_ % 20 == 5) return Extreme{3, job_of("choosy", choosy()), false};
  if (seed_ % 10 == 1) return Extreme{3, job_of("crowd", crowd(prng_)), false};
  return std::nullopt;
}

}  // namespace tutti
