#include "model/fleet.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/limits.h"

namespace tutti {
namespace {

/// Which of a node's devices new work may have.
std::vector<std::uint8_t> offers_of(std::span<const Device> devices) {
  std::vector<std::uint8_t> offers(devices.size());
  for (std::size_t at = 0; at < devices.size(); ++at) {
    const std::size_t card = devices[at].parent;
    const bool whole = card == Device::no_parent;
    const bool card_offered = whole || (card < devices.size() && offered(devices[card]));
    offers[at] = offered(devices[at]) && card_offered ? 1 : 0;
  }
  for (const Device& device : devices) {
    if (device.parent < devices.size()) offers[device.parent] = 0;
  }
  return offers;
}

}  // namespace

std::string_view to_text(Control control) {
  constexpr std::array<std::string_view, 4> words{"device", "node", "order", "observe"};
  return words[static_cast<std::size_t>(control)];
}

std::optional<NodeIndex> Fleet::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

Result<void> Fleet::admissible(const NodeSpec& spec) const {
  if (spec.name.empty() || spec.name.size() > limits::name_length) {
    return fail(Code::invalid, "a node's name has " + std::to_string(spec.name.size()) +
                                   " characters; 1 to " + std::to_string(limits::name_length) +
                                   " are allowed");
  }
  if (spec.devices.size() > limits::devices_per_node) {
    return fail(Code::limit, "node \"" + spec.name + "\" has " +
                                 std::to_string(spec.devices.size()) + " devices; at most " +
                                 std::to_string(limits::devices_per_node) + " are supported");
  }
  if (nodes_.size() >= limits::nodes && !find(spec.name)) {
    return fail(Code::limit, "the fleet has " + std::to_string(nodes_.size()) + " nodes already");
  }
  if (types_.size() + spec.devices.size() > limits::device_types) {
    return fail(Code::limit,
                "the fleet has " + std::to_string(types_.size()) + " types of devices already");
  }
  for (const DeviceSpec& device : spec.devices) {
    if (device.type.memory_mib >= 0 && device.type.memory_mib <= limits::device_mib) continue;
    return fail(Code::invalid, "node \"" + spec.name + "\": a device has " +
                                   std::to_string(device.type.memory_mib) + " MiB; 0 to " +
                                   std::to_string(limits::device_mib) + " are allowed");
  }
  LaneTable lanes = lanes_;
  for (const NamedAmount& entry : spec.capacity) {
    TRY(lanes.intern(entry.name));
    if (entry.amount >= 0 && entry.amount <= limits::amount) continue;
    return fail(Code::invalid, "node \"" + spec.name + "\": " + entry.name + " is " +
                                   std::to_string(entry.amount) + "; 0 to 2^60 are allowed");
  }
  return {};
}

Fleet::Upsert Fleet::upsert(const NodeSpec& spec) {
  const auto known = find(spec.name);
  const NodeIndex index = known.value_or(NodeIndex(nodes_.size()));
  if (!known) {
    nodes_.emplace_back();
    open_.push_back(0);
    uniform_type_.emplace_back();
    device_begin_.push_back(device_begin_.back());
    by_name_.emplace(spec.name, index);
  }
  Node& node = nodes_[index.value()];
  const bool by_operator = node.cordoned_by_operator;
  const bool draining = node.draining;
  node = {.name = spec.name,
          .pool = intern_pool(spec.pool),
          .labels = spec.labels,
          .taints = spec.taints,
          .stack = spec.stack,
          .capacity = {},
          .cordoned = spec.cordoned || by_operator,
          .cordoned_by_operator = by_operator,
          .draining = draining};
  for (const NamedAmount& entry : spec.capacity) {
    const Lane lane = lane_of(entry.name);
    CHECK(lane.valid(), entry.name);
    node.bounded_pods |= lane == lane::pods;
    node.capacity.set(lane, entry.amount);
  }
  open_[index.value()] = node.open();
  return {index, !known, replace_devices(index, spec.devices)};
}

bool Node::reluctant() const {
  return std::ranges::any_of(
      taints, [](const Taint& taint) { return taint.effect == TaintEffect::prefer_no_schedule; });
}

void Fleet::set_present(NodeIndex node, bool present) {
  nodes_[node.value()].present = present;
  open_[node.value()] = nodes_[node.value()].open();
}

void Fleet::set_health(std::uint32_t row, Health health) {
  devices_[row].health = health;
  const auto next = std::ranges::upper_bound(device_begin_, row);
  const NodeIndex node(static_cast<std::uint64_t>(next - device_begin_.begin() - 1));
  std::ranges::copy(offers_of(devices(node)), offered_.begin() + device_begin(node));
}

void Fleet::set_cordoned(NodeIndex index, bool cordoned, bool draining) {
  Node& node = nodes_[index.value()];
  node.cordoned = cordoned;
  node.cordoned_by_operator = cordoned;
  draining_ += (draining ? 1 : 0) - (node.draining ? 1 : 0);
  node.draining = draining;
  open_[index.value()] = node.open();
}

Lane Fleet::lane_of(std::string_view name) {
  const auto lane = lanes_.intern(name);
  return lane ? *lane : Lane::none();
}

TypeIndex Fleet::intern(const DeviceType& type) {
  const auto found = std::ranges::find(types_, type);
  if (found != types_.end()) return TypeIndex(static_cast<std::uint64_t>(found - types_.begin()));
  types_.push_back(type);
  return TypeIndex(types_.size() - 1);
}

PoolIndex Fleet::intern_pool(std::string_view name) {
  const auto found = std::ranges::find(pools_, name, &Pool::name);
  if (found != pools_.end()) return PoolIndex(static_cast<std::uint64_t>(found - pools_.begin()));
  pools_.push_back({.name = std::string(name)});
  return PoolIndex(pools_.size() - 1);
}

bool Fleet::replace_devices(NodeIndex node, const std::vector<DeviceSpec>& specs) {
  std::vector<Device> fresh;
  fresh.reserve(specs.size());
  for (const DeviceSpec& spec : specs) {
    fresh.push_back(spec.device);
    fresh.back().type = intern(spec.type);
  }
  const std::size_t old_size = devices(node).size();
  std::vector<TypeIndex> types;
  for (const Device& device : fresh) types.push_back(device.type);
  const auto splice = [&](auto& column, const auto& rows) {
    const auto begin = column.begin() + device_begin(node);
    const auto at = column.erase(begin, begin + static_cast<std::ptrdiff_t>(old_size));
    column.insert(at, rows.begin(), rows.end());
  };
  splice(devices_, fresh);
  splice(device_types_, types);
  splice(offered_, offers_of(fresh));
  const bool uniform =
      !types.empty() && std::ranges::count(types, types.front()) == std::ssize(types);
  uniform_type_[node.value()] = uniform ? types.front() : TypeIndex::none();
  for (std::size_t later = node.value() + 1; later < device_begin_.size(); ++later) {
    device_begin_[later] += static_cast<std::uint32_t>(fresh.size() - old_size);
  }
  const bool last = node.value() + 1 == nodes_.size();
  return fresh.size() != old_size && !last;  // At the end, nothing lies behind that could move.
}

}  // namespace tutti
