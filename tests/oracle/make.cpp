#include "tests/oracle/make.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace tutti::oracle {
namespace {

using Words = std::vector<std::string>;

/// Each world has some of the oddities, so that those it has meet often.
enum Oddity : unsigned {
  full,  ///< Many tasks run.
  accelerated,
  selective,  ///< Selectors of nodes.
  tainted,
  stacked,
  ported,
  related,  ///< Affinity and spread between tasks.
  limited,  ///< A queue with limits.
  close,    ///< Closeness in the gang.
  broken,   ///< Things that fail and change while in use.
  oddities
};

class Maker {
 public:
  Maker(std::uint64_t seed, const Knobs& knobs) : prng_(seed, 77), knobs_(knobs) {
    for (unsigned each = 0; each < oddities; ++each) has_.push_back(chance(500) ? 1 : 0);
    if (!knobs.labels_matter) has_[related] = 0;
  }

  Scene run() {
    const unsigned nodes = 1 + below(knobs_.nodes);
    for (unsigned at = 0; at < nodes; ++at) scene_.tell(NodeReported{node(at)});
    if (odd(limited, 700)) scene_.tell(QueueSet{{.name = "small", .limit = limits()}});
    if (chance(300)) {
      MixSet mix;
      for (int at = 0; at < 3; ++at) mix.entries.push_back({shape(), 1 + below(9)});
      scene_.tell(mix);
    }
    const unsigned running = below((has_[full] != 0 ? 4 : 1) * nodes + 1);
    for (unsigned at = 0; at < running; ++at) run_task();
    for (unsigned at = 0; at < nodes && has_[broken] != 0; ++at) disturb(at);
    submit();
    return std::move(scene_);
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return prng_.below(bound); }
  bool chance(unsigned permille) { return prng_.chance(permille); }
  bool odd(Oddity oddity, unsigned permille) { return has_[oddity] != 0 && chance(permille); }
  const std::string& pick(const Words& words) {
    return words[below(static_cast<std::uint32_t>(words.size()))];
  }
  std::uint16_t small(unsigned low, unsigned high) {
    return static_cast<std::uint16_t>(prng_.between(low, high));
  }

  // --- Nodes ------------------------------------------------------------------------------------

  DeviceType type() {
    const unsigned which = below(3);
    DeviceType out{.model = which == 0   ? "A"
                            : which == 1 ? "B"
                                         : "C",
                   .vendor = which == 2 ? "acme" : "zeta",
                   .memory_mib = which == 1 ? 32 : 16};
    if (which == 1) out.attributes = {{"fp8", 1, {}}};
    return out;
  }

  NodeSpec node(unsigned at) {
    NodeSpec out{.name = "n" + std::to_string(at)};
    out.capacity = {{"cpu", prng_.between(1, 6) * 1000}, {"memory", prng_.between(1, 6)}};
    if (chance(300)) out.capacity.push_back({"nic", prng_.between(1, 2)});
    if (chance(200)) out.capacity.push_back({"pods", prng_.between(1, 3)});
    const bool mixed = chance(250);
    const DeviceType same = type();
    const unsigned devices = has_[accelerated] != 0 ? below(5) : 0;
    for (unsigned card = 0; card < devices; ++card) {
      DeviceSpec device{.type = mixed ? type() : same};
      device.device.island = static_cast<std::uint16_t>(chance(300) ? below(3) : card / 2);
      device.device.numa = static_cast<std::uint8_t>(below(2));
      if (odd(broken, 100)) device.device.health = static_cast<Health>(1 + below(3));
      out.devices.push_back(device);
    }
    if (devices > 2 && chance(200)) {  // Slices of the last card.
      for (unsigned slice = 0; slice + 1 < devices; slice += 2) {
        out.devices[slice].device.parent = static_cast<std::uint8_t>(devices - 1);
      }
    }
    if (!chance(150)) out.labels.set("rack", "r" + std::to_string(below(3)));
    if (!chance(150)) out.labels.set("zone", "z" + std::to_string(at / 3));
    if (chance(300)) out.labels.set("gen", std::to_string(below(4)));
    if (odd(tainted, 300)) out.taints.push_back({"dedicated", pick({"x", "y"}), effect()});
    if (odd(tainted, 150)) out.taints.push_back({"flaky", "", effect()});
    if (chance(500)) out.stack.push_back({"cuda", pick({"11.8", "12.2", "12.10"})});
    out.cordoned = odd(broken, 100);
    return out;
  }

