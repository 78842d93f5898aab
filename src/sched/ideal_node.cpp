#include "sched/ideal_node.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/limits.h"
#include "sched/what_if.h"

namespace tutti {
namespace {

constexpr std::string_view fresh_domain = "new";

void add_amount(std::vector<NamedAmount>& capacity, const std::string& name, std::int64_t amount) {
  const auto at = std::ranges::lower_bound(capacity, name, {}, &NamedAmount::name);
  if (at != capacity.end() && at->name == name) {
    at->amount += amount;
  } else {
    capacity.insert(at, {name, amount});
  }
}

/// Slices stand for themselves, without the card that they were cut from.
void forget_cards(std::vector<DeviceSpec>& devices) {
  std::vector<bool> cut(devices.size());
  for (const DeviceSpec& device : devices) {
    if (device.device.parent < cut.size()) cut[device.device.parent] = true;
  }
  std::size_t at = 0;
  std::erase_if(devices, [&](const DeviceSpec&) { return cut[at++]; });
  for (DeviceSpec& device : devices) device.device.parent = Device::no_parent;
}

/// A node that is described so that tasks can be put on it one by one.
class Ideal {
 public:
  Ideal(const State& state, NodeSpec model) : state_(&state), spec_(std::move(model)) {
    spec_.taints.clear();
    spec_.cordoned = false;
    std::ranges::sort(spec_.capacity, {}, &NamedAmount::name);
    forget_cards(spec_.devices);
    for (DeviceSpec& device : spec_.devices) device.device.health = Health::online;
    had_ = spec_.capacity;
    for (NamedAmount& part : spec_.capacity) part.amount = 0;
  }

  /// Makes room for so many tasks. False when nobody knows such devices.
  bool take(const ShapeRow& row, std::uint32_t tasks) {
    for (const NamedAmount& part : row.spec.resources) {
      add_amount(spec_.capacity, part.name, part.amount * tasks);
    }
    const bool bounded = std::ranges::find(had_, "pods", &NamedAmount::name) != had_.end();
    if (bounded) add_amount(spec_.capacity, "pods", tasks);
    for (std::size_t number = 0; number < row.spec.devices.size(); ++number) {
      if (!add_devices(row, number, tasks)) return false;
    }
    for (const DeviceRequest& request : row.spec.devices) {
      if (!request.closeness.required) continue;
      for (DeviceSpec& device : spec_.devices) device.device.island = device.device.numa = 0;
    }
    select(row.spec);
    for (const StackRequirement& wanted : row.spec.stack) {
      std::erase_if(spec_.stack, [&](const auto& known) { return known.name == wanted.name; });
      spec_.stack.push_back({wanted.name, wanted.op == Operator::less ? "0" : wanted.version});
    }
    for (const TaskAffinity& term : row.spec.affinities) need_domain(term.topology_key);
    for (const Spread& spread : row.spec.spreads) need_domain(spread.topology_key);
    return true;
  }

  void need_domain(const std::string& level) {
    if (level.empty() || level == "host" || spec_.labels.find(level) != nullptr) return;
    spec_.labels.set(level, fresh_domain);
  }

  Unblock fact(std::uint32_t count) {
    for (NamedAmount& part : spec_.capacity) {
      const auto old = std::ranges::find(had_, part.name, &NamedAmount::name);
      if (old != had_.end()) part.amount = std::max(part.amount, old->amount);
    }
    return {.kind = Unblock::Kind::add_nodes, .spec = std::move(spec_), .count = count};
  }

 private:
  /// Labels that match, by the first alternative that contradicts nothing.
  void select(const TaskShape& task) {
    fulfil(task.nodes, spec_.labels);
    for (const Selector& each : task.nodes_any_of) {
      Labels labels = spec_.labels;
      fulfil(each, labels);
      if (!task.nodes.matches(labels) || !each.matches(labels)) continue;
      spec_.labels = std::move(labels);
      return;
    }
  }

