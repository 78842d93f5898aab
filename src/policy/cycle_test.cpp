/// The cycle, run with real policies.
#include "sched/cycle.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "policy/registry.h"
#include "sched/test_fleet.h"

namespace tutti::cycle_test {

class CycleTest : public testing::Test {
 protected:
  CycleTest() : factory_(*builtin_policy("pack")), workspace_(factory_) {}

  /// Decides and applies.
  Plan run(test::World& world) {
    Plan plan = Cycle().run(world.state, workspace_);
    if (!plan.actions.empty()) world.apply(PlanDecided{plan.actions});
    EXPECT_EQ(world.state.verify(), "");
    return plan;
  }
  static std::size_t held_by(const test::World& world, JobId id) {
    const JobIndex job = world.state.find(id);
    return job.valid() ? world.state.gangs()[world.state.jobs()[job].first_gang].holding : 0;
  }

  RecipeFactory factory_;
  Workspace workspace_;
};

// A gang is atomic: three of its four tasks fit, so none may start.
TEST_F(CycleTest, GangWaitsWholeWhenOneTaskDoesNotFit) {
  test::World world(3);
  const JobId gang = world.submit(test::job(test::task(1000, 8), 4));
  const std::uint64_t before = world.state.hash();
  const Plan plan = run(world);
  EXPECT_TRUE(plan.actions.empty());
  ASSERT_EQ(plan.decisions.size(), 1U);
  EXPECT_EQ(plan.decisions[0].outcome, Outcome::waits);
  EXPECT_EQ(world.state.hash(), before);
  world.apply(NodeReported{test::node("n3")});
  EXPECT_EQ(run(world).actions.size(), 4U);
  EXPECT_EQ(held_by(world, gang), 4U);
}

// Two gangs of 100 on 100 nodes never hold half each.
TEST_F(CycleTest, OfEqualGangsWithRoomForOneExactlyOneRuns) {
  test::World world(100, {.gpus = 1});
  std::vector<JobId> gangs;
  for (int at = 0; at < 5; ++at) gangs.push_back(world.submit(test::job(test::task(1000, 1), 100)));
  run(world);
  EXPECT_EQ(held_by(world, gangs[0]), 100U);
  for (std::size_t at = 1; at < gangs.size(); ++at) EXPECT_EQ(held_by(world, gangs[at]), 0U);
}

// A large gang that waits does not block small jobs behind it.
TEST_F(CycleTest, AnUnplaceableGangDoesNotBlockLaterJobs) {
  test::World world(2);
  world.submit(test::job(test::task(1000, 8), 3));
  const JobId small = world.submit(test::job(test::task(1000, 1)));
  run(world);
  EXPECT_EQ(held_by(world, small), 1U);
}

TEST_F(CycleTest, AnElasticGangStartsAtItsMinimum) {
  test::World world(3);
  const JobId gang = world.submit(test::job(test::task(1000, 8), 5, 2));
  run(world);
  EXPECT_EQ(held_by(world, gang), 3U);
}

TEST_F(CycleTest, FreedCapacityWakesTheWaiting) {
  test::World world(1);
  const JobId first = world.submit(test::job(test::task(1000, 8)));
  const JobId second = world.submit(test::job(test::task(1000, 8)));
  run(world);
  EXPECT_EQ(held_by(world, second), 0U);
  world.apply(TaskExited{{first, 0}, 1, 0});
  run(world);
  EXPECT_EQ(held_by(world, second), 1U);
}

// Nothing that becomes free helps who must be near a task that is nowhere; its coming does.
TEST_F(CycleTest, WhoIsShutOutSleepsUntilCompanyComes) {
  test::World world(1);
  const JobId other = world.submit(test::job(test::task(1000, 8)));
  TaskShape guest = test::task(1000, 0);
  guest.affinities = {{.tasks = {{{"app", Operator::in, {"db"}}}}, .topology_key = "host"}};
  const JobId waits = world.submit(test::job(guest));
  run(world);
  world.apply(TaskExited{{other, 0}, 1, 0});
  EXPECT_TRUE(run(world).decisions.empty());
  TaskShape host = test::task(1000, 0);
  host.labels.set("app", "db");
  world.submit(test::job(host));
  run(world);
  run(world);
  EXPECT_EQ(held_by(world, waits), 1U);
}

TEST_F(CycleTest, AQueueStaysBelowItsLimit) {
  test::World world(4);
  world.apply(QueueSet{{.name = "team", .limit = {{"gpu", 12}}}});
  std::vector<JobId> jobs;
  for (int at = 0; at < 4; ++at) {
    jobs.push_back(world.submit(test::job(test::task(1000, 4), 1, 1, "team")));
  }
  run(world);
  EXPECT_EQ(held_by(world, jobs[2]), 1U);
  EXPECT_EQ(held_by(world, jobs[3]), 0U);
  world.apply(TaskExited{{jobs[0], 0}, 1, 0});
  run(world);
  EXPECT_EQ(held_by(world, jobs[3]), 1U);
}

// A member that was lost is replaced at once, before anything new starts.
TEST_F(CycleTest, ALostMemberIsReplacedOutOfTurn) {
  test::World world(2);
  const JobId gang = world.submit(test::job(test::task(1000, 8), 2));
  run(world);
  const JobId later = world.submit(test::job(test::task(1000, 8)));
  world.apply(TaskRefused{{gang, 0}, 1, "image not found"});
  const Plan plan = run(world);
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(plan.actions[0].task, (TaskId{gang, 0}));
  EXPECT_EQ(plan.actions[0].attempt, 2);
  EXPECT_EQ(held_by(world, later), 0U);
}

// Where there is no room for the lost member, the gang stops as a whole and starts again later.
TEST_F(CycleTest, AGangThatCannotBeMendedRestarts) {
  test::World world(2);
  const JobId gang = world.submit(test::job(test::task(1000, 8), 2));
  run(world);
  world.apply(NodeLost{"n0"});
  const Plan plan = run(world);
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(plan.actions[0].kind, ActionKind::evict);
  const TaskId stopped = plan.actions[0].task;
  world.apply(NodeReported{test::node("n0")});
  EXPECT_TRUE(run(world).actions.empty());
  world.apply(TaskExited{stopped, 1, 143});
  EXPECT_EQ(held_by(world, gang), 0U);
  EXPECT_EQ(run(world).actions.size(), 2U);
  EXPECT_EQ(held_by(world, gang), 2U);
}

TEST_F(CycleTest, ACancelledJobIsToldToStopAndForgotten) {
  test::World world(1);
  const JobId id = world.submit(test::job(test::task(1000, 4), 2));
  run(world);
  world.apply(JobCancelled{id});
  EXPECT_EQ(run(world).actions.size(), 2U);
  world.apply(TaskExited{{id, 0}, 1, 143});
  world.apply(TaskExited{{id, 1}, 1, 143});
  EXPECT_FALSE(world.state.find(id).valid());
  EXPECT_EQ(world.state.live_jobs(), 0U);
}

/// A random history of arrivals, ends, losses and cordons on a small mixed fleet.
void disturb(test::World& world, Prng& prng, std::vector<TaskId>& running) {
  switch (prng.below(9)) {
    case 3:
      world.apply(NodeReported{test::node(
          "n" + std::to_string(prng.below(12)),
          {.cpu = prng.between(1, 4) * 4'000, .gpus = 4, .model = prng.chance(500) ? "A" : "B"})});
      break;
    case 0: {
      if (running.empty()) break;
      const std::size_t at = prng.below(static_cast<std::uint32_t>(running.size()));
      const TaskIndex task = world.state.find(running[at]);
      if (task.valid()) world.apply(TaskExited{running[at], world.state.tasks()[task].attempt, 0});
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    }
    case 1:
      world.apply(NodeCordoned{"n" + std::to_string(prng.below(12)), prng.chance(500)});
      break;
    case 2:
      world.apply(DeviceHealthChanged{"n" + std::to_string(prng.below(12)),
                                      static_cast<std::uint16_t>(prng.below(4)),
                                      prng.chance(500) ? Health::failed : Health::online});
      break;
    default: {
      const unsigned gpus = prng.below(4);
      const unsigned share = gpus == 1 && prng.chance(500) ? 100 + prng.below(800) : 1000;
      const unsigned tasks = prng.chance(200) ? 2 + prng.below(3) : 1;
      world.submit(test::job(test::task(prng.between(1, 6) * 500, gpus, share), tasks));
    }
  }
}

class WorkspaceTest : public testing::TestWithParam<std::string_view> {};

// Throwing the workspace away between any two cycles changes no plan.
TEST_P(WorkspaceTest, ThrowingItAwayChangesNoPlan) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const RecipeFactory factory(*builtin_policy(GetParam()));
    Workspace kept(factory);
    test::World world(12, {.cpu = 12'000, .gpus = 4});
    world.apply(MixSet{{{test::task(1000, 1, 300), 3}, {test::task(2000, 2), 2}}});
    Prng prng(seed);
    std::vector<TaskId> running;
    for (int step = 0; step < 60; ++step) {
      disturb(world, prng, running);
      Workspace fresh(factory);
      const Plan from_fresh = Cycle().run(world.state, fresh);
      const Plan plan = Cycle().run(world.state, kept);
      ASSERT_EQ(plan.actions, from_fresh.actions) << "seed " << seed << ", step " << step;
      if (plan.actions.empty()) continue;
      world.apply(PlanDecided{plan.actions});
      for (const Action& action : plan.actions) running.push_back(action.task);
      ASSERT_EQ(world.state.verify(), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, WorkspaceTest,
                         testing::Values("pack", "spread", "bestfit", "fgd", "dotprod", "balanced",
                                         "clustering", "packing", "default"));

}  // namespace tutti::cycle_test