  TaintEffect effect() { return static_cast<TaintEffect>(below(3)); }

  std::vector<NamedAmount> limits() {
    std::vector<NamedAmount> out;
    if (chance(600)) out.push_back({"gpu", prng_.between(0, 4)});
    if (chance(400)) out.push_back({"cpu", prng_.between(1, 8) * 1000});
    if (out.empty()) out.push_back({"pods", prng_.between(1, 4)});
    return out;
  }

  // --- Tasks ------------------------------------------------------------------------------------

  DeviceRequest request(const std::string& where) {
    DeviceRequest out{.where = *AttributeExpression::parse(where)};
    out.count = small(1, chance(700) ? 2 : 3);
    if (chance(400)) {
      static const std::array<std::uint16_t, 4> shares{250, 330, 500, 700};
      out.compute_permille = shares[below(4)];
      if (chance(300)) out.memory_mib = prng_.between(4, 20);
    }
    if (chance(250)) out.closeness = {pick({"island", "numa"}), chance(700)};
    return out;
  }

  Selector node_selector() {
    switch (below(6)) {
      case 0:
        return {{{"rack", Operator::in, {"r0", "r1"}}}};
      case 1:
        return {{{"zone", Operator::not_in, {"z1"}}}};
      case 2:
        return {{{"gen", Operator::exists, {}}}};
      case 3:
        return {{{"gen", Operator::does_not_exist, {}}}};
      case 4:
        return {{{"gen", Operator::greater, {std::to_string(below(3))}}}};
      default:
        return {{{"gen", Operator::less, {"2"}}, {"rack", Operator::in, {pick({"r0", "r2"})}}}};
    }
  }

  Selector task_selector() {
    if (chance(150)) return {{{"app", Operator::exists, {}}}};
    return {{{"app", Operator::in, {pick({"a", "a", "b"})}}}};
  }

  void relations(TaskShape& out) {
    if (chance(800)) out.labels.set("app", pick({"a", "a", "b"}));
    if (chance(100)) out.space = "team";
    const Words keys{"host", "rack", "zone"};
    if (chance(150)) {
      out.affinities.push_back({.tasks = task_selector(), .topology_key = pick(keys)});
    }
    for (unsigned at = below(3); at < 1; ++at) {
      out.affinities.push_back(
          {.tasks = task_selector(), .topology_key = pick(keys), .anti = true});
      if (chance(100)) out.affinities.back().weight = 10;
      if (chance(100)) out.affinities.back().namespaces = {pick({"team", "*"})};
    }
    for (unsigned at = below(5); at < 2; ++at) {
      out.spreads.push_back({.tasks = task_selector(), .topology_key = pick(keys)});
      Spread& spread = out.spreads.back();
      spread.max_skew = small(1, chance(300) ? 2 : 1);
      spread.min_domains = small(1, chance(800) ? 1 : 3);
      spread.required = !chance(150);
      spread.honor_node_affinity = chance(800);
      spread.honor_node_taints = chance(200);
    }
  }

