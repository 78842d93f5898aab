#include "tests/oracle/world.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace tutti::oracle {
namespace {

constexpr std::int64_t unlimited = std::int64_t{1} << 50;

// --- Descriptions -------------------------------------------------------------------------------

std::optional<long> integer(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

bool holds(const Requirement& requirement, const std::string* value) {
  const auto& values = requirement.values;
  const bool listed = value != nullptr && std::ranges::count(values, *value) > 0;
  switch (requirement.op) {
    case Operator::in:
      return listed;
    case Operator::not_in:
      return !listed;
    case Operator::exists:
      return value != nullptr;
    case Operator::does_not_exist:
      return value == nullptr;
    case Operator::greater:
    case Operator::less: {
      if (value == nullptr) return false;
      const auto have = integer(*value);
      const auto want = integer(values.at(0));
      if (!have || !want) return false;
      return requirement.op == Operator::greater ? *have > *want : *have < *want;
    }
  }
  return false;
}

bool selected(const TaskShape& shape, const NodeSpec& node) {
  if (!matches(shape.nodes, node.labels)) return false;
  bool one = shape.nodes_any_of.empty();
  for (const Selector& each : shape.nodes_any_of) one = one || matches(each, node.labels);
  return one;
}

/// Row of the first taint that keeps the task away.
std::optional<std::uint32_t> repelled(const TaskShape& shape, const NodeSpec& node) {
  for (std::size_t at = 0; at < node.taints.size(); ++at) {
    if (node.taints[at].effect == TaintEffect::prefer_no_schedule) continue;
    if (!tolerated(shape, node.taints[at])) return static_cast<std::uint32_t>(at);
  }
  return std::nullopt;
}

std::vector<long> numbers(const std::string& version) {
  std::vector<long> out;
  for (std::size_t at = 0; at <= version.size();) {
    const std::size_t dot = std::min(version.find('.', at), version.size());
    out.push_back(std::stol(version.substr(at, dot - at)));
    at = dot + 1;
  }
  out.resize(4);
  return out;
}

bool has_version(const StackRequirement& wanted, const NodeSpec& node) {
  for (const StackVersion& there : node.stack) {
    if (there.name != wanted.name) continue;
    const auto have = numbers(there.version);
    const auto want = numbers(wanted.version);
    if (wanted.op == Operator::in && have == want) return true;
    if (wanted.op == Operator::greater && have >= want) return true;
    if (wanted.op == Operator::less && have < want) return true;
  }
  return false;
}

// --- Amounts ------------------------------------------------------------------------------------

std::int64_t asked(const TaskShape& shape, const std::string& lane) {
  if (lane == "pods") return 1;
  for (const NamedAmount& part : shape.resources) {
    if (part.name == lane) return part.amount;
  }
  return 0;
}

std::int64_t capacity(const NodeSpec& node, const std::string& lane) {
  for (const NamedAmount& part : node.capacity) {
    if (part.name == lane) return part.amount;
  }
  return lane == "pods" ? unlimited : 0;
}

std::int64_t free_amount(const World& world, std::size_t node, const std::string& lane) {
  std::int64_t free = capacity(world.nodes[node], lane);
  for (const Held& task : world.tasks) {
    if (task.node == node) free -= asked(*task.shape, lane);
  }
  return free;
}

// --- Devices ------------------------------------------------------------------------------------

bool whole(const DeviceRequest& request) {
  return request.compute_permille == 1000 && request.memory_mib == 0;
}

/// MiB of one device of the type that the request takes.
std::int64_t memory_of(const DeviceRequest& request, const DeviceType& type) {
  if (request.memory_mib > 0) return request.memory_mib;
  return type.memory_mib * request.compute_permille / 1000;
}

/// Could an empty device of this type serve the request?
bool serves(const DeviceRequest& request, const DeviceType& type) {
  return request.where.matches(type) && memory_of(request, type) <= type.memory_mib;
}

const DeviceRequest* request_for(const TaskShape& shape, const DeviceType& type) {
  for (const DeviceRequest& request : shape.devices) {
    if (serves(request, type)) return &request;
  }
  return nullptr;
}

struct Used {
  std::int64_t permille = 0;
  std::int64_t mib = 0;
  auto operator<=>(const Used&) const = default;
};

Used used(const World& world, std::size_t node, unsigned ordinal) {
  const DeviceType& type = world.nodes[node].devices[ordinal].type;
  Used sum;
  for (const Held& task : world.tasks) {
    if (task.node != node || std::ranges::count(task.devices, ordinal) == 0) continue;
    const DeviceRequest& request = *request_for(*task.shape, type);
    sum.permille += request.compute_permille;
    sum.mib += whole(request) ? type.memory_mib : memory_of(request, type);
  }
  return sum;
}

/// A card that was cut is no device to have, and its slices are as healthy as it is.
bool is_cut(const NodeSpec& node, unsigned ordinal) {
  return std::ranges::any_of(
      node.devices, [&](const DeviceSpec& other) { return other.device.parent == ordinal; });
}

bool healthy(const NodeSpec& node, unsigned ordinal) {
  const Device& device = node.devices[ordinal].device;
  const bool card = device.parent == Device::no_parent ||
                    node.devices[device.parent].device.health == Health::online;
  return device.health == Health::online && !is_cut(node, ordinal) && card;
}

/// Devices that could serve the request now, each for itself.
std::vector<unsigned> free_devices(const World& world, const DeviceRequest& request,
                                   std::size_t at) {
  const NodeSpec& node = world.nodes[at];
  std::vector<unsigned> out;
  for (unsigned ordinal = 0; ordinal < node.devices.size(); ++ordinal) {
    const DeviceType& type = node.devices[ordinal].type;
    if (!serves(request, type) || !healthy(node, ordinal)) continue;
    const Used there = used(world, at, ordinal);
    const bool room = there.permille + request.compute_permille <= 1000 &&
                      there.mib + memory_of(request, type) <= type.memory_mib;
    if (whole(request) ? there == Used{} : room) out.push_back(ordinal);
  }
  return out;
}

unsigned vicinity(const DeviceRequest& request, const Device& device) {
  if (!request.closeness.required) return 0;
  return request.closeness.level == "numa" ? device.numa : device.island;
}

/// Size of the largest group of these devices that are as near as the request demands.
std::size_t together(const NodeSpec& node, const DeviceRequest& request,
                     const std::vector<unsigned>& devices) {
  std::map<unsigned, std::size_t> groups;
  for (const unsigned each : devices) ++groups[vicinity(request, node.devices[each].device)];
  std::size_t most = 0;
  for (const auto& [group, size] : groups) most = std::max(most, size);
  return most;
}

Why device_why(const World& world, const TaskShape& shape, std::size_t at, std::uint32_t row) {
  const DeviceRequest& request = shape.devices[row];
  const NodeSpec& node = world.nodes[at];
  std::int64_t typed = 0;
  std::int64_t online = 0;
  for (unsigned ordinal = 0; ordinal < node.devices.size(); ++ordinal) {
    if (!serves(request, node.devices[ordinal].type) || is_cut(node, ordinal)) continue;
    ++typed;
    online += healthy(node, ordinal) ? 1 : 0;
  }
  const std::vector<unsigned> free = free_devices(world, request, at);
  const auto available = static_cast<std::int64_t>(free.size());
  const auto near = static_cast<std::int64_t>(together(node, request, free));
  const std::int64_t count = request.count;
  if (typed < count) return {Reason::device_type_missing, row, count - typed, {}};
  if (online < count) return {Reason::devices_unhealthy, row, count - online, {}};
  if (available < count) return {Reason::devices_busy, row, count - available, {}};
  if (near < count) return {Reason::devices_apart, row, count - near, {}};
  return {};
}

/// Everything that makes one device another one for somebody.
using Look = std::tuple<std::string, std::string, std::int64_t, unsigned, unsigned, Used>;

Look look_of(const World& world, std::size_t node, unsigned ordinal) {
  const DeviceSpec& spec = world.nodes[node].devices[ordinal];
  return {spec.type.model,    spec.type.vendor, spec.type.memory_mib,
          spec.device.island, spec.device.numa, used(world, node, ordinal)};
}

/// All ways to take `count` of `free` from position `from` on, appended to `chosen`.
void choose(const World& world, std::size_t node, const DeviceRequest& request,
            const std::vector<unsigned>& free, std::vector<std::vector<unsigned>>& out) {
  std::set<std::multiset<Look>> seen;
  const std::size_t subsets = std::size_t{1} << free.size();
  for (std::size_t bits = 0; bits < subsets; ++bits) {
    std::vector<unsigned> chosen;
    for (std::size_t at = 0; at < free.size(); ++at) {
      if ((bits >> at & 1U) != 0) chosen.push_back(free[at]);
    }
    if (chosen.size() != request.count) continue;
    if (together(world.nodes[node], request, chosen) < request.count) continue;
    std::multiset<Look> looks;
    for (const unsigned each : chosen) looks.insert(look_of(world, node, each));
    if (seen.insert(looks).second) out.push_back(chosen);
  }
}

// --- Other tasks --------------------------------------------------------------------------------

std::uint32_t count_in(const World& world, const std::string& key, const std::string& domain,
                       const TaskAffinity& term, const TaskShape& owner) {
  std::uint32_t sum = 0;
  for (const Held& task : world.tasks) {
    if (domain_of(world.nodes[task.node], key) != domain) continue;
    sum += spoken_of(term.tasks, term.namespaces, owner, *task.shape) ? 1 : 0;
  }
  return sum;
}

bool matches_somebody(const World& world, const TaskAffinity& term, const TaskShape& owner) {
  return std::ranges::any_of(world.tasks, [&](const Held& task) {
    return domain_of(world.nodes[task.node], term.topology_key).has_value() &&
           spoken_of(term.tasks, term.namespaces, owner, *task.shape);
  });
}

Why affinity_why(const World& world, const TaskShape& shape, std::size_t at) {
  const NodeSpec& node = world.nodes[at];
  for (std::uint32_t row = 0; row < shape.affinities.size(); ++row) {
    const TaskAffinity& term = shape.affinities[row];
    if (term.weight != 0) continue;
    const auto domain = domain_of(node, term.topology_key);
    const bool company = domain && count_in(world, term.topology_key, *domain, term, shape) > 0;
    if (term.anti && company) return {Reason::anti_affinity_broken, row, 0, {}};
    if (term.anti || company) continue;
    // The first of those that want to be together may go anywhere where there is such a domain.
    const bool first = domain && !matches_somebody(world, term, shape) &&
                       spoken_of(term.tasks, term.namespaces, shape, shape);
    if (!first) return {Reason::affinity_unmet, row, 0, {}};
  }
  for (const Held& task : world.tasks) {
    for (const TaskAffinity& term : task.shape->affinities) {
      if (!term.anti || term.weight != 0) continue;
      if (!spoken_of(term.tasks, term.namespaces, *task.shape, shape)) continue;
      const auto theirs = domain_of(world.nodes[task.node], term.topology_key);
      if (theirs && domain_of(node, term.topology_key) == theirs) {
        return {Reason::anti_affinity_broken, 0, 0, {}};
      }
    }
  }
  return {};
}

/// Does the node count when evenness is judged?
bool counts_for(const World& world, const TaskShape& shape, const Spread& spread, std::size_t at) {
  const NodeSpec& node = world.nodes[at];
  if (!world.present[at]) return false;
  for (const Spread& each : shape.spreads) {
    if (each.required && !domain_of(node, each.topology_key)) return false;
  }
  if (spread.honor_node_affinity && !selected(shape, node)) return false;
  return !spread.honor_node_taints || (!repelled(shape, node) && !node.cordoned);
}

Why spread_why(const World& world, const TaskShape& shape, std::size_t at) {
  for (std::uint32_t row = 0; row < shape.spreads.size(); ++row) {
    const Spread& spread = shape.spreads[row];
    if (!spread.required) continue;
    std::map<std::string, std::int64_t> counts;
    for (std::size_t each = 0; each < world.nodes.size(); ++each) {
      if (!counts_for(world, shape, spread, each)) continue;
      std::int64_t& sum = counts[*domain_of(world.nodes[each], spread.topology_key)];
      for (const Held& task : world.tasks) {
        if (task.node == each && spoken_of(spread.tasks, {}, shape, *task.shape)) ++sum;
      }
    }
    const auto here = domain_of(world.nodes[at], spread.topology_key);
    if (!here) return {Reason::spread_exceeded, row, 0, {}};
    std::int64_t least = counts.empty() ? 0 : counts.begin()->second;
    for (const auto& [domain, count] : counts) least = std::min(least, count);
    if (counts.size() < spread.min_domains) least = 0;
    const std::int64_t there = counts.contains(*here) ? counts[*here] : 0;
    const std::int64_t joins = matches(spread.tasks, shape.labels) ? 1 : 0;
    const std::int64_t beyond = there + joins - least - spread.max_skew;
    if (beyond > 0) return {Reason::spread_exceeded, row, beyond, {}};
  }
  return {};
}

Why port_why(const World& world, const TaskShape& shape, std::size_t at) {
  const auto any = [](const std::string& ip) { return ip.empty() || ip == "0.0.0.0"; };
  for (const Held& task : world.tasks) {
    if (task.node != at) continue;
    for (const HostPort& taken : task.shape->ports) {
      for (const HostPort& wanted : shape.ports) {
        const bool address = any(taken.ip) || any(wanted.ip) || taken.ip == wanted.ip;
        if (address && taken.port == wanted.port && taken.protocol == wanted.protocol) {
          return {Reason::port_taken, wanted.port, 0, {}};
        }
      }
    }
  }
  return {};
}

Why description_why(const TaskShape& shape, const NodeSpec& node) {
  if (!selected(shape, node)) return {Reason::selector_mismatch, 0, 0, {}};
  if (const auto row = repelled(shape, node)) return {Reason::taint_not_tolerated, *row, 0, {}};
  for (std::uint32_t row = 0; row < shape.stack.size(); ++row) {
    if (!has_version(shape.stack[row], node)) return {Reason::stack_mismatch, row, 0, {}};
  }
  return {};
}

}  // namespace

bool spoken_of(const Selector& tasks, const std::vector<std::string>& spaces,
               const TaskShape& owner, const TaskShape& task) {
  bool space = spaces.empty() && task.space == owner.space;
  for (const std::string& each : spaces) space = space || each == "*" || each == task.space;
  return space && matches(tasks, task.labels);
}

bool matches(const Selector& selector, const Labels& labels) {
  return std::ranges::all_of(selector.requirements, [&](const Requirement& requirement) {
    return holds(requirement, labels.find(requirement.key));
  });
}

bool tolerated(const TaskShape& shape, const Taint& taint) {
  return std::ranges::any_of(shape.tolerations, [&](const Toleration& each) {
    const bool effect = each.any_effect || each.effect == taint.effect;
    const bool key = each.key.empty() || each.key == taint.key;
    return effect && key && (each.any_value || each.value == taint.value);
  });
}

std::optional<std::string> domain_of(const NodeSpec& node, std::string_view level) {
  if (level == "host") return node.name;
  const std::string* value = node.labels.find(level);
  if (value == nullptr) return std::nullopt;
  return *value;
}

bool order_matters(const TaskShape& shape) {
  return std::ranges::any_of(shape.spreads, &Spread::required) ||
         std::ranges::any_of(shape.affinities, [](const TaskAffinity& term) {
           return !term.anti && term.weight == 0;
         });
}

Why why_not(const World& world, const std::vector<std::string>& lanes, const TaskShape& shape,
            std::size_t at) {
  const NodeSpec& node = world.nodes[at];
  if (!world.present[at]) return {Reason::not_present, 0, 0, {}};
  if (node.cordoned) return {Reason::cordoned, 0, 0, {}};
  if (Why why = description_why(shape, node); !why.ok()) return why;
  for (const std::string& lane : lanes) {
    const std::int64_t missing = asked(shape, lane) - free_amount(world, at, lane);
    if (asked(shape, lane) > 0 && missing > 0) return {Reason::lane_short, 0, missing, lane};
  }
  for (std::uint32_t row = 0; row < shape.devices.size(); ++row) {
    if (Why why = device_why(world, shape, at, row); !why.ok()) return why;
  }
  if (Why why = port_why(world, shape, at); !why.ok()) return why;
  if (Why why = affinity_why(world, shape, at); !why.ok()) return why;
  return spread_why(world, shape, at);
}

bool feasible(const World& world, const TaskShape& shape, std::size_t node) {
  std::vector<std::string> lanes{"pods"};
  for (const NamedAmount& part : shape.resources) lanes.push_back(part.name);
  return why_not(world, lanes, shape, node).ok();
}

std::vector<std::vector<unsigned>> device_choices(const World& world, const TaskShape& shape,
                                                  std::size_t node) {
  std::vector<std::vector<unsigned>> all{{}};
  for (const DeviceRequest& request : shape.devices) {
    std::vector<std::vector<unsigned>> here;
    choose(world, node, request, free_devices(world, request, node), here);
    std::vector<std::vector<unsigned>> longer;
    for (const auto& before : all) {
      for (const auto& more : here) {
        longer.push_back(before);
        longer.back().insert(longer.back().end(), more.begin(), more.end());
      }
    }
    all = std::move(longer);
  }
  return all;
}

bool devices_valid(const World& world, const TaskShape& shape, std::size_t node,
                   const std::vector<unsigned>& devices) {
  std::size_t taken = 0;
  for (const DeviceRequest& request : shape.devices) {
    const std::vector<unsigned> free = free_devices(world, request, node);
    std::vector<unsigned> mine;
    for (const unsigned each : devices) {
      if (each >= world.nodes[node].devices.size()) return false;
      if (std::ranges::count(free, each) > 0) mine.push_back(each);
    }
    if (mine.size() != request.count) return false;
    if (together(world.nodes[node], request, mine) < request.count) return false;
    taken += mine.size();
  }
  return taken == devices.size();
}

bool within_limit(const World& world, const std::string& name, const TaskShape& shape) {
  const auto gpus = [](const TaskShape& each) {
    std::int64_t sum = 0;
    for (const DeviceRequest& request : each.devices) {
      sum += std::int64_t{request.count} * request.compute_permille;
    }
    return sum;
  };
  const auto queue = std::ranges::find(world.queues, name, &QueueSpec::name);
  if (queue == world.queues.end()) return true;
  for (const NamedAmount& limit : queue->limit) {
    const bool gpu = limit.name == "gpu";
    const auto amount = [&](const TaskShape& each) {
      return gpu ? gpus(each) : asked(each, limit.name);
    };
    std::int64_t sum = amount(shape);
    // What a task does not ask for is not refused to it, however much others have of it.
    if (sum == 0) continue;
    for (const Held& task : world.tasks) {
      if (task.queue == name) sum += amount(*task.shape);
    }
    if (sum > limit.amount * (gpu ? 1000 : 1)) return false;
  }
  return true;
}

}  // namespace tutti::oracle
