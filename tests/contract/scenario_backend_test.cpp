/// The backend of scenarios keeps the contract.
#include <algorithm>

#include "sched/test_fleet.h"
#include "sim/scenario_world.h"
#include "tests/contract/backend_contract.h"

namespace tutti::contract::scenario_backend_test {

constexpr Duration slowly = Duration::seconds(60);
constexpr Duration long_enough = Duration::seconds(600);

/// Jobs whose tasks run until they are told to end.
Scenario endless_jobs() {
  Scenario scenario;
  scenario.jobs.resize(64);
  return scenario;
}

class ScenarioWorldOfBackend final : public World {
 public:
  ScenarioWorldOfBackend() : scenario_(endless_jobs()), backend_(scenario_) {}
  ~ScenarioWorldOfBackend() override { EXPECT_EQ(backend_.attempts().violation(), ""); }

  Backend& backend() override { return backend_; }
  std::vector<NodeSpec> nodes() const override {
    return {test::node("n0", {.gpus = 2}), test::node("n1", {.gpus = 2})};
  }
  TaskShape task() const override { return test::task(1000, 1); }

  std::vector<Event> settle() override {
    std::vector<Event> reports;
    const Instant end = now_ + long_enough;
    for (auto due = backend_.next_due(); due && *due <= end; due = backend_.next_due()) {
      set_now(std::max(now_, *due));
      std::ranges::move(backend_.take_due(now_), std::back_inserter(reports));
      if (std::exchange(twice_, false)) backend_.duplicate({});
    }
    set_now(end);
    backend_.set_start({});
    backend_.end_troubles();
    twice_ = false;
    return reports;
  }

  bool make(Trouble trouble, std::span<const TaskId> tasks) override {
    const ScenarioStep about{.tasks = {tasks.begin(), tasks.end()}, .duration = slowly};
    switch (trouble) {
      case Trouble::refused:
        backend_.refuse(about);
        break;
      case Trouble::slow:
        backend_.set_start(slowly);
        break;
      case Trouble::lost:
        backend_.lose(about);
        break;
      case Trouble::late:
        backend_.delay(about);
        break;
      case Trouble::twice:
        twice_ = true;
        break;
      case Trouble::deaf:
        backend_.set_deaf(true);
        break;
    }
    return true;
  }

  void finish(const TaskId& task, std::int32_t exit_code) override {
    EXPECT_TRUE(backend_.finish(task, exit_code));
  }

  std::vector<Running> running(const TaskId& task) const override {
    const std::uint32_t number = backend_.attempts().current(task, now_);
    if (number == 0) return {};
    const Attempt& attempt = *backend_.attempts().find(task, number);
    if (attempt.begins > now_) return {};
    return {{number, attempt.node, attempt.devices}};
  }

 private:
  void set_now(Instant now) {
    now_ = now;
    backend_.set_now(now);
  }

  Scenario scenario_;
  ScenarioBackend backend_;
  Instant now_;
  bool twice_ = false;
};

std::unique_ptr<World> make_world() { return std::make_unique<ScenarioWorldOfBackend>(); }

INSTANTIATE_TEST_SUITE_P(Scenario, BackendContract, testing::Values(make_world));

}  // namespace tutti::contract::scenario_backend_test