  TaskShape shape() {
    TaskShape out;
    if (chance(800)) out.resources.push_back({"cpu", prng_.between(1, 3) * 500});
    if (chance(300)) out.resources.push_back({"memory", prng_.between(1, 3)});
    if (chance(60)) out.resources.push_back({"nic", 1});
    if (odd(accelerated, 700)) {
      // Requests of one task must not compete for one type.
      if (chance(120)) {
        out.devices = {request("model == A"), request("vendor == acme || fp8")};
      } else {
        out.devices = {request(pick({"", "", "model == A", "memory >= 20", "vendor == zeta"}))};
      }
    }
    if (odd(selective, 250)) out.nodes = node_selector();
    if (odd(selective, 120)) out.nodes_any_of = {node_selector(), node_selector()};
    if (chance(200)) out.preferred_nodes = {{small(1, 100), node_selector()}};
    if (odd(tainted, 250)) out.tolerations.push_back({.key = "dedicated", .any_value = true});
    if (odd(tainted, 100)) {
      out.tolerations.push_back({.key = "dedicated", .value = "x", .any_effect = false});
    }
    if (odd(tainted, 100)) out.tolerations.push_back({.any_value = true});
    if (odd(stacked, 250)) {
      static const std::array<Operator, 3> ops{Operator::in, Operator::greater, Operator::less};
      out.stack = {{"cuda", ops[below(3)], pick({"12.2", "12.10"})}};
    }
    if (odd(ported, 300)) out.ports = {{.port = 80, .ip = chance(300) ? "10.0.0.1" : ""}};
    if (odd(ported, 150)) out.ports.push_back({.port = 53, .protocol = "UDP"});
    if (odd(related, 800)) relations(out);
    return out;
  }

  /// A task that runs somewhere where it may.
  void run_task() {
    const TaskShape one = shape();
    const std::string queue = scene_.world.queues.empty() || chance(500) ? "default" : "small";
    const std::size_t nodes = scene_.world.nodes.size();
    const std::size_t first = below(static_cast<std::uint32_t>(nodes));
    if (!within_limit(scene_.world, queue, one)) return;
    for (std::size_t at = 0; at < nodes; ++at) {
      const std::size_t node = (first + at) % nodes;
      if (!feasible(scene_.world, one, node)) continue;
      const auto choices = device_choices(scene_.world, one, node);
      scene_.occupy(one, node, choices[below(static_cast<std::uint32_t>(choices.size()))], queue);
      return;
    }
  }

  /// What happens to a node while it is in use.
  void disturb(std::size_t at) {
    const std::string name = scene_.world.nodes[at].name;
    const std::size_t devices = scene_.world.nodes[at].devices.size();
    if (devices > 0 && chance(80)) {
      const auto ordinal = static_cast<std::uint16_t>(below(static_cast<unsigned>(devices)));
      scene_.tell(DeviceHealthChanged{name, ordinal, static_cast<Health>(below(4))});
    }
    if (chance(40)) scene_.tell(NodeCordoned{name, chance(700)});
    if (chance(40)) lose(at);
    if (chance(40)) {
      NodeSpec less = scene_.world.nodes[at];
      less.capacity[0].amount = less.capacity[0].amount / 2;
      if (chance(300)) less.labels.set("rack", "r0");
      scene_.tell(NodeReported{less});
    }
    if (at == 0 && !scene_.world.queues.empty() && chance(100)) {
      scene_.tell(QueueSet{{.name = "small", .limit = limits()}});
    }
  }

  /// The node is gone, and the jobs that ran there are not tried elsewhere.
  void lose(std::size_t at) {
    std::vector<JobId> jobs;
    for (const Held& task : scene_.world.tasks) {
      if (task.node == at) jobs.push_back(task.id.job);
    }
    scene_.tell(NodeLost{scene_.world.nodes[at].name});
    for (const JobId job : jobs) scene_.tell(JobCancelled{job});
  }

  // --- The gang ---------------------------------------------------------------------------------

  Closeness closeness(unsigned permille) {
    if (!odd(close, permille)) return {};
    return {pick({"host", "rack", "rack", "zone"}), chance(700)};
  }

  RoleSpec role(unsigned most) {
    RoleSpec out{.name = "r", .min = 1 + below(most)};
    out.count = out.min + (chance(250) ? 1 + below(2) : 0);
    if (chance(60)) out.min = 0;
    out.alternatives = {shape()};
    if (chance(250)) out.alternatives.push_back(shape());
    return out;
  }

