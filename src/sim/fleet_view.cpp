#include "sim/fleet_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/check.h"
#include "base/prng.h"
#include "dialect/mentions.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::uint64_t node_order_stream = 1;

/// A job that names what the fleet has not.
std::unexpected<Error> missing(const Workload& workload, const JobSpec& job, Mention::Of of,
                               std::string_view name, std::span<const std::string_view> known) {
  const std::string_view noun = of == Mention::Of::queue ? "queue" : "level";
  const std::string place = place_of(workload.mentions, of, name);
  return fail(
      Error{Code::not_found,
            fmt::format("job {}: the fleet has no {} {}", quote(job.name), noun, quote(name)),
            place.empty() ? workload.name : place, did_you_mean(name, known)});
}

/// The queues of the fleet, or those that jobs name.
Result<std::vector<QueueSpec>> queues_for(const FleetFile& fleet, const Workload& workload) {
  std::vector<QueueSpec> queues = fleet.queues;
  std::set<std::string_view> known{"default"};
  std::vector<std::string_view> names;
  for (const QueueSpec& queue : fleet.queues) {
    if (known.insert(queue.name).second) names.push_back(queue.name);
  }
  for (const Submission& job : workload.jobs) {
    const std::string& name = job.spec->queue;
    if (known.contains(name)) continue;
    if (!fleet.queues.empty()) {
      return missing(workload, *job.spec, Mention::Of::queue, name, names);
    }
    known.insert(name);
    queues.push_back({.name = name, .limit = {}, .guarantee = {}});
  }
  return queues;
}

/// Levels that jobs name must be there: a misspelt one would never be found, or be ignored. A fleet
/// without a topology can be asked what becomes of jobs that want one.
Result<void> check_levels(const FleetFile& fleet, const Workload& workload) {
  if (fleet.trees.empty()) return {};
  std::vector<std::string_view> known{"host"};
  for (const TreeSpec& tree : fleet.trees) {
    known.insert(known.end(), tree.levels.begin(), tree.levels.end());
  }
  const auto check = [&](const JobSpec& job, const Closeness& wanted) -> Result<void> {
    if (wanted.level.empty() || std::ranges::find(known, wanted.level) != known.end()) return {};
    return missing(workload, job, Mention::Of::level, wanted.level, known);
  };
  for (const Submission& job : workload.jobs) {
    for (const auto& gang : job.spec->gangs) {
      TRY(check(*job.spec, gang->closeness));
      for (const GroupSpec& group : gang->groups) TRY(check(*job.spec, group.closeness));
    }
  }
  return {};
}

std::uint32_t free_percent(const State& state, NodeIndex node, Lane lane) {
  const std::int64_t capacity = state.fleet().node(node).capacity.get(lane);
  if (capacity <= 0) return 100;
  const std::int64_t free = std::clamp<std::int64_t>(state.usage().free(node, lane), 0, capacity);
  return static_cast<std::uint32_t>(static_cast<double>(free) * 100 /
                                    static_cast<double>(capacity));
}

}  // namespace

std::uint32_t free_permille(const State& state, std::uint32_t row) {
  const std::int64_t memory =
      state.fleet().types()[state.fleet().device_type(row).value()].memory_mib;
  const std::int64_t of_memory =
      memory > 0 ? std::int64_t{state.usage().used_mib(row)} * DeviceRequest::whole / memory : 0;
  const std::int64_t used = std::max<std::int64_t>(state.usage().used_permille(row), of_memory);
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(DeviceRequest::whole - used, 0, DeviceRequest::whole));
}

std::int64_t gpu_milli_of(const FleetFile& fleet) {
  std::int64_t sum = 0;
  for (const NodeSpec& node : fleet.nodes) {
    sum += static_cast<std::int64_t>(node.devices.size()) * DeviceRequest::whole;
  }
  return sum;
}