  /// Devices that nobody else was promised; more of the same stand close to each other.
  bool add_devices(const ShapeRow& row, std::size_t number, std::uint32_t tasks) {
    const Fleet& fleet = state_->fleet();
    const DeviceType* type = nullptr;
    for (std::size_t at = 0; at < fleet.types().size(); ++at) {
      if (row.hold[at].request != number) continue;
      if (type == nullptr || on_model(fleet.types()[at])) type = &fleet.types()[at];
      if (on_model(fleet.types()[at])) break;
    }
    if (type == nullptr) return false;
    const std::size_t wanted = std::size_t{tasks} * row.spec.devices[number].count;
    if (!own_devices_) {
      own_devices_ = true;
      std::erase_if(spec_.devices, [&](const DeviceSpec& each) { return each.type != *type; });
      if (spec_.devices.size() < wanted) spec_.devices.clear();
    } else if (std::ranges::count(spec_.devices, *type, &DeviceSpec::type) > 0) {
      return grow(*type, wanted);
    }
    const auto there =
        static_cast<std::size_t>(std::ranges::count(spec_.devices, *type, &DeviceSpec::type));
    return there >= wanted || grow(*type, wanted - there);
  }

  bool grow(const DeviceType& type, std::size_t by) {
    if (spec_.devices.size() + by > limits::devices_per_node) return false;
    spec_.devices.insert(spec_.devices.end(), by, DeviceSpec{.type = type, .device = {}});
    return true;
  }

  bool on_model(const DeviceType& type) const {
    return std::ranges::find(spec_.devices, type, &DeviceSpec::type) != spec_.devices.end();
  }