  void submit() {
    GangSpec gang{.closeness = closeness(knobs_.tasks > 1 ? 500 : 200)};
    unsigned left = knobs_.tasks;
    const unsigned groups = left > 1 ? 1 + below(2) : 1;
    for (unsigned at = 0; at < groups && left > 0; ++at) {
      GroupSpec group{.closeness = closeness(700)};
      const unsigned roles = left > 1 && chance(400) ? 2 : 1;
      for (unsigned each = 0; each < roles && left > 0; ++each) {
        group.roles.push_back(role(left));
        left -= std::min(left, group.roles.back().min);
      }
      unsigned minima = 0;
      for (const RoleSpec& each : group.roles) minima += each.min;
      if (minima > 0 && minima <= left && chance(300)) {
        group.copies = 2;
        left -= minima;
      }
      gang.groups.push_back(group);
    }
    JobSpec spec{.name = "gang"};
    if (!scene_.world.queues.empty() && chance(600)) spec.queue = "small";
    spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
    scene_.replace_gang(std::make_shared<const JobSpec>(std::move(spec)));
  }

  Prng prng_;
  Knobs knobs_;
  std::vector<char> has_;  ///< By Oddity.
  Scene scene_;
};

}  // namespace

void Scene::tell(const Event& event) {
  const auto admitted = state.admissible(event);
  CHECK(admitted.has_value(), admitted.error().what);
  now_.us += 1'000'000;
  state.apply(event, now_);
  const auto node_of = [&](const std::string& name) {
    const auto found = std::ranges::find(world.nodes, name, &NodeSpec::name);
    return static_cast<std::size_t>(found - world.nodes.begin());
  };
  if (const auto* reported = std::get_if<NodeReported>(&event)) {
    const std::size_t at = node_of(reported->node.name);
    if (at == world.nodes.size()) {
      world.nodes.emplace_back();
      world.present.push_back(1);
    }
    world.nodes[at] = reported->node;
    world.present[at] = 1;
  } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
    const std::size_t at = node_of(lost->node);
    world.present[at] = 0;
    std::erase_if(world.tasks, [&](const Held& task) { return task.node == at; });
  } else if (const auto* cordoned = std::get_if<NodeCordoned>(&event)) {
    world.nodes[node_of(cordoned->node)].cordoned = cordoned->cordoned;
  } else if (const auto* health = std::get_if<DeviceHealthChanged>(&event)) {
    world.nodes[node_of(health->node)].devices[health->ordinal].device.health = health->health;
  } else if (const auto* queue = std::get_if<QueueSet>(&event)) {
    std::erase_if(world.queues,
                  [&](const QueueSpec& known) { return known.name == queue->queue.name; });
    world.queues.push_back(queue->queue);
  } else if (const auto* exited = std::get_if<TaskExited>(&event)) {
    std::erase_if(world.tasks, [&](const Held& task) { return task.id == exited->task; });
  }
}

void Scene::occupy(const TaskShape& shape, std::size_t node, const std::vector<unsigned>& devices,
                   const std::string& queue) {
  const RoleSpec role{.name = "r", .alternatives = {shape}};
  JobSpec job{.name = "old", .queue = queue};
  job.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  specs.push_back(std::make_shared<const JobSpec>(std::move(job)));
  const TaskId id{JobId(next_job++), 0};
  tell(JobSubmitted{id.job, specs.back()});
  const TaskIndex task = state.find(id);
  Action action{
      .task = id, .attempt = 1, .shape = state.tasks()[task].shape, .node = NodeIndex(node)};
  for (const unsigned each : devices) action.devices.add(each);
  tell(PlanDecided{{action}});
  const TaskShape* stored = &specs.back()->gangs[0]->groups[0].roles[0].alternatives[0];
  world.tasks.push_back(
      {.shape = stored, .node = node, .devices = devices, .queue = queue, .id = id});
}

void Scene::replace_gang(std::shared_ptr<const JobSpec> spec) {
  if (gang.valid()) tell(JobCancelled{gang});
  wanted = std::move(spec);
  gang = JobId(next_job++);
  tell(JobSubmitted{gang, wanted});
}

std::vector<std::string> Scene::lanes() const {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < state.fleet().lanes().size(); ++at) {
    out.push_back(state.fleet().lanes().name(Lane(at)));
  }
  return out;
}

Scene make_scene(std::uint64_t seed, const Knobs& knobs) { return Maker(seed, knobs).run(); }

}  // namespace tutti::oracle
