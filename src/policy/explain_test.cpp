#include "sched/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/test_fleet.h"

namespace tutti::explain_test {

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() : factory_(*builtin_policy("pack")), workspace_(factory_) {}

  void decide() {
    const Plan plan = Cycle().run(world_.state, workspace_);
    if (!plan.actions.empty()) world_.apply(PlanDecided{plan.actions});
  }
  std::string why(JobId id) {
    const JobIndex job = world_.state.find(id);
    const GangIndex gang = world_.state.jobs()[job].first_gang;
    return to_text(world_.state, explain(world_.state, factory_, gang));
  }

  test::World world_;
  RecipeFactory factory_;
  Workspace workspace_;
};

TEST_F(ExplainTest, CountsReasonsAndNamesTheNearestMiss) {
  for (int at = 0; at < 4; ++at) world_.apply(NodeReported{test::node("n" + std::to_string(at))});
  world_.apply(NodeReported{test::node("cpu", {.gpus = 0})});
  world_.apply(NodeCordoned{"n3", true});
  world_.submit(test::job(test::task(1000, 6), 2));
  world_.submit(test::job(test::task(1000, 7)));
  decide();
  const JobId id = world_.submit(test::job(test::task(1000, 3)));
  EXPECT_EQ(why(id),
            "waits\n"
            "  3 nodes  devices in use\n"
            "  1 node  cordoned\n"
            "  1 node  no devices\n"
            "  nearest: n0 lacks 1 device\n"
            "  it would start if\n"
            "    task job/0 on n0 ends (6 devices, 1 cpu)\n");
}

