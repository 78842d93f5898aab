/// What becomes of the fleet and of queues.
#include <algorithm>

#include "model/device_report.h"
#include "model/state_apply.h"

namespace tutti {

// --- The fleet ----------------------------------------------------------------------------------

void StateApply::node_changed(NodeIndex node) {
  state_.usage_.reopen(state_.fleet_, node);
  changed(Change::Kind::node_static, node.value());
}

void StateApply::fleet_grew() {
  for (ShapeRow& row : state_.shapes_) state_.resolve(row);
  changed(Change::Kind::fleet, 0);
}

template <class Visit>
void StateApply::each_task_on(NodeIndex node, Visit&& visit) {
  for (std::size_t at = 0; at < state_.tasks_.size(); ++at) {
    const TaskIndex index(at);
    Task& task = state_.tasks_[index];
    if (task.gang.valid() && holds(task.phase) && task.node == node) visit(index, task);
  }
}

namespace {

std::vector<KnownDevice> known_devices(const State& state, NodeIndex node) {
  const Fleet& fleet = state.fleet();
  std::vector<KnownDevice> out;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    const Device& device = fleet.device(row);
    out.push_back(
        {.spec = {.type = fleet.types()[device.type.value()], .device = device},
         .held = state.usage().used_permille(row) > 0 || state.usage().used_mib(row) > 0});
  }
  return out;
}

bool same_types(const Fleet& fleet, std::span<const Device> devices,
                const std::vector<DeviceSpec>& specs) {
  return std::ranges::equal(devices, specs, [&](const Device& device, const DeviceSpec& spec) {
    return fleet.types()[device.type.value()] == spec.type;
  });
}

}  // namespace

void StateApply::operator()(const NodeReported& event) {
  Fleet& fleet = state_.fleet_;
  const auto known = fleet.find(event.node.name);
  NodeSpec spec = event.node;
  Resources old_capacity;
  bool old_bounded = true;
  std::vector<TaskIndex> held;
  std::vector<std::uint32_t> old_begin;
  bool retyped = false;
  bool was_reluctant = false;
  if (known) {
    const auto devices = fleet.devices(*known);
    spec.devices = numbered(spec.devices, known_devices(state_, *known));
    old_capacity = fleet.node(*known).capacity;
    was_reluctant = fleet.node(*known).reluctant();
    old_bounded = fleet.node(*known).bounded_pods;
    if (devices.size() != spec.devices.size()) old_begin = fleet.device_offsets();
    // What tasks hold of a card depends on its type.
    retyped = !same_types(fleet, devices, spec.devices);
    if (retyped) {
      each_task_on(*known, [&](TaskIndex index, const Task& task) {
        held.push_back(index);
        state_.usage_.release(fleet, task.shape, state_.shape(task.shape), *known, task.devices);
      });
    }
  }
  const std::size_t types = fleet.types().size();
  const std::size_t lanes = fleet.lanes().size();
  const Fleet::Upsert done = fleet.upsert(spec);
  const bool moved = done.added || done.devices_moved || fleet.types().size() != types ||
                     fleet.lanes().size() != lanes;
  // Policies may have read how much there is of what, and whether any node wants to be spared.
  const bool other = retyped || !(fleet.node(done.node).capacity == old_capacity) ||
                     was_reluctant != fleet.node(done.node).reluctant();
  if (moved || other) {
    state_.usage_.resize(fleet, done.devices_moved ? std::span<const std::uint32_t>(old_begin)
                                                   : std::span<const std::uint32_t>{});
    fleet_grew();
  }
  state_.usage_.recapacitate(fleet, done.node, old_capacity, old_bounded);
  for (const TaskIndex index : held) {
    const Task& task = state_.tasks_[index];
    state_.usage_.hold(fleet, task.shape, state_.shape(task.shape), done.node, task.devices);
  }
  node_changed(done.node);
}

