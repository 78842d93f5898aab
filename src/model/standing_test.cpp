#include "model/standing.h"

#include <gtest/gtest.h>

#include "model/test_state.h"

namespace tutti::test::standing_test {

class TaskBoundTest : public StateTest {
 protected:
  const Task& task(TaskId id) const { return state_.tasks()[state_.find(id)]; }
  unsigned devices(TaskId id) const {
    unsigned count = 0;
    task(id).devices.each([&](unsigned) { ++count; });
    return count;
  }
};

TEST_F(TaskBoundTest, ATaskThatWaitsHoldsWhereOthersPutIt) {
  const JobId id = submit();
  apply(TaskBound{{id, 0}, "n1"});
  EXPECT_EQ(phase({id, 0}), TaskPhase::assigned);
  EXPECT_EQ(task({id, 0}).node, NodeIndex(1));
  EXPECT_EQ(task({id, 0}).attempt, 1U);
  EXPECT_EQ(free_cpu(1), 7000);
  EXPECT_EQ(open(2), 0U);
  apply(TaskStarted{{id, 0}, 1});
  apply(TaskBound{{id, 0}, "n1"});  // Known already.
  EXPECT_EQ(phase({id, 0}), TaskPhase::running);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(free_cpu(1), 8000);
  EXPECT_EQ(open(2), 1000U);
  apply(TaskBound{{id, 0}, "n1"});  // It is over.
  EXPECT_EQ(free_cpu(1), 8000);
}

TEST_F(TaskBoundTest, WhatWasDecidedGivesWay) {
  const JobId id = submit();
  place({id, 0}, 0, {1});
  apply(TaskBound{{id, 0}, "n1"});
  EXPECT_EQ(task({id, 0}).node, NodeIndex(1));
  EXPECT_EQ(free_cpu(0), 8000);
  EXPECT_EQ(open(1), 1000U);
  apply(TaskStarted{{id, 0}, 1});
  EXPECT_EQ(phase({id, 0}), TaskPhase::assigned) << "of the attempt that was given up";
  apply(TaskStarted{{id, 0}, 2});
  EXPECT_EQ(phase({id, 0}), TaskPhase::running);
}

TEST_F(TaskBoundTest, ItIsNoMoreToldToStopWhereItIsNot) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  evict({id, 0}, 1);
  apply(TaskBound{{id, 0}, "n0"});
  EXPECT_EQ(phase({id, 0}), TaskPhase::stopping);
  apply(TaskBound{{id, 0}, "n1"});
  EXPECT_EQ(phase({id, 0}), TaskPhase::assigned);
}

TEST_F(TaskBoundTest, ANodeCanBeAskedForMoreThanItHas) {
  const JobId id = submit(job(4, shape(5000)));
  for (std::uint32_t each = 0; each < 4; ++each) apply(TaskBound{{id, each}, "n0"});
  EXPECT_EQ(free_cpu(0), 8000 - 4 * 5000);
  EXPECT_EQ(devices({id, 1}), 1U);
  EXPECT_EQ(devices({id, 2}), 0U) << "no card has room";
  for (std::uint32_t each = 0; each < 4; ++each) apply(TaskExited{{id, each}, 1, 0});
  EXPECT_EQ(free_cpu(0), 8000);
}

TEST_F(TaskBoundTest, AClosedNodeHoldsToo) {
  apply(NodeCordoned{"n0"});
  const JobId id = submit();
  apply(TaskBound{{id, 0}, "n0"});
  EXPECT_EQ(devices({id, 0}), 1U);
  EXPECT_EQ(refusal(TaskBound{{id, 1}, "n7"}), "no node \"n7\"");
}

TEST_F(TaskBoundTest, APauseEndsWithIt) {
  const JobId id = submit(job(1));
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    place({id, 0}, 0, {0});
    apply(TaskRefused{{id, 0}, attempt, "no"});
  }
  EXPECT_TRUE(state_.gangs()[task({id, 0}).gang].pausing);
  apply(TaskBound{{id, 0}, "n1"});
  EXPECT_FALSE(state_.gangs()[task({id, 0}).gang].pausing);
  EXPECT_EQ(task({id, 0}).attempt, 3U);
}

/// The fullest card that has room, and the first alternative that the node can hold whole.
TEST(StandingTest, GuessesTheCardsOfATask) {
  State state;
  std::int64_t now = 0;
  const auto apply = [&](const Event& event) { state.apply(event, Instant{++now}); };
  apply(NodeReported{node("n0", 3)});
  TaskShape half = shape();
  half.devices.front().compute_permille = 500;
  RoleSpec role{.name = "r", .count = 3, .min = 3, .alternatives = {shape(1000, 4), half}};
  JobSpec spec{.name = "job"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  apply(JobSubmitted{JobId(1), std::make_shared<const JobSpec>(std::move(spec))});
  for (std::uint32_t each = 0; each < 2; ++each) apply(TaskBound{{JobId(1), each}, "n0"});
  EXPECT_EQ(state.usage().used_permille(0), 1000U) << "both share one card";
  EXPECT_EQ(state.usage().used_permille(1), 0U);
  const TaskIndex third = state.find(TaskId{JobId(1), 2});
  const Standing last = standing(state, third, NodeIndex(0));
  EXPECT_TRUE(last.complete);
  EXPECT_TRUE(last.devices.contains(1));
  EXPECT_NE(last.shape, state.tasks()[third].shape) << "of the first one it has too few cards";
}

}  // namespace tutti::test::standing_test