  const State* state_;
  NodeSpec spec_;
  std::vector<NamedAmount> had_;  ///< What the model has.
  bool own_devices_ = false;      ///< The list of devices is what was asked for, not the model's.
};

/// Makes room for the role by its given alternative, or the next one of which somebody knows how.
bool take(Ideal& node, const State& state, const GangShape::Role& role, std::size_t alternative,
          std::uint32_t tasks) {
  const std::size_t count = role.alternatives.size();
  for (std::size_t step = 0; step < count; ++step) {
    Ideal with = node;
    if (!with.take(state.shape(role.alternatives[(alternative + step) % count]), tasks)) continue;
    node = std::move(with);
    return true;
  }
  return false;
}

std::uint32_t wanted(const GangShape& shape, const GangShape::Role& role) {
  return shape.min > 0 ? role.min : 1;
}

/// All new nodes of a gang lie in one new domain of each level that it speaks of.
void move_together(const GangShape& shape, NodeSpec& spec) {
  const auto set = [&](const Closeness& closeness) {
    if (closeness.level.empty() || closeness.level == "host") return;
    spec.labels.set(closeness.level, fresh_domain);
  };
  set(shape.closeness);
  for (const GangShape::Group& group : shape.groups) set(group.closeness);
}

/// The label keys of which the gang's tasks speak; other labels of a new node do not matter.
std::set<std::string> keys_of(const State& state, const GangShape& shape) {
  std::set<std::string> keys{shape.closeness.level};
  const auto add = [&](const Selector& selector) {
    for (const Requirement& each : selector.requirements) keys.insert(each.key);
  };
  for (const GangShape::Group& group : shape.groups) keys.insert(group.closeness.level);
  for (const GangShape::Role& role : shape.roles) {
    for (const ShapeIndex alternative : role.alternatives) {
      const TaskShape& task = state.shape(alternative).spec;
      add(task.nodes);
      for (const Selector& each : task.nodes_any_of) add(each);
      for (const TaskAffinity& term : task.affinities) keys.insert(term.topology_key);
      for (const Spread& spread : task.spreads) keys.insert(spread.topology_key);
    }
  }
  return keys;
}

/// Has the node a device that could serve the task?
bool serves(const State& state, NodeIndex node, const ShapeRow& row) {
  const auto devices = state.fleet().devices(node);
  return std::ranges::any_of(devices, [&](const Device& device) {
    return row.hold[device.type.value()].request < row.spec.devices.size();
  });
}

/// Like the first node that serves some alternative of the role, else like the first of all.
NodeSpec model_of(const State& state, const Site& site, const GangShape& shape,
                  const GangShape::Role& role) {
  if (site.models.empty()) return {};
  NodeIndex model = site.models.front();
  for (const ShapeIndex each : role.alternatives) {
    const auto served = std::ranges::find_if(
        site.models, [&](NodeIndex node) { return serves(state, node, state.shape(each)); });
    if (served == site.models.end()) continue;
    model = *served;
    break;
  }
  NodeSpec spec = description(state, model);
  const bool joins = site.beside.valid();
  const Labels known = state.fleet().node(joins ? site.beside : model).labels;
  const std::set<std::string> keys = keys_of(state, shape);
  spec.labels = {};
  for (const Label& label : known.all()) {
    const bool names_the_node = label.value == state.fleet().node(model).name;
    if (keys.contains(label.key) && !names_the_node) spec.labels.set(label.key, label.value);
  }
  if (!joins) move_together(shape, spec);
  return spec;
}

}  // namespace

std::vector<Unblock> ideal_nodes(const State& state, GangIndex index, std::size_t alternative,
                                 const Site& site) {
  const GangShape& shape = state.gang_shape(state.gangs()[index].shape);
  std::vector<Unblock> out;
  for (const GangShape::Role& role : shape.roles) {
    if (wanted(shape, role) == 0) continue;
    Ideal node(state, model_of(state, site, shape, role));
    if (!take(node, state, role, alternative, 1)) return {};
    out.push_back(node.fact(wanted(shape, role)));
  }
  return out;
}

std::vector<Unblock> ideal_node(const State& state, GangIndex index, std::size_t alternative,
                                const Site& site) {
  const GangShape& shape = state.gang_shape(state.gangs()[index].shape);
  Ideal node(state, model_of(state, site, shape, shape.roles.front()));
  for (const GangShape::Role& role : shape.roles) {
    const std::uint32_t tasks = wanted(shape, role);
    if (tasks > 0 && !take(node, state, role, alternative, tasks)) return {};
  }
  return {node.fact(1)};
}

void fulfil(const Selector& selector, Labels& labels) {
  for (const Requirement& requirement : selector.requirements) {
    if (Selector{{requirement}}.matches(labels)) continue;
    std::int64_t bound = 0;
    switch (requirement.op) {
      case Operator::in:
        if (!requirement.values.empty()) labels.set(requirement.key, requirement.values.front());
        break;
      case Operator::not_in:
      case Operator::does_not_exist:
        labels.erase(requirement.key);
        break;
      case Operator::exists:
        labels.set(requirement.key, fresh_domain);
        break;
      case Operator::greater:
      case Operator::less: {
        if (requirement.values.empty()) break;
        const std::string& text = requirement.values.front();
        std::from_chars(text.data(), text.data() + text.size(), bound);
        labels.set(requirement.key,
                   std::to_string(requirement.op == Operator::less ? bound - 1 : bound + 1));
      }
    }
  }
}

std::int64_t distance(const TaskClass& task, const Reject& reject) {
  std::int64_t asked = 0;
  std::int64_t farther = 0;
  if (reject.reason == Reason::devices_busy) {
    asked = task.spec().devices[reject.detail].count;
  } else if (reject.reason == Reason::device_type_missing) {
    // It never will have enough, so that all who might are nearer.
    asked = task.spec().devices[reject.detail].count;
    if (reject.shortfall == asked) return INT64_MAX;
    farther = INT64_MAX / 2;
  } else if (reject.reason == Reason::lane_short) {
    for (const Resources::Amount& part : task.row->request) {
      if (part.lane.value() == reject.detail) asked = part.amount;
    }
  }
  if (asked == 0) return INT64_MAX;
  return farther +
         static_cast<std::int64_t>(static_cast<__int128>(reject.shortfall) * 1000 / asked);
}

}  // namespace tutti
