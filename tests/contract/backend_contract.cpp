#include "tests/contract/backend_contract.h"

#include <algorithm>

namespace tutti::contract {

// --- Reports ------------------------------------------------------------------------------------

void PrintTo(const Heard& heard, std::ostream* out) {
  *out << (heard.refused ? "refused" : "") << (heard.started ? " started" : "");
  if (heard.exit_code) *out << " exited with " << *heard.exit_code;
  if (heard == nothing) *out << "nothing";
}

void Reports::add(const std::vector<Event>& events) {
  for (const Event& event : events) add(event);
}

void Reports::add(const Event& event) {
  if (const auto* started = std::get_if<TaskStarted>(&event)) {
    Heard& heard = heard_[{started->task, started->attempt}];
    heard.started = true;
    EXPECT_FALSE(heard.refused) << "started, though refused: " << to_string(started->task);
  } else if (const auto* refused = std::get_if<TaskRefused>(&event)) {
    Heard& heard = heard_[{refused->task, refused->attempt}];
    heard.refused = true;
    EXPECT_FALSE(heard.started || heard.exit_code)
        << "refused, though it ran: " << to_string(refused->task);
  } else if (const auto* exited = std::get_if<TaskExited>(&event)) {
    Heard& heard = heard_[{exited->task, exited->attempt}];
    EXPECT_EQ(heard.exit_code.value_or(exited->exit_code), exited->exit_code)
        << "ended twice: " << to_string(exited->task);
    EXPECT_FALSE(heard.refused) << "ended, though refused: " << to_string(exited->task);
    heard.exit_code = exited->exit_code;
  } else {
    ADD_FAILURE() << "not a report: " << name_of(event);
  }
}

Heard Reports::of(const TaskId& task, std::uint32_t attempt) const {
  const auto known = heard_.find({task, attempt});
  return known == heard_.end() ? nothing : known->second;
}

// --- The fixture --------------------------------------------------------------------------------

BackendContract::BackendContract() : world_(GetParam()()) {
  for (const NodeSpec& node : world_->nodes()) state_.apply(NodeReported{node}, Instant{});
  const RoleSpec role{.name = "task", .alternatives = {world_->task()}};
  JobSpec spec{.name = "job"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  const auto shared = std::make_shared<const JobSpec>(std::move(spec));
  for (std::uint64_t job = 0; job < jobs; ++job) {
    state_.apply(JobSubmitted{JobId(job), shared}, Instant{});
  }
}

void BackendContract::place(const TaskId& task, std::uint32_t attempt, unsigned node,
                            unsigned device) {
  Action order{.kind = ActionKind::place,
               .task = task,
               .attempt = attempt,
               .shape = state_.tasks()[state_.find(task)].shape,
               .node = NodeIndex(node),
               .devices = {}};
  order.devices.add(device);
  world_->backend().execute(order, state_);
}

void BackendContract::evict(const TaskId& task, std::uint32_t attempt) {
  world_->backend().execute({.kind = ActionKind::evict, .task = task, .attempt = attempt}, state_);
}

std::uint32_t BackendContract::running(const TaskId& task) const {
  const std::vector<World::Running> there = world_->running(task);
  EXPECT_LE(there.size(), 1U) << "several attempts of one task run";
  return there.empty() ? 0 : there.front().attempt;
}

std::map<std::uint32_t, Backend::Observed> BackendContract::observed(const TaskId& task) {
  std::map<std::uint32_t, Backend::Observed> out;
  for (const Backend::Observed& each : world_->backend().observe()) {
    if (each.task != task) continue;
    EXPECT_TRUE(out.emplace(each.attempt, each).second) << "listed twice";
  }
  return out;
}

void BackendContract::do_anything(const TaskId& task, Expected& expected, Prng& prng) {
  const Trouble trouble = troubles[prng.below(troubles.size())];
  if (prng.chance(300)) make(trouble, task);
  if (prng.chance(200) && running(task) != 0) {
    return world_->finish(task, static_cast<std::int32_t>(prng.below(2)));
  }
  const std::uint32_t attempt = expected.newest + 1 - std::min(prng.below(3), expected.newest);
  const bool starts = prng.chance(600);
  if (attempt > expected.newest) {
    if (!expected.over) return;  // A newer attempt is for when the older one is over.
    expected = {.newest = attempt, .wanted = starts, .over = false};
  } else if (attempt == expected.newest && !starts) {
    expected.wanted = false;
  }
  if (starts) {
    place(task, attempt, prng.below(2), prng.below(2));
  } else {
    evict(task, attempt);
  }
}

void BackendContract::check(const TaskId& task, Expected& expected) {
  if (expected.newest == 0) return;
  if (const std::uint32_t runs = running(task); runs != 0) {
    EXPECT_EQ(runs, expected.newest);
    EXPECT_FALSE(heard(task, runs).refused || heard(task, runs).exit_code) << "it runs";
  }
  if (expected.wanted) {
    place(task, expected.newest);
  } else {
    evict(task, expected.newest);
  }
  settle();
  const Heard all = heard(task, expected.newest);
  expected.over = all.refused || all.exit_code;
  EXPECT_TRUE(all.started || expected.over) << "an order that is repeated is answered";
  EXPECT_TRUE(expected.wanted || expected.over) << "it was told to stop";
  EXPECT_EQ(running(task), expected.over ? 0 : expected.newest);
}

namespace {

constexpr const char* cannot = "missing: a way to force that upon this backend";

// --- Placing ------------------------------------------------------------------------------------

TEST_P(BackendContract, ATaskRunsWhereItWasOrderedTo) {
  place(task(0), 1, 1, 0);
  place(task(1), 1, 1, 1);
  place(task(2), 1, 0, 1);
  settle();
  const std::vector<NodeSpec> nodes = world_->nodes();
  DeviceSet first;
  first.add(0);
  DeviceSet second;
  second.add(1);
  using Running = World::Running;
  EXPECT_EQ(world_->running(task(0)), std::vector{(Running{1, nodes[1].name, first})});
  EXPECT_EQ(world_->running(task(1)), std::vector{(Running{1, nodes[1].name, second})});
  EXPECT_EQ(world_->running(task(2)), std::vector{(Running{1, nodes[0].name, second})});
  for (std::uint64_t job = 0; job < 3; ++job) EXPECT_EQ(heard(task(job), 1), that_it_runs);
  EXPECT_EQ(running(task(3)), 0U);
}

TEST_P(BackendContract, AnEndHasTheExitCodeOfTheTask) {
  for (const std::int32_t code : {0, 1, 7}) {
    const TaskId each = task(static_cast<std::uint64_t>(code));
    place(each, 1);
    settle();
    world_->finish(each, code);
    settle();
    EXPECT_EQ(heard(each, 1), (Heard{.started = true, .exit_code = code}));
    EXPECT_EQ(running(each), 0U);
  }
}

TEST_P(BackendContract, OneOrderOrManyHaveOneEffect) {
  place(task(0), 1);
  place(task(0), 1);
  settle();
  place(task(0), 1, 1, 1);  // Whatever it says by now.
  settle();
  EXPECT_EQ(world_->running(task(0)).at(0).node, world_->nodes()[0].name);
  EXPECT_EQ(running(task(0)), 1U);
  world_->finish(task(0), 0);
  place(task(0), 1);
  settle();
  place(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 0U) << "it ran a second time";
  EXPECT_EQ(heard(task(0), 1), (Heard{.started = true, .exit_code = 0}));
}

TEST_P(BackendContract, WhatIsRefusedNeverRuns) {
  if (!make(Trouble::refused, task(0))) GTEST_SKIP() << cannot;
  place(task(0), 1);
  settle();
  EXPECT_EQ(heard(task(0), 1), that_it_is_refused);
  EXPECT_TRUE(observed(task(0)).empty());
  place(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 0U);
  evict(task(0), 1);
  settle();
  EXPECT_EQ(heard(task(0), 1), that_it_is_refused);
  place(task(0), 2);
  settle();
  EXPECT_EQ(running(task(0)), 2U) << "one refusal is not for ever";
}

// --- Evicting -----------------------------------------------------------------------------------

TEST_P(BackendContract, EvictedWhileItRuns) {
  place(task(0), 1);
  place(task(1), 1, 1);
  settle();
  evict(task(0), 1);
  evict(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 0U);
  EXPECT_NE(heard(task(0), 1).exit_code.value_or(0), 0);
  EXPECT_EQ(running(task(1)), 1U) << "nobody spoke of this one";
  EXPECT_EQ(heard(task(1), 1), that_it_runs);
}

TEST_P(BackendContract, EvictedBeforeItBegan) {
  if (!make(Trouble::slow, task(0))) GTEST_SKIP() << cannot;
  place(task(0), 1);
  EXPECT_EQ(running(task(0)), 0U) << "this start was to be slow";
  evict(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 0U);
  EXPECT_NE(heard(task(0), 1).exit_code.value_or(0), 0);
  EXPECT_FALSE(heard(task(0), 1).started) << "it never did";
  place(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 0U);
}

TEST_P(BackendContract, EvictedAfterItsEnd) {
  place(task(0), 1);
  settle();
  world_->finish(task(0), 0);
  evict(task(0), 1);
  settle();
  evict(task(0), 1);
  settle();
  EXPECT_EQ(heard(task(0), 1).exit_code, 0) << "it had ended by itself";
}

// The order to stop has overtaken the order to start.
TEST_P(BackendContract, EvictedBeforeItWasPlaced) {
  evict(task(0), 3);
  settle();
  EXPECT_NE(heard(task(0), 3).exit_code.value_or(0), 0);
  for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
    place(task(0), attempt);
    settle();
    EXPECT_EQ(running(task(0)), 0U) << "attempt " << attempt;
  }
  place(task(0), 4);
  settle();
  EXPECT_EQ(running(task(0)), 4U);
  EXPECT_EQ(heard(task(0), 4), that_it_runs);
}

TEST_P(BackendContract, PlacedAgainElsewhereAfterItWasEvicted) {
  place(task(0), 1);
  settle();
  evict(task(0), 1);
  settle();
  place(task(0), 2, 1, 1);
  settle();
  EXPECT_EQ(running(task(0)), 2U);
  EXPECT_EQ(world_->running(task(0)).at(0).node, world_->nodes()[1].name);
  EXPECT_EQ(heard(task(0), 2), that_it_runs);
}

TEST_P(BackendContract, OldOrdersReviveNothingAndStopNothingNew) {
  place(task(0), 1);
  settle();
  evict(task(0), 1);
  settle();
  place(task(0), 2);
  settle();
  place(task(0), 1);
  evict(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 2U);
  EXPECT_EQ(heard(task(0), 2), that_it_runs);
  world_->finish(task(0), 0);
  settle();
  place(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 0U);
}

TEST_P(BackendContract, OtherActionsAreNotItsConcern) {
  place(task(0), 1);
  settle();
  for (const ActionKind kind :
       {ActionKind::prepare, ActionKind::reserve, ActionKind::partition, ActionKind::scale}) {
    for (const std::uint64_t job : {0, 1}) {
      world_->backend().execute({.kind = kind, .task = task(job), .attempt = 1}, state_);
    }
  }
  settle();
  EXPECT_EQ(running(task(0)), 1U);
  EXPECT_EQ(running(task(1)), 0U);
  EXPECT_EQ(heard(task(1), 1), nothing);
}

// --- Answering ----------------------------------------------------------------------------------

TEST_P(BackendContract, ALostStartIsHeardWhenTheOrderIsRepeated) {
  if (!make(Trouble::lost, task(0))) GTEST_SKIP() << cannot;
  place(task(0), 1);
  settle();
  ASSERT_EQ(heard(task(0), 1), nothing);
  ASSERT_EQ(running(task(0)), 1U);
  place(task(0), 1);
  settle();
  EXPECT_EQ(heard(task(0), 1), that_it_runs);
}

TEST_P(BackendContract, ALostEndIsHeardWhenTheOrderIsRepeated) {
  for (const bool stopped : {false, true}) {
    for (const bool asks_to_stop : {false, true}) {
      const TaskId each = task((stopped ? 2 : 0) + (asks_to_stop ? 1 : 0));
      place(each, 1);
      settle();
      if (!make(Trouble::lost, each)) GTEST_SKIP() << cannot;
      if (stopped) {
        evict(each, 1);
      } else {
        world_->finish(each, 5);
      }
      settle();
      ASSERT_EQ(heard(each, 1), that_it_runs);
      ASSERT_EQ(running(each), 0U);
      if (asks_to_stop) {
        evict(each, 1);
      } else {
        place(each, 1);
      }
      settle();
      EXPECT_EQ(heard(each, 1).exit_code, observed(each).at(1).exit_code);
      EXPECT_NE(heard(each, 1).exit_code.value_or(0), 0);
    }
  }
}

TEST_P(BackendContract, ALostRefusalIsHeardWhenTheOrderIsRepeated) {
  if (!make(Trouble::refused, task(0)) || !make(Trouble::lost, task(0))) GTEST_SKIP() << cannot;
  place(task(0), 1);
  settle();
  ASSERT_EQ(heard(task(0), 1), nothing);
  place(task(0), 1);
  settle();
  EXPECT_EQ(heard(task(0), 1), that_it_is_refused);
}

TEST_P(BackendContract, AnOrderThatWasLostTakesEffectWhenItIsRepeated) {
  if (!make(Trouble::deaf, task(0))) GTEST_SKIP() << cannot;
  place(task(0), 1);
  settle();
  ASSERT_EQ(running(task(0)), 0U);
  place(task(0), 1);
  settle();
  EXPECT_EQ(running(task(0)), 1U);
}

// --- Observing ----------------------------------------------------------------------------------

TEST_P(BackendContract, ObserveListsWhatRunsAndWhatEnded) {
  EXPECT_TRUE(world_->backend().observe().empty());
  for (std::uint64_t job = 0; job < 3; ++job) place(task(job), 1, job % 2);
  settle();
  world_->finish(task(1), 7);
  evict(task(2), 1);
  settle();
  EXPECT_EQ(observed(task(0)).size(), 1U);
  EXPECT_TRUE(observed(task(0)).at(1).running);
  ASSERT_TRUE(observed(task(1)).contains(1));
  EXPECT_FALSE(observed(task(1)).at(1).running);
  EXPECT_EQ(observed(task(1)).at(1).exit_code, 7);
  ASSERT_TRUE(observed(task(2)).contains(1));
  EXPECT_FALSE(observed(task(2)).at(1).running);
  EXPECT_EQ(observed(task(2)).at(1).exit_code, heard(task(2), 1).exit_code);
  EXPECT_TRUE(observed(task(3)).empty());
}

TEST_P(BackendContract, ObserveListsWhatIsStarting) {
  if (!make(Trouble::slow, task(0))) GTEST_SKIP() << cannot;
  place(task(0), 1);
  ASSERT_EQ(running(task(0)), 0U);
  ASSERT_TRUE(observed(task(0)).contains(1));
  EXPECT_TRUE(observed(task(0)).at(1).running);
}

// --- All of it ----------------------------------------------------------------------------------

TEST_P(BackendContract, RandomOrders) {
  Prng prng(42);
  std::map<std::uint64_t, Expected> expected;
  for (int round = 0; round < 300 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    for (std::uint32_t orders = 1 + prng.below(6); orders > 0; --orders) {
      const std::uint64_t job = prng.below(3);
      do_anything(task(job), expected[job], prng);
    }
    settle();
    for (auto& [job, each] : expected) check(task(job), each);
  }
}

}  // namespace
}  // namespace tutti::contract
