/// The part of the contract in which a real engine gives the orders and hears the reports.
#include <algorithm>

#include "engine/engine.h"
#include "policy/registry.h"
#include "sim/checkers.h"
#include "tests/contract/backend_contract.h"

namespace tutti::contract::backend_engine {

/// An engine on one world, in steps of a second.
class EngineRun {
 public:
  explicit EngineRun(std::unique_ptr<World> world)
      : world_(std::move(world)),
        factory_(*builtin_policy("pack")),
        engine_(journal_, world_->backend(), factory_) {
    for (const NodeSpec& node : world_->nodes()) step({NodeReported{node}});
  }

  World& world() { return *world_; }
  const State& state() const { return engine_.state(); }
  void reconcile() { engine_.reconcile(); }

  /// Actions that were decided.
  std::size_t step(const std::vector<Event>& inbox) {
    now_ = now_ + Duration::seconds(1);
    const auto done = engine_.step(inbox, now_);
    EXPECT_TRUE(done.has_value() && done->refused.empty());
    EXPECT_EQ(check_invariants(state(), {.jobs_alive = state().live_jobs()}), "");
    return done ? done->plan.actions.size() : 0;
  }
  /// The engine hears what there is to hear, and asks for what it has not heard, until it is quiet.
  void settle() {
    for (unsigned quiet = 0; quiet < 2;) {
      const std::vector<Event> reports = world_->settle();
      history_.insert(history_.end(), reports.begin(), reports.end());
      quiet = reports.empty() ? quiet + 1 : 0;
      step(reports);
      reconcile();
    }
  }
  /// A job of so many tasks that start together.
  void submit(unsigned tasks) {
    const RoleSpec role{
        .name = "task", .count = tasks, .min = tasks, .alternatives = {world_->task()}};
    JobSpec spec{.name = "job"};
    spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
    step({JobSubmitted{JobId(next_job_++), std::make_shared<const JobSpec>(std::move(spec))}});
  }

