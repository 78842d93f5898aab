#include "sched/queue_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/test_fleet.h"

namespace tutti::queue_trial_test {

using testing::ElementsAre;
using testing::IsEmpty;

class QueueTrialTest : public testing::Test {
 protected:
  QueueTrialTest() {
    world_.apply(QueueSet{limited(4)});
    for (std::uint64_t id = 1; id <= 5; ++id) {
      world_.apply(JobSubmitted{JobId(id), test::job(test::task(1000, 2), 1, 0, "a")});
      decide();
    }
  }
  static QueueSpec limited(std::int64_t gpus) { return {.name = "a", .limit = {{"gpu", gpus}}}; }
  void decide() {
    Workspace workspace(factory_);
    workspace.sync(world_.state);
    world_.apply(PlanDecided{Cycle().run(world_.state, workspace).actions});
  }

  RecipeFactory factory_{{.name = "pack", .scores = {{.name = "pack"}}}};
  test::World world_{1};  // Of 8 cards the queue may use 4: two jobs run, three wait.
};

TEST_F(QueueTrialTest, SaysWhoWouldStartWithAHigherLimit) {
  const std::uint64_t before = world_.state.hash();
  EXPECT_THAT(try_queue(world_.state, factory_, limited(4)).would_start, IsEmpty());
  EXPECT_THAT(try_queue(world_.state, factory_, limited(5)).would_start, IsEmpty());
  EXPECT_THAT(try_queue(world_.state, factory_, limited(6)).would_start, ElementsAre(JobId(3)));
  // The node has room for four of the five.
  EXPECT_THAT(try_queue(world_.state, factory_, {.name = "a"}).would_start,
              ElementsAre(JobId(3), JobId(4)));
  EXPECT_EQ(world_.state.hash(), before);
}

TEST_F(QueueTrialTest, SaysHowMuchMoreIsUsedThanALowerLimitAllows) {
  EXPECT_THAT(try_queue(world_.state, factory_, limited(4)).above, IsEmpty());
  const QueueTrial trial =
      try_queue(world_.state, factory_, {.name = "a", .limit = {{"cpu", 1000}, {"gpu", 1}}});
  ASSERT_EQ(trial.above.size(), 2U);
  EXPECT_EQ(trial.above[0].used, (NamedAmount{"cpu", 2000}));
  EXPECT_EQ(trial.above[0].limit, (NamedAmount{"cpu", 1000}));
  EXPECT_EQ(trial.above[1].used, (NamedAmount{"gpu", 4000}));
  EXPECT_EQ(trial.above[1].limit, (NamedAmount{"gpu", 1}));
  EXPECT_THAT(trial.would_start, IsEmpty());
}

TEST_F(QueueTrialTest, AQueueThatIsNewHasWhatIsBelowIt) {
  world_.apply(QueueSet{{.name = "b/c"}});
  world_.apply(JobSubmitted{JobId(9), test::job(test::task(1000, 2), 1, 0, "b/c")});
  decide();
  const QueueTrial trial = try_queue(world_.state, factory_, {.name = "b", .limit = {{"gpu", 1}}});
  ASSERT_EQ(trial.above.size(), 1U);
  EXPECT_EQ(trial.above[0].used, (NamedAmount{"gpu", 2000}));
}

}  // namespace tutti::queue_trial_test
