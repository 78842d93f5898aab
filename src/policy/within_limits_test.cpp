#include "sched/within_limits.h"

#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sched/gang.h"
#include "sched/test_fleet.h"

namespace tutti::within_limits_test {

using test::job;
using test::node;
using test::task;

class WithinLimitsTest : public testing::Test {
 protected:
  void limit(const std::string& queue, std::vector<NamedAmount> limit) {
    world_.apply(QueueSet{{.name = queue, .limit = std::move(limit)}});
  }
  std::string refusal(const std::shared_ptr<const JobSpec>& spec) const {
    const auto within = within_limits(world_.state, *spec);
    return within ? "" : within.error().what;
  }
  test::World world_;
};

TEST_F(WithinLimitsTest, SaysWhatItNeedsAndWhatTheLimitIs) {
  limit("team", {{"cpu", 64'000}, {"gpu", 8}});
  EXPECT_EQ(refusal(job(task(1000, 8), 1, 0, "team")), "");
  EXPECT_EQ(refusal(job(task(1000, 4), 3, 0, "team")),
            "job \"job\" needs 12 gpu at once; the limit of queue \"team\" is 8 gpu");
  EXPECT_EQ(refusal(job(task(40'000, 0), 2, 0, "team")),
            "job \"job\" needs 80 cpu at once; the limit of queue \"team\" is 64 cpu");
}

TEST_F(WithinLimitsTest, OnlyTheLeastThatItMustHaveCounts) {
  limit("team", {{"gpu", 8}});
  EXPECT_EQ(refusal(job(task(0, 4), 8, 2, "team")), "");  // Two are enough to start.
  EXPECT_EQ(refusal(job(task(0, 1, 500), 16, 0, "team")), "");
  EXPECT_NE(refusal(job(task(0, 1, 500), 17, 0, "team")), "");
  auto modest = std::make_shared<JobSpec>(*job(task(0, 16), 1, 0, "team"));
  GangSpec gang = *modest->gangs.front();
  gang.copies = 100;  // Each for itself.
  gang.groups.front().roles.front().alternatives.push_back(task(0, 8));
  modest->gangs.front() = std::make_shared<const GangSpec>(gang);
  EXPECT_EQ(refusal(modest), "");
}

TEST_F(WithinLimitsTest, QueuesAboveLimitItToo) {
  limit("org", {{"pods", 2}});
  limit("org/team", {});
  EXPECT_EQ(refusal(job(task(1000, 0), 2, 0, "org/team")), "");
  EXPECT_EQ(refusal(job(task(1000, 0), 3, 0, "org/team")),
            "job \"job\" needs 3 pods at once; the limit of queue \"org\" is 2 pods");
}

TEST_F(WithinLimitsTest, WhatOverflowsIsAboveEveryLimit) {
  limit("team", {{"memory", INT64_MAX / 4}});
  TaskShape huge = task(1000, 0);
  huge.resources.push_back({"memory", std::int64_t{1} << 60});
  EXPECT_NE(refusal(job(huge, 100'000, 0, "team")), "");
}

/// On a fleet where nothing runs, it is the same as what keeps a gang from being placed.
TEST_F(WithinLimitsTest, AgreesWithTheEngine) {
  world_.apply(NodeReported{node("n0")});
  limit("team", {{"cpu", 10'000}, {"gpu", 4}, {"memory", 0}});
  RecipeFactory factory({.name = "pack", .scores = {{.name = "pack"}}});
  for (const unsigned gpus : {0U, 1U, 3U}) {
    for (const unsigned tasks : {1U, 2U, 4U, 5U, 11U}) {
      const auto spec = job(task(1000, gpus), tasks, 0, "team");
      const JobId id = world_.submit(spec);
      Workspace workspace(factory);
      workspace.sync(world_.state);
      Txn txn(world_.state, workspace);
      const GangIndex gang = world_.state.jobs()[world_.state.find(id)].first_gang;
      EXPECT_EQ(over_limit(txn, gang), !refusal(spec).empty()) << gpus << " x " << tasks;
      world_.apply(JobCancelled{id});
    }
  }
}

}  // namespace tutti::within_limits_test
