/// The backend of chaos runs keeps the contract.
#include "sched/test_fleet.h"
#include "sim/world.h"
#include "tests/contract/backend_contract.h"

namespace tutti::contract::sim_backend_test {

/// Longer than any launch, signal or report takes, and shorter than a task.
constexpr Duration long_enough = Duration::seconds(600);

class SimWorld final : public World {
 public:
  SimWorld() : faults_(1), backend_(queue_, faults_) {
    calm();
    backend_.set_length(Duration::seconds(1'000'000'000));
  }
  ~SimWorld() override { EXPECT_EQ(backend_.attempts().violation(), ""); }

  Backend& backend() override { return backend_; }
  std::vector<NodeSpec> nodes() const override {
    return {test::node("n0", {.gpus = 2}), test::node("n1", {.gpus = 2})};
  }
  TaskShape task() const override { return test::task(1000, 1); }

  std::vector<Event> settle() override {
    std::vector<Event> reports;
    const Instant end = now_ + long_enough;
    while (!queue_.empty() && queue_.next_at() <= end) {
      backend_.set_now(queue_.next_at());
      reports.push_back(queue_.take());
    }
    now_ = end;
    backend_.set_now(now_);
    calm();
    return reports;
  }

  bool make(Trouble trouble, std::span<const TaskId>) override {
    switch (trouble) {
      case Trouble::refused:
        faults_.set(Fault::launch_refused, 1000);
        break;
      case Trouble::slow:
        faults_.set(Fault::launch_slow, 1000);
        break;
      case Trouble::lost:
        for (const Fault fault : {Fault::start_lost, Fault::exit_lost, Fault::refusal_lost}) {
          faults_.set(fault, 1000);
        }
        break;
      case Trouble::late:
        faults_.set(Fault::report_late, 500);
        break;
      case Trouble::twice:
        faults_.set(Fault::report_twice, 1000);
        faults_.set(Fault::order_twice, 1000);
        break;
      case Trouble::deaf:
        faults_.set(Fault::order_lost, 1000);
        break;
    }
    return true;
  }

  void finish(const TaskId& task, std::int32_t exit_code) override {
    backend_.finish(task, exit_code);
  }

  std::vector<Running> running(const TaskId& task) const override {
    const std::uint32_t number = backend_.attempts().current(task, now_);
    if (number == 0) return {};
    const Attempt& attempt = *backend_.attempts().find(task, number);
    if (attempt.begins > now_) return {};
    return {{number, attempt.node, attempt.devices}};
  }

 private:
  void calm() {
    for (std::size_t fault = 0; fault < fault_names.size(); ++fault) {
      faults_.set(static_cast<Fault>(fault), 0);
    }
  }

  EventQueue queue_;
  Faults faults_;
  SimBackend backend_;
  Instant now_;
};

std::unique_ptr<World> make_world() { return std::make_unique<SimWorld>(); }

// It knows from the start when a task will end by itself, and must not say so of one that it
// stopped.
TEST(SimBackendTest, WhatWasStoppedDoesNotEndOnceMore) {
  EventQueue queue;
  Faults faults(1);
  faults.heal();
  SimBackend backend(queue, faults);
  State state;
  state.apply(NodeReported{test::node("n0")}, {});
  const TaskId task{JobId(0), 0};
  backend.execute({.task = task, .attempt = 1, .node = NodeIndex(0)}, state);
  backend.set_now(Instant{} + Duration::seconds(1));
  backend.execute({.kind = ActionKind::evict, .task = task, .attempt = 1}, state);
  Reports reports;
  while (!queue.empty()) reports.add(queue.take());
  EXPECT_EQ(reports.of(task, 1), (Heard{.started = true, .exit_code = Attempt::terminated}));
}

INSTANTIATE_TEST_SUITE_P(Sim, BackendContract, testing::Values(make_world));

}  // namespace tutti::contract::sim_backend_test