TEST_F(ExplainTest, TellsNeverFromLater) {
  world_.apply(NodeReported{test::node("n", {.cpu = 8'000})});
  const JobId never = world_.submit(test::job(test::task(9'000, 1)));
  decide();
  EXPECT_EQ(why(never),
            "never fits\n"
            "  1 node  not enough cpu\n"
            "  nearest: n lacks 1 cpu\n"
            "  it would start if\n"
            "    1 more node with 9 cpu, 256Gi memory, 8 x A100-80G\n");
}

TEST_F(ExplainTest, SaysHowMuchOfAGangWouldFit) {
  for (int at = 0; at < 3; ++at) world_.apply(NodeReported{test::node("n" + std::to_string(at))});
  const JobId id = world_.submit(test::job(test::task(1000, 8), 4));
  decide();
  EXPECT_EQ(why(id),
            "never fits: 3 of 4 tasks would find places\n"
            "  3 nodes  have room, but not for all\n"
            "  it would start if\n"
            "    1 more node with 64 cpu, 256Gi memory, 8 x A100-80G\n");
}

// Each task alone would find a place: what is missing is one rack for all.
TEST_F(ExplainTest, NamesTheDomainWithTheMostRoom) {
  for (int at = 0; at < 4; ++at) {
    NodeSpec node = test::node("n" + std::to_string(at));
    node.labels.set("rack", at < 2 ? "a" : "b");
    world_.apply(NodeReported{node});
  }
  world_.submit(test::job(test::task(1000, 6)));  // On n0.
  decide();
  GangSpec gang{.closeness = {"rack", true}, .groups = {{}}};
  gang.groups[0].roles = {
      {.name = "w", .count = 5, .min = 5, .alternatives = {test::task(1000, 4)}}};
  JobSpec spec{.name = "together"};
  spec.gangs = {std::make_shared<const GangSpec>(gang)};
  const JobId id = world_.submit(std::make_shared<const JobSpec>(spec));
  EXPECT_EQ(
      why(id),
      "never fits: 5 of 5 tasks would find places, but not as near each other as they must be\n"
      "  no rack has room for 5 tasks; b has room for 4\n"
      "  it would start if\n"
      "    1 more node with 64 cpu, 256Gi memory, 8 x A100-80G, rack=b\n");
}

// A gang that runs in part can only grow together where it is.
TEST_F(ExplainTest, NamesTheDomainInWhichAGangRuns) {
  for (int at = 0; at < 4; ++at) {
    NodeSpec node = test::node("n" + std::to_string(at));
    node.labels.set("rack", at < 2 ? "a" : "b");
    world_.apply(NodeReported{node});
  }
  GangSpec gang{.closeness = {"rack", true}, .groups = {{}}};
  gang.groups[0].roles = {
      {.name = "w", .count = 2, .min = 2, .alternatives = {test::task(1000, 8)}}};
  JobSpec spec{.name = "together"};
  spec.gangs = {std::make_shared<const GangSpec>(gang)};
  const JobId id = world_.submit(std::make_shared<const JobSpec>(spec));
  decide();
  world_.apply(NodeLost{"n1"});
  EXPECT_THAT(why(id),
              testing::HasSubstr("  rack a, where it runs, has room for 0 of 1 more task\n"));
}

// The emptied fleet would do, so it waits; and of all that could happen the least is named.
TEST_F(ExplainTest, NamesNoMoreThanIsNeeded) {
  for (int at = 0; at < 2; ++at) world_.apply(NodeReported{test::node("n" + std::to_string(at))});
  for (int at = 0; at < 4; ++at) world_.submit(test::job(test::task(1000, 4)));
  decide();
  world_.apply(NodeCordoned{"n1", true});
  const JobId id = world_.submit(test::job(test::task(1000, 4)));
  const GangIndex gang = world_.state.jobs()[world_.state.find(id)].first_gang;
  const Explanation explanation = explain(world_.state, factory_, gang);
  EXPECT_EQ(explanation.outcome, Outcome::waits);
  ASSERT_EQ(explanation.unblock.size(), 1U);
  EXPECT_EQ(explanation.unblock[0].kind, Unblock::Kind::task_ends);
  EXPECT_EQ(explanation.unblock[0].node, NodeIndex(0));
}

TEST_F(ExplainTest, AsksForAHigherLimitAsFarAsItMust) {
  world_.apply(NodeReported{test::node("n")});
  world_.apply(QueueSet{{.name = "small", .limit = {{"gpu", 4}}}});
  world_.submit(test::job(test::task(1000, 3), 1, 0, "small"));
  decide();
  const JobId id = world_.submit(test::job(test::task(1000, 2), 1, 0, "small"));
  EXPECT_EQ(why(id),
            "waits\n"
            "  its queue's limit is reached\n"
            "  it would start if\n"
            "    queue small may use 5 gpu\n");
  // The limit must let in the one that comes first as well: three, two and three.
  EXPECT_EQ(why(world_.submit(test::job(test::task(1000, 3), 1, 0, "small"))),
            "waits\n"
            "  its queue's limit is reached\n"
            "  it would start if\n"
            "    queue small may use 8 gpu\n");
  // Even alone, five would be one too many; and cards are too few for all four.
  EXPECT_EQ(why(world_.submit(test::job(test::task(1000, 5), 1, 0, "small"))),
            "never fits\n"
            "  its queue's limit is reached\n"
            "  it would start if all of these hold\n"
            "    queue small may use 8 gpu\n"
            "    job job, which comes first, no longer waits\n"
            "    job job, which comes first, no longer waits\n");
}

TEST_F(ExplainTest, TellsWhichTaintToTolerate) {
  NodeSpec node = test::node("n");
  node.taints = {{"dedicated", "x", TaintEffect::no_schedule}};
  world_.apply(NodeReported{node});
  EXPECT_EQ(why(world_.submit(test::job(test::task(1000, 1)))),
            "never fits\n"
            "  1 node  a taint that is not tolerated\n"
            "  it would start if\n"
            "    it tolerates the taint dedicated=x\n");
}

// Long lists are cut in the text, not in the facts.
TEST_F(ExplainTest, NamesTheFirstOfManyFacts) {
  for (int at = 0; at < 10; ++at) world_.apply(NodeReported{test::node("n" + std::to_string(at))});
  world_.submit(test::job(test::task(1000, 8), 10));
  decide();
  const JobId id = world_.submit(test::job(test::task(1000, 8), 10));
  const GangIndex gang = world_.state.jobs()[world_.state.find(id)].first_gang;
  EXPECT_EQ(explain(world_.state, factory_, gang).unblock.size(), 10U);
  EXPECT_TRUE(why(id).ends_with("    and 2 more like these\n")) << why(id);
}

// What is named as missing is what unblocks: one device more, and it runs.
TEST_F(ExplainTest, GivingWhatIsMissingPlacesTheJob) {
  world_.apply(NodeReported{test::node("n")});
  const JobId first = world_.submit(test::job(test::task(1000, 1)));
  decide();
  const JobId id = world_.submit(test::job(test::task(1000, 8)));
  decide();
  const GangIndex gang = world_.state.jobs()[world_.state.find(id)].first_gang;
  const Explanation explanation = explain(world_.state, factory_, gang);
  EXPECT_EQ(explanation.outcome, Outcome::waits);
  EXPECT_EQ(explanation.nearest_miss.shortfall, 1);
  world_.apply(TaskExited{{first, 0}, 1, 0});
  decide();
  EXPECT_EQ(world_.state.gangs()[gang].holding, 1U);
}

}  // namespace tutti::explain_test