std::string_view device_word(const FleetFile& fleet) {
  const bool all_gpus = std::ranges::all_of(fleet.nodes, [](const NodeSpec& node) {
    return std::ranges::all_of(
        node.devices, [](const DeviceSpec& device) { return device.type.kind == DeviceKind::gpu; });
  });
  return all_gpus ? "GPU" : "accelerator";
}

Result<void> check_names(const FleetFile& fleet, const Workload& workload) {
  TRY(check_levels(fleet, workload));
  TRY(queues_for(fleet, workload));
  return {};
}

Result<std::vector<Event>> fleet_events(const FleetFile& fleet, const Workload& workload,
                                        std::optional<std::uint64_t> seed) {
  TRY(check_levels(fleet, workload));
  std::vector<const NodeSpec*> nodes;
  for (const NodeSpec& node : fleet.nodes) nodes.push_back(&node);
  if (seed) {
    Prng prng(*seed, node_order_stream);
    shuffle(std::span(nodes), prng);
  }
  std::vector<Event> events;
  if (!fleet.trees.empty()) events.emplace_back(TreesDeclared{fleet.trees});
  for (const NodeSpec* node : nodes) events.emplace_back(NodeReported{*node});
  for (QueueSpec& queue : TRY(queues_for(fleet, workload))) {
    events.emplace_back(QueueSet{std::move(queue)});
  }
  events.emplace_back(MixSet{workload.mix});
  return events;
}

Report::Fleet describe_fleet(const FleetFile& fleet) {
  Report::Fleet out{.name = fleet.name,
                    .nodes = static_cast<std::uint32_t>(fleet.nodes.size()),
                    .all_gpus = device_word(fleet) == "GPU"};
  std::map<std::string_view, Report::Model> models;
  for (const NodeSpec& node : fleet.nodes) {
    out.gpus += static_cast<std::uint32_t>(node.devices.size());
    std::set<std::string_view> here;
    for (const DeviceSpec& device : node.devices) {
      Report::Model& model = models[device.type.model];
      ++model.gpus;
      if (here.insert(device.type.model).second) ++model.nodes;
    }
  }
  std::map<std::string_view, std::int32_t> rows;
  for (auto& [name, model] : models) {
    model.model = std::string(name);
    rows[name] = static_cast<std::int32_t>(out.models.size());
    out.models.push_back(model);
  }
  for (const NodeSpec& node : fleet.nodes) {
    if (node.cordoned) {
      out.closed_nodes.push_back(static_cast<std::uint32_t>(out.node_names.size()));
    }
    out.node_names.push_back(node.name);
    out.node_models.push_back(node.devices.empty() ? -1 : rows[node.devices.front().type.model]);
    out.node_devices.push_back(static_cast<std::uint32_t>(node.devices.size()));
  }
  return out;
}

std::vector<Report::Left> left_by_model(const State& state) {
  std::map<std::string_view, Report::Left> models;
  const Fleet& fleet = state.fleet();
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    const NodeIndex node(at);
    for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
      Report::Left& left = models[fleet.types()[fleet.device_type(row).value()].model];
      ++left.gpus;
      if (fleet.open(node) && fleet.offered(row))
        left.unallocated += free_permille(state, row) / 1000.0;
    }
  }
  std::vector<Report::Left> out;
  for (auto& [name, left] : models) {
    left.model = std::string(name);
    out.push_back(left);
  }
  return out;
}

Report::NodeMap node_map(const FleetFile& fleet, const State& state) {
  Report::NodeMap map;
  for (const NodeSpec& spec : fleet.nodes) {
    const auto node = state.fleet().find(spec.name);
    CHECK(node.has_value(), spec.name);
    map.cpu_free_percent.push_back(free_percent(state, *node, lane::cpu));
    map.memory_free_percent.push_back(free_percent(state, *node, lane::memory));
    for (std::uint32_t row = state.fleet().device_begin(*node);
         row < state.fleet().device_end(*node); ++row) {
      // Nobody can have a device that is not offered.
      map.device_free_permille.push_back(state.fleet().offered(row) ? free_permille(state, row)
                                                                    : 0);
    }
  }
  return map;
}

}  // namespace tutti
