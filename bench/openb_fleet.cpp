#include "bench/openb_fleet.h"

#include <algorithm>
#include <array>
#include <string>

#include "policy/test_openb.h"

namespace tutti::bench {
namespace {

using test::openb_shapes;
using test::OpenbShape;

constexpr std::array<std::string_view, 5> models{"G2", "T4", "P100", "V100M16", "V100M32"};
constexpr std::size_t zones = 8;

TaskShape shape_of(const OpenbShape& openb) {
  TaskShape shape;
  if (openb.cpu_milli > 0) shape.resources = {{"cpu", openb.cpu_milli}};
  if (openb.gpus == 0) return shape;
  DeviceRequest request;
  request.count = static_cast<std::uint16_t>(openb.gpus);
  request.compute_permille = static_cast<std::uint16_t>(openb.permille);
  shape.devices = {request};
  return shape;
}

std::shared_ptr<const JobSpec> job_of(const std::string& name, TaskShape shape) {
  GangSpec gang{.groups = {{.roles = {{.name = "task", .alternatives = {std::move(shape)}}}}}};
  gang.groups.front().roles.front().labels =
      gang.groups.front().roles.front().alternatives.front().labels;
  JobSpec spec{.name = name};
  spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
  return std::make_shared<const JobSpec>(std::move(spec));
}

/// The same shape as part of an app whose tasks avoid each other and spread over the zones.
TaskShape in_app(TaskShape shape, const std::string& app) {
  const Selector tasks{.requirements = {{.key = "app", .values = {app}}}};
  shape.labels.set("app", app);
  shape.affinities = {{.tasks = tasks, .topology_key = "host", .namespaces = {}, .anti = true}};
  shape.spreads = {{.tasks = tasks, .topology_key = "zone"}};
  return shape;
}

}  // namespace

NodeSpec openb_node(std::size_t number, std::size_t nodes) {
  NodeSpec node{.name = "node-" + std::to_string(number),
                .capacity = {{"cpu", 128'000}, {"memory", std::int64_t{768} << 30}}};
  node.labels.set("zone", "zone-" + std::to_string(number * zones / nodes));
  const DeviceSpec device{.type = {.model = std::string(models[number % models.size()])}};
  node.devices.assign(devices_per_node, device);
  return node;
}

OpenbTasks::OpenbTasks(unsigned apps) {
  std::uint32_t sum = 0;
  for (const OpenbShape& openb : openb_shapes) {
    mix_.entries.push_back({shape_of(openb), static_cast<std::uint32_t>(openb.pods)});
    plain_.push_back(job_of("openb", shape_of(openb)));
    sum += static_cast<std::uint32_t>(openb.pods);
    cumulative_.push_back(sum);
  }
  Prng prng(42);
  for (unsigned app = 0; app < apps; ++app) {
    const std::string name = "app-" + std::to_string(app);
    apps_.push_back(job_of(name, in_app(shape_of(openb_shapes[draw_shape(prng)]), name)));
  }
}

std::size_t OpenbTasks::draw_shape(Prng& prng) const {
  const std::uint32_t draw = prng.below(cumulative_.back());
  return static_cast<std::size_t>(std::ranges::upper_bound(cumulative_, draw) -
                                  cumulative_.begin());
}

std::shared_ptr<const JobSpec> OpenbTasks::draw(Prng& prng) const {
  if (!apps_.empty() && prng.below(5) == 0) {
    return apps_[prng.below(static_cast<std::uint32_t>(apps_.size()))];
  }
  return plain_[draw_shape(prng)];
}

}  // namespace tutti::bench
