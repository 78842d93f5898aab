/// Small nodes and jobs, and a State that is verified after every event: for the tests of model/.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/state.h"

namespace tutti::test {

inline NodeSpec node(const std::string& name, unsigned gpus = 2) {
  NodeSpec spec{.name = name, .capacity = {{"cpu", 8000}, {"memory", 1000}}};
  spec.devices.assign(gpus, {.type = {.model = "T4", .memory_mib = 100}, .device = {}});
  return spec;
}

inline TaskShape shape(std::int64_t cpu = 1000, std::uint16_t gpus = 1) {
  TaskShape out{.resources = {{"cpu", cpu}}};
  if (gpus > 0) out.devices = {{.where = {}, .count = gpus}};
  return out;
}

inline JobSpec job(std::uint32_t tasks = 2, TaskShape of = shape()) {
  RoleSpec role{.name = "worker", .count = tasks, .min = tasks, .alternatives = {std::move(of)}};
  JobSpec spec{.name = "job"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  return spec;
}

/// A State with nodes n0 and n1 that is verified after every event.
class StateTest : public testing::Test {
 protected:
  StateTest() {
    apply(NodeReported{node("n0")});
    apply(NodeReported{node("n1")});
  }

  void apply(const Event& event) {
    const auto admitted = state_.admissible(event);
    ASSERT_TRUE(admitted.has_value()) << admitted.error().text();
    now_.us += 1000;
    state_.apply(event, now_);
    ASSERT_EQ(state_.verify(), "") << name_of(event);
  }
  std::string refusal(const Event& event) const {
    const auto admitted = state_.admissible(event);
    return admitted ? "" : admitted.error().what;
  }
  JobId submit(JobSpec spec = job()) {
    const JobId id(next_job_++);
    apply(JobSubmitted{id, std::make_shared<const JobSpec>(std::move(spec))});
    return id;
  }
  Action placement(TaskId id, std::uint64_t node, const std::vector<unsigned>& devices) const {
    const Task& task = state_.tasks()[state_.find(id)];
    Action action{
        .task = id, .attempt = task.attempt + 1, .shape = task.shape, .node = NodeIndex(node)};
    for (const unsigned device : devices) action.devices.add(device);
    return action;
  }
  void place(TaskId id, std::uint64_t node, const std::vector<unsigned>& devices) {
    apply(PlanDecided{{placement(id, node, devices)}});
  }
  void evict(TaskId id, std::uint32_t attempt) {
    apply(PlanDecided{{{.kind = ActionKind::evict, .task = id, .attempt = attempt}}});
  }
  TaskPhase phase(TaskId id) const { return state_.tasks()[state_.find(id)].phase; }
  std::int64_t free_cpu(std::uint64_t node) const {
    return state_.usage().free(NodeIndex(node), lane::cpu);
  }
  unsigned open(std::uint32_t row) const { return state_.usage().open_permille()[row]; }

  State state_;
  Instant now_;
  std::uint64_t next_job_ = 0;
};

}  // namespace tutti::test
