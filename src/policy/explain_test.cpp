#include "sched/explain.h"

#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/test_fleet.h"

namespace tutti {
namespace {

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
            "  1 node  too few devices\n"
            "  nearest: n0 lacks 1 device\n");
}

TEST_F(ExplainTest, TellsNeverFromLater) {
  world_.apply(NodeReported{test::node("n", {.cpu = 8'000})});
  const JobId never = world_.submit(test::job(test::task(9'000, 1)));
  decide();
  EXPECT_EQ(why(never),
            "never fits\n"
            "  1 node  not enough cpu\n"
            "  nearest: n lacks 1000 cpu\n");
}

TEST_F(ExplainTest, SaysHowMuchOfAGangWouldFit) {
  for (int at = 0; at < 3; ++at) world_.apply(NodeReported{test::node("n" + std::to_string(at))});
  const JobId id = world_.submit(test::job(test::task(1000, 8), 4));
  decide();
  EXPECT_EQ(why(id), "never fits: 3 of 4 tasks would find places\n");
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

}  // namespace
}  // namespace tutti