  std::vector<TaskId> tasks(TaskPhase phase) const {
    std::vector<TaskId> out;
    for (std::size_t at = 0; at < state().tasks().size(); ++at) {
      const Task& task = state().tasks()[TaskIndex(at)];
      if (task.gang.valid() && task.phase == phase) out.push_back(state().id_of(TaskIndex(at)));
    }
    return out;
  }
  std::vector<TaskId> tasks() const {
    std::vector<TaskId> out = tasks(TaskPhase::running);
    for (const TaskPhase phase : {TaskPhase::pending, TaskPhase::assigned, TaskPhase::stopping}) {
      const std::vector<TaskId> more = tasks(phase);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  const std::vector<Event>& history() const { return history_; }

  /// All of State but the time and the number of events.
  std::string picture() const {
    std::string out;
    for (std::size_t at = 0; at < state().tasks().size(); ++at) {
      const Task& task = state().tasks()[TaskIndex(at)];
      if (!task.gang.valid()) continue;
      out += to_string(state().id_of(TaskIndex(at))) + " " + std::string(to_text(task.phase)) +
             " attempt " + std::to_string(task.attempt);
      if (task.node.valid()) out += " on " + state().fleet().node(task.node).name + ":";
      for (const std::uint64_t word : task.devices.words()) out += " " + std::to_string(word);
      out += "\n";
    }
    return out;
  }
  /// Does the world run what the engine believes to run?
  void expect_true() const {
    for (const TaskId& id : tasks(TaskPhase::running)) {
      const std::vector<World::Running> there = world_->running(id);
      const Task& task = state().tasks()[state().find(id)];
      EXPECT_EQ(there, std::vector{(World::Running{
                           task.attempt, state().fleet().node(task.node).name, task.devices})});
    }
  }

 private:
  std::unique_ptr<World> world_;
  NullJournal journal_;
  RecipeFactory factory_;
  Engine engine_;
  Instant now_;
  std::uint64_t next_job_ = 0;
  std::vector<Event> history_;
};

/// Jobs come and end; trouble comes before every step.
class Story {
 public:
  Story(EngineRun& run, std::optional<Trouble> trouble) : run_(run), trouble_(trouble) {}

  static constexpr unsigned chapters = 12;

  void tell(unsigned chapter) {
    bring_trouble();
    if (chapter < 6) run_.submit(1 + chapter % 2);
    run_.settle();
    bring_trouble();
    const std::vector<TaskId> running = run_.tasks(TaskPhase::running);
    if (chapter == 4 && !running.empty()) run_.step({JobCancelled{running.back().job}});
    if (chapter != 4 && !running.empty()) run_.world().finish(running.front(), 0);
    run_.settle();
  }

 private:
  void bring_trouble() {
    if (trouble_) run_.world().make(*trouble_, run_.tasks());
  }

  EngineRun& run_;
  std::optional<Trouble> trouble_;
};

TEST_P(BackendContract, AnEngineGetsItsWorkDoneWhateverHappens) {
  for (const Trouble trouble : troubles) {
    SCOPED_TRACE("trouble " + std::to_string(static_cast<int>(trouble)));
    EngineRun run(GetParam()());
    for (unsigned chapter = 0; chapter < Story::chapters; ++chapter) {
      Story(run, trouble).tell(chapter);
      run.expect_true();
    }
    EXPECT_EQ(run.state().live_jobs(), 0U) << run.picture();
    EXPECT_TRUE(run.tasks().empty());
  }
}

// The trouble that an engine should not notice in the end: what it decides is the same.
TEST_P(BackendContract, WhatComesLateOrTwiceOrWasLostMakesNoDifference) {
  for (const Trouble trouble :
       {Trouble::slow, Trouble::lost, Trouble::late, Trouble::twice, Trouble::deaf}) {
    SCOPED_TRACE("trouble " + std::to_string(static_cast<int>(trouble)));
    EngineRun calm(GetParam()());
    EngineRun troubled(GetParam()());
    for (unsigned chapter = 0; chapter < Story::chapters; ++chapter) {
      Story(calm, std::nullopt).tell(chapter);
      Story(troubled, trouble).tell(chapter);
      ASSERT_EQ(troubled.picture(), calm.picture()) << "chapter " << chapter;
    }
  }
}

TEST_P(BackendContract, OldReportsChangeNothing) {
  EngineRun run(GetParam()());
  for (unsigned chapter = 0; chapter < 8; ++chapter) {
    Story(run, Trouble::refused).tell(chapter);
    std::vector<Event> again = run.history();
    std::ranges::reverse(again);
    const std::string before = run.picture();
    EXPECT_EQ(run.step(again), 0U) << "chapter " << chapter;
    EXPECT_EQ(run.picture(), before);
  }
  EXPECT_GT(run.history().size(), 12U);
}

TEST_P(BackendContract, AnEngineThatDiedBeforeItsOrdersWereSentSendsThemAgain) {
  EngineRun run(GetParam()());
  const TaskId first{JobId(0), 0};
  if (!run.world().make(Trouble::deaf, std::array{first})) {
    GTEST_SKIP() << "missing: a way to lose orders to this backend";
  }
  run.submit(1);
  run.step(run.world().settle());
  EXPECT_EQ(run.tasks(TaskPhase::assigned).size(), 1U);
  EXPECT_TRUE(run.world().running(first).empty());
  run.reconcile();
  run.step(run.world().settle());
  EXPECT_EQ(run.tasks(TaskPhase::running).size(), 1U);
  EXPECT_EQ(run.world().running(first).at(0).attempt, 1U);
}

// Left over by an engine that is forgotten, or by one that knew of more.
TEST_P(BackendContract, AnEngineStopsWhatItDoesNotWant) {
  EngineRun run(GetParam()());
  run.submit(1);
  run.settle();
  const TaskId mine{JobId(0), 0};
  const TaskId stranger{JobId(1), 0};
  Action order{.task = stranger, .attempt = 1, .node = NodeIndex(1), .devices = {}};
  order.devices.add(1);
  run.world().backend().execute(order, run.state());
  const std::string before = run.picture();
  run.step(run.world().settle());
  ASSERT_EQ(run.world().running(stranger).size(), 1U);
  run.settle();
  EXPECT_TRUE(run.world().running(stranger).empty());
  EXPECT_EQ(run.world().running(mine).size(), 1U);
  EXPECT_EQ(run.picture(), before);
}

}  // namespace tutti::contract::backend_engine