void StateApply::operator()(const NodeLost& event) {
  const auto node = state_.fleet_.find(event.node);
  if (!node || !state_.fleet_.node(*node).present) return;
  state_.fleet_.set_present(*node, false);
  std::vector<TaskIndex> lost;
  each_task_on(*node, [&](TaskIndex index, const Task&) { lost.push_back(index); });
  for (const TaskIndex task : lost) leave_stopped(task);
  node_changed(*node);
}

void StateApply::operator()(const NodeCordoned& event) {
  const auto node = state_.fleet_.find(event.node);
  if (!node) return;
  state_.fleet_.set_cordoned(*node, event.cordoned, event.drain);
  if (event.drain) {
    each_task_on(*node, [&](TaskIndex, const Task& task) {
      changed(Change::Kind::gang, task.gang.value());
    });
  }
  node_changed(*node);
}

void StateApply::operator()(const DeviceHealthChanged& event) {
  const auto node = state_.fleet_.find(event.node);
  if (!node || event.ordinal >= state_.fleet_.devices(*node).size()) return;
  state_.fleet_.set_health(state_.fleet_.device_begin(*node) + event.ordinal, event.health);
  node_changed(*node);
}

void StateApply::operator()(const TreesDeclared& event) {
  state_.fleet_.set_trees(event.trees);
  changed(Change::Kind::fleet, 0);
}

void StateApply::operator()(const QueueSet& event) {
  const auto known = state_.find_queue(event.queue.name);
  const QueueIndex index = known.value_or(QueueIndex(state_.queues_.size()));
  if (!known) {
    state_.queues_.emplace_back();
    state_.queue_usage_.emplace_back();
    state_.queue_by_name_.emplace(event.queue.name, index);
  }
  const std::size_t lanes = state_.fleet_.lanes().size();
  Queue& queue = state_.queues_[index.value()];
  queue = {.spec = event.queue, .parent = queue.parent, .limit = {}};
  for (const NamedAmount& entry : event.queue.limit) {
    if (entry.name == "gpu") {
      queue.gpu_milli_limit = entry.amount * DeviceRequest::whole;
      continue;
    }
    const Lane lane = state_.fleet_.lane_of(entry.name);
    if (!lane.valid()) continue;
    if (queue.limit.size() <= lane.value()) queue.limit.resize(lane.value() + 1, -1);
    queue.limit[lane.value()] = entry.amount;
  }
  if (state_.fleet_.lanes().size() != lanes) {
    state_.usage_.resize(state_.fleet_, {});
    fleet_grew();
  }
  if (!known) link_queue(index);
  changed(Change::Kind::queue, index.value());
}

namespace {

void add(QueueUsage& to, const QueueUsage& part) {
  if (to.lanes.size() < part.lanes.size()) to.lanes.resize(part.lanes.size());
  for (std::size_t at = 0; at < part.lanes.size(); ++at) to.lanes[at] += part.lanes[at];
  to.gpu_milli += part.gpu_milli;
}

}  // namespace

/// A new queue may stand between others, and then counts what is below it. O(queues below it).
void StateApply::link_queue(QueueIndex index) {
  Queue& queue = state_.queues_[index.value()];
  const std::string& name = queue.spec.name;
  for (std::string_view path = name; !queue.parent.valid() && path.find('/') != path.npos;) {
    path = path.substr(0, path.rfind('/'));
    queue.parent = state_.find_queue(path).value_or(QueueIndex{});
  }
  const std::string below = name + "/";
  for (auto at = state_.queue_by_name_.lower_bound(below);
       at != state_.queue_by_name_.end() && at->first.starts_with(below); ++at) {
    Queue& child = state_.queues_[at->second.value()];
    if (child.parent != queue.parent) continue;  // It has a nearer one.
    child.parent = index;
    add(state_.queue_usage_[index.value()], state_.queue_usage_[at->second.value()]);
  }
}

}  // namespace tutti
