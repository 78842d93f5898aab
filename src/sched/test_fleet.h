/// Small fleets and jobs for unit tests: nodes n0, n1, ... and jobs by number.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/state.h"

namespace tutti::test {

struct NodeShape {
  std::int64_t cpu = 64'000;
  std::int64_t memory = std::int64_t{256} << 30;
  unsigned gpus = 8;
  std::string model = "A100-80G";
};

inline NodeSpec node(const std::string& name, const NodeShape& shape = {}) {
  NodeSpec spec{.name = name, .capacity = {{"cpu", shape.cpu}, {"memory", shape.memory}}};
  const DeviceSpec device{.type = {.model = shape.model, .memory_mib = 81'920}};
  spec.devices.assign(shape.gpus, device);
  return spec;
}

inline TaskShape task(std::int64_t cpu, unsigned gpus, unsigned permille = 1000) {
  TaskShape shape;
  if (cpu > 0) shape.resources = {{"cpu", cpu}};
  if (gpus == 0) return shape;
  DeviceRequest request;
  request.count = static_cast<std::uint16_t>(gpus);
  request.compute_permille = static_cast<std::uint16_t>(permille);
  shape.devices = {request};
  return shape;
}

inline std::shared_ptr<const JobSpec> job(TaskShape shape, unsigned tasks = 1, unsigned min = 0,
                                          const std::string& queue = "default") {
  const RoleSpec role{.name = "worker",
                      .count = tasks,
                      .min = min == 0 ? tasks : min,
                      .alternatives = {std::move(shape)}};
  GangSpec gang{.groups = {{.roles = {role}}}};
  JobSpec spec{.name = "job", .queue = queue};
  spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
  return std::make_shared<const JobSpec>(std::move(spec));
}

/// A State that counts its own time: one second an event.
class World {
 public:
  State state;

  explicit World(unsigned nodes = 0, const NodeShape& shape = {}) {
    for (unsigned at = 0; at < nodes; ++at)
      apply(NodeReported{node("n" + std::to_string(at), shape)});
  }
  void apply(const Event& event) {
    now_.us += 1'000'000;
    state.apply(event, now_);
  }
  JobId submit(std::shared_ptr<const JobSpec> spec) {
    const JobId id(next_++);
    apply(JobSubmitted{id, std::move(spec)});
    return id;
  }

 private:
  Instant now_;
  std::uint64_t next_ = 1;
};

}  // namespace tutti::test
