/// What people and plans do to jobs, and what State says of it.
#include <gtest/gtest.h>

#include <utility>

#include "model/test_state.h"

namespace tutti::state_job_test {

using test::job;
using test::StateTest;

TEST_F(StateTest, AJobIsHeldBackAndReleased) {
  JobSpec spec = job();
  spec.held = true;
  const JobId id = submit(std::move(spec));
  const auto held = [&] { return state_.jobs()[state_.find(id)].held; };
  EXPECT_TRUE(held());
  const std::uint64_t before = state_.hash();
  apply(JobHeld{id, false});
  EXPECT_FALSE(held());
  EXPECT_NE(state_.hash(), before);
  EXPECT_EQ(refusal(JobHeld{JobId(77), true}), "no job 77 waits or runs");
  state_.apply(JobHeld{JobId(77), true}, now_);  // An old journal may say so.
  EXPECT_EQ(state_.verify(), "");
}

TEST_F(StateTest, SaysWhatAnEventDidToTasks) {
  const JobId id = submit();
  EXPECT_TRUE(state_.moves().empty());
  place({id, 1}, 1, {0});
  ASSERT_EQ(state_.moves().size(), 1U);
  EXPECT_EQ(state_.moves()[0].task, (TaskId{id, 1}));
  EXPECT_EQ(state_.moves()[0].phase, TaskPhase::assigned);
  EXPECT_EQ(state_.moves()[0].attempt, 1U);
  EXPECT_EQ(state_.moves()[0].node, NodeIndex(1));
  EXPECT_EQ(state_.moves()[0].devices.size(), 1U);
  apply(TaskStarted{{id, 1}, 1});
  EXPECT_EQ(state_.moves()[0].phase, TaskPhase::running);
  apply(TaskStarted{{id, 1}, 1});
  EXPECT_TRUE(state_.moves().empty());  // It was known.
  evict({id, 1}, 1);
  EXPECT_EQ(state_.moves()[0].phase, TaskPhase::stopping);
  apply(JobCancelled{id});
  ASSERT_EQ(state_.moves().size(), 1U);
  EXPECT_EQ(state_.moves()[0].task, (TaskId{id, 0}));
  EXPECT_EQ(state_.moves()[0].phase, TaskPhase::cancelled);
  apply(TaskExited{{id, 1}, 1, 9});  // The job is forgotten with it, and the move is still told.
  ASSERT_EQ(state_.moves().size(), 1U);
  EXPECT_EQ(state_.moves()[0].phase, TaskPhase::cancelled);
  EXPECT_FALSE(state_.moves()[0].node.valid());
}

}  // namespace tutti::state_job_test
