#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/test_state.h"

namespace tutti::test::state_rules_test {

using On = Dependency::On;
using When = GangRule::When;
using Then = GangRule::Then;
using ::testing::HasSubstr;

class StateRulesTest : public StateTest {
 protected:
  JobId submit_with(JobRules rules, std::uint32_t tasks = 1, std::uint32_t copies = 1) {
    JobSpec spec = job(tasks, shape(1000, 0));
    spec.rules = std::move(rules);
    auto gang = std::make_shared<GangSpec>(*spec.gangs.front());
    gang->copies = copies;
    spec.gangs = {gang};
    return submit(spec);
  }
  void run(TaskId id) {
    place(id, 0, {});
    apply(TaskStarted{id, attempt(id)});
  }
  void exit(TaskId id, std::int32_t code) { apply(TaskExited{id, attempt(id), code}); }
  void stop(TaskId id) {
    evict(id, attempt(id));
    exit(id, 143);
  }
  void refuse(TaskId id) {
    place(id, 0, {});
    apply(TaskRefused{id, attempt(id), "no"});
  }
  std::uint32_t attempt(TaskId id) const { return state_.tasks()[state_.find(id)].attempt; }
  const Gang& gang(JobId id, std::uint32_t at = 0) const {
    return state_.gangs()[GangIndex(state_.jobs()[state_.find(id)].first_gang.value() + at)];
  }
  bool lives(JobId id) const { return state_.find(id).valid(); }
  std::optional<JobEnd> end(JobId id) const { return state_.dependents().end_of(id); }
  /// Lets time pass until the next timer.
  void next_timer() {
    ASSERT_TRUE(state_.timers().next().has_value());
    now_.us = std::max(now_.us, state_.timers().next()->us);
    apply(TimePassed{});
  }
  Duration until_next() const { return *state_.timers().next() - now_; }
};

// --- Failures -----------------------------------------------------------------------------------

TEST_F(StateRulesTest, AFailureWithoutRetriesEndsTheGang) {
  const JobId id = submit_with({}, 2);
  run({id, 0});
  run({id, 1});
  exit({id, 0}, 1);
  EXPECT_EQ(gang(id).fate, Fate::failed);
  stop({id, 1});
  EXPECT_FALSE(lives(id));
  EXPECT_EQ(end(id), JobEnd::failed);
}

TEST_F(StateRulesTest, WhatAGangCanSpareMayFail) {
  JobSpec spec = job(3, shape(1000, 0));
  auto elastic = std::make_shared<GangSpec>(*spec.gangs.front());
  elastic->groups[0].roles[0].min = 2;
  spec.gangs = {elastic};
  const JobId id = submit(spec);
  for (std::uint32_t at = 0; at < 3; ++at) run({id, at});
  exit({id, 0}, 1);
  EXPECT_EQ(gang(id).fate, Fate::none);
  exit({id, 1}, 1);
  EXPECT_EQ(gang(id).fate, Fate::failed);
}

TEST_F(StateRulesTest, AGangStartsAnewAsAWholeAndPausesLongerEachTime) {
  const JobId id = submit_with(
      {.retries = 3, .pause = Duration::seconds(10), .pause_max = Duration::seconds(25)}, 2);
  for (const std::int64_t pause : {10, 20, 25}) {
    run({id, 0});
    run({id, 1});
    exit({id, 0}, 0);
    exit({id, 1}, 1);
    EXPECT_EQ(phase({id, 0}), TaskPhase::pending) << "what had succeeded is run again";
    EXPECT_TRUE(gang(id).pausing);
    EXPECT_EQ(until_next(), Duration::seconds(pause));
    next_timer();
    EXPECT_FALSE(gang(id).pausing);
  }
  run({id, 0});
  exit({id, 0}, 1);
  EXPECT_FALSE(lives(id));
  EXPECT_EQ(end(id), JobEnd::failed);
}

TEST_F(StateRulesTest, ThePauseBeginsWhenTheLastTaskHasStopped) {
  const JobId id = submit_with({.retries = 1}, 2);
  run({id, 0});
  run({id, 1});
  exit({id, 0}, 1);
  EXPECT_FALSE(gang(id).pausing);
  evict({id, 1}, attempt({id, 1}));
  exit({id, 1}, 0);
  EXPECT_TRUE(gang(id).pausing) << "what it returned when it was stopped is no success";
  EXPECT_EQ(phase({id, 1}), TaskPhase::pending);
}

TEST_F(StateRulesTest, ACancelledJobPausesNoMore) {
  const JobId id = submit_with({.retries = 1});
  run({id, 0});
  exit({id, 0}, 1);
  apply(JobCancelled{id});
  EXPECT_FALSE(lives(id));
  EXPECT_FALSE(state_.timers().next().has_value());
}

// --- Policies -----------------------------------------------------------------------------------

TEST_F(StateRulesTest, TheFirstPolicyThatFitsCounts) {
  const JobId id = submit_with({.retries = 5,
                                .gang_rules = {{When::task_failed, Then::stop, "ps"},
                                               {When::task_failed, Then::restart_task, "", 42},
                                               {When::any, Then::stop}}},
                               2);
  run({id, 0});
  run({id, 1});
  exit({id, 0}, 42);
  EXPECT_EQ(phase({id, 0}), TaskPhase::pending);
  EXPECT_EQ(phase({id, 1}), TaskPhase::running) << "only the one starts anew";
  run({id, 0});
  exit({id, 0}, 43);
  EXPECT_EQ(gang(id).fate, Fate::failed);
}

TEST_F(StateRulesTest, ARoleThatIsDoneCompletesTheGang) {
  JobSpec spec = job(1, shape(1000, 0));
  spec.rules.gang_rules = {{When::role_succeeded, Then::complete, "worker"}};
  auto both = std::make_shared<GangSpec>(*spec.gangs.front());
  RoleSpec servers = both->groups[0].roles[0];
  servers.name = "ps";
  both->groups[0].roles.push_back(servers);
  both->groups[0].roles[0].count = both->groups[0].roles[0].min = 2;
  spec.gangs = {both};
  const JobId id = submit(spec);
  for (std::uint32_t at = 0; at < 3; ++at) run({id, at});
  exit({id, 0}, 0);
  EXPECT_EQ(gang(id).fate, Fate::none);
  exit({id, 1}, 0);
  EXPECT_EQ(gang(id).fate, Fate::complete);
  stop({id, 2});
  EXPECT_EQ(end(id), JobEnd::succeeded);
}

TEST_F(StateRulesTest, ALostNodeMayRestartTheGang) {
  const JobId id = submit_with({.gang_rules = {{When::task_evicted, Then::restart_gang}}}, 2);
  run({id, 0});
  place({id, 1}, 1, {});
  apply(NodeLost{"n1"});
  EXPECT_EQ(gang(id).fate, Fate::restart);
  stop({id, 0});
  EXPECT_FALSE(gang(id).pausing) << "it did not fail";
  EXPECT_EQ(gang(id).retries, 0U);
}

// --- Refused launches ---------------------------------------------------------------------------

TEST_F(StateRulesTest, RefusedLaunchesPauseTheGangAndEndIt) {
  const JobId id = submit_with({.launches = 4});
  refuse({id, 0});
  EXPECT_FALSE(gang(id).pausing) << "once is tried again at once";
  for (const std::int64_t pause : {1, 2}) {
    refuse({id, 0});
    EXPECT_EQ(until_next(), Duration::seconds(pause));
    next_timer();
  }
  refuse({id, 0});
  EXPECT_EQ(end(id), JobEnd::failed);
}

TEST_F(StateRulesTest, OneLaunchIsRefusedOnceHoweverManyTasksSaySo) {
  const JobId id = submit_with({.launches = 2}, 2);
  place({id, 0}, 0, {});
  place({id, 1}, 0, {});
  apply(TaskRefused{{id, 0}, 1, "no"});
  apply(TaskRefused{{id, 1}, 1, "no"});
  EXPECT_EQ(gang(id).refusals, 1U);
  refuse({id, 0});
  EXPECT_FALSE(lives(id));
}

// --- Time ---------------------------------------------------------------------------------------

TEST_F(StateRulesTest, AGangThatRunsTooLongFails) {
  const JobId id = submit_with({.run_time_max = Duration::seconds(60), .retries = 9}, 2);
  run({id, 0});
  now_ = now_ + Duration::seconds(5);
  run({id, 1});
  next_timer();
  EXPECT_EQ(gang(id).fate, Fate::late);
  evict({id, 0}, 1);
  exit({id, 0}, 0);
  EXPECT_EQ(phase({id, 0}), TaskPhase::failed) << "it was not done when it was stopped";
  EXPECT_EQ(state_.moves().front().why, Why::time_up);
  stop({id, 1});
  EXPECT_EQ(end(id), JobEnd::failed);
  EXPECT_FALSE(state_.timers().next().has_value());
}

TEST_F(StateRulesTest, TheClockOfARunEndsWithIt) {
  const JobId id = submit_with({.run_time_max = Duration::seconds(60)});
  run({id, 0});
  const Instant first = *state_.timers().next();
  apply(NodeLost{"n0"});
  EXPECT_FALSE(state_.timers().next().has_value());
  apply(NodeReported{node("n0")});
  now_ = now_ + Duration::seconds(30);
  run({id, 0});
  EXPECT_GT(*state_.timers().next(), first);
}

// --- Arrays -------------------------------------------------------------------------------------

TEST_F(StateRulesTest, SoManyGangsAtOnce) {
  const JobId id = submit_with({.at_once = 2}, 1, 5);
  const auto admitted = [&] { return state_.jobs()[state_.find(id)].admitted; };
  EXPECT_EQ(admitted(), 2U);
  run({id, 0});
  run({id, 1});
  exit({id, 1}, 0);
  EXPECT_EQ(admitted(), 3U);
  exit({id, 0}, 3);
  EXPECT_EQ(admitted(), 4U) << "a number that failed makes room, too";
}

TEST_F(StateRulesTest, AnArrayHasOneNumberForEachGang) {
  JobSpec spec = job(1);
  spec.array = {{.first = 3, .last = 4}};
  EXPECT_THAT(refusal(JobSubmitted{JobId(9), std::make_shared<const JobSpec>(spec)}),
              HasSubstr("2 numbers for 1 gangs"));
  spec.array = {{.first = 3, .last = 2}};
  EXPECT_THAT(refusal(JobSubmitted{JobId(9), std::make_shared<const JobSpec>(spec)}),
              HasSubstr("from 3 to 2"));
}

// --- Jobs that wait for others ------------------------------------------------------------------

TEST_F(StateRulesTest, AJobWaitsForAllThatItNames) {
  const JobId first = submit_with({});
  const JobId second = submit_with({});
  const JobId waiter = submit_with({.after = {{first, On::success}, {second, On::end}}});
  const auto awaits = [&] { return state_.jobs()[state_.find(waiter)].awaits; };
  EXPECT_EQ(awaits(), 2U);
  run({first, 0});
  exit({first, 0}, 0);
  EXPECT_EQ(awaits(), 1U);
  apply(JobCancelled{second});
  EXPECT_EQ(awaits(), 0U);
  EXPECT_EQ(state_.jobs()[state_.find(submit_with({.after = {{first, On::success}}}))].awaits, 0U);
}

TEST_F(StateRulesTest, AStartIsToldOnce) {
  const JobId first = submit_with({});
  const JobId waiter = submit_with({.after = {{first, On::start}, {first, On::success}}});
  run({first, 0});
  EXPECT_EQ(state_.jobs()[state_.find(waiter)].awaits, 1U);
  exit({first, 0}, 0);
  EXPECT_EQ(state_.jobs()[state_.find(waiter)].awaits, 0U);
}

TEST_F(StateRulesTest, WhatIsCancelledBeforeItsStartNeverStarts) {
  const JobId first = submit_with({});
  const JobId waiter = submit_with({.after = {{first, On::start}}});
  apply(JobCancelled{first});
  EXPECT_EQ(end(waiter), JobEnd::cancelled);
}

TEST_F(StateRulesTest, WhatCannotComeTrueCancelsAWholeChain) {
  const JobId first = submit_with({});
  JobId last = first;
  for (int length = 0; length < 1000; ++length)
    last = submit_with({.after = {{last, On::success}}});
  const JobId otherwise = submit_with({.after = {{first, On::failure}}});
  run({first, 0});
  exit({first, 0}, 1);
  EXPECT_EQ(end(last), JobEnd::cancelled);
  EXPECT_EQ(state_.moves().back().why, Why::never_after);
  EXPECT_EQ(state_.live_jobs(), 1U);
  EXPECT_EQ(state_.jobs()[state_.find(otherwise)].awaits, 0U);
}

TEST_F(StateRulesTest, WhoCouldNeverStartIsRefused) {
  const JobId first = submit_with({});
  apply(JobCancelled{first});
  const auto wanted = [&](Dependency after) {
    JobSpec spec = job(1);
    spec.rules.after = {after};
    return refusal(JobSubmitted{JobId(99), std::make_shared<const JobSpec>(spec)});
  };
  EXPECT_THAT(wanted({first, On::success}), HasSubstr("which was cancelled"));
  EXPECT_THAT(wanted({JobId(55), On::end}), HasSubstr("which is not known"));
  EXPECT_EQ(wanted({first, On::end}), "");
  EXPECT_THAT(wanted({first, On::failure}), HasSubstr("the failure of job"));
  EXPECT_THAT(wanted({first, On::start}), HasSubstr("the start of job"));
}

TEST_F(StateRulesTest, AJobMayWaitForOneThatComesWithIt) {
  JobSpec spec = job(1);
  const std::vector<Event> before{JobSubmitted{JobId(50), std::make_shared<const JobSpec>(spec)}};
  spec.rules.after = {{JobId(50), On::success}};
  const JobSubmitted second{JobId(51), std::make_shared<const JobSpec>(spec)};
  EXPECT_FALSE(state_.admissible(second).has_value());
  EXPECT_TRUE(state_.admissible(second, before).has_value());
}

}  // namespace tutti::test::state_rules_test
