/// Every filter, by what the cycle then decides.
#include <gtest/gtest.h>

#include "policy/eligible.h"
#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/test_fleet.h"

namespace tutti::filters_test {

/// Nodes n0 ... of zone z0, z1, z0, z1 ..., and the nodes on which jobs land.
class FilterTest : public testing::Test {
 protected:
  explicit FilterTest(unsigned nodes = 4)
      : factory_(*builtin_policy("pack")), workspace_(factory_) {
    for (unsigned at = 0; at < nodes; ++at) {
      NodeSpec node = test::node("n" + std::to_string(at));
      node.labels.set("zone", at % 2 == 0 ? "z0" : "z1");
      node.labels.set("rank", std::to_string(at));
      nodes_.push_back(node);
      world_.apply(NodeReported{node});
    }
  }

  void describe(unsigned node, const std::function<void(NodeSpec&)>& change) {
    change(nodes_[node]);
    world_.apply(NodeReported{nodes_[node]});
  }

  /// Submits one task of the shape: the name of its node, or "waits".
  std::string land(const TaskShape& shape) {
    const JobId id = world_.submit(test::job(shape));
    const Plan plan = Cycle().run(world_.state, workspace_);
    if (plan.actions.empty()) {
      world_.apply(JobCancelled{id});
      return "waits";
    }
    world_.apply(PlanDecided{plan.actions});
    last_ = id;
    return world_.state.fleet().node(plan.actions.front().node).name;
  }
  void end_last() { world_.apply(TaskExited{{last_, 0}, 1, 0}); }

  test::World world_;
  std::vector<NodeSpec> nodes_;
  RecipeFactory factory_;
  Workspace workspace_;
  JobId last_;
};

TaskShape labelled(const std::string& app) {
  TaskShape shape = test::task(1000, 0);
  shape.labels.set("app", app);
  return shape;
}

Selector app_is(const std::string& app) { return {{{"app", Operator::in, {app}}}}; }

TEST_F(FilterTest, NodeSelectorWithEveryOperator) {
  const auto land_with = [&](Requirement requirement) {
    TaskShape shape = test::task(1000, 1);
    shape.nodes.requirements = {std::move(requirement)};
    return land(shape);
  };
  EXPECT_EQ(land_with({"rank", Operator::in, {"2", "3"}}), "n2");
  EXPECT_EQ(land_with({"zone", Operator::not_in, {"z0"}}), "n1");
  EXPECT_EQ(land_with({"rank", Operator::greater, {"2"}}), "n3");
  EXPECT_EQ(land_with({"rank", Operator::less, {"1"}}), "n0");
  EXPECT_EQ(land_with({"gpu", Operator::exists, {}}), "waits");
  EXPECT_NE(land_with({"gpu", Operator::does_not_exist, {}}), "waits");
}

TEST_F(FilterTest, OneOfSeveralSelectorsSuffices) {
  TaskShape shape = test::task(1000, 1);
  shape.nodes_any_of = {{{{"rank", Operator::in, {"7"}}}}, {{{"rank", Operator::in, {"3"}}}}};
  EXPECT_EQ(land(shape), "n3");
  shape.nodes.requirements = {{"zone", Operator::in, {"z0"}}};
  EXPECT_EQ(land(shape), "waits");
}

// A label that changes under a waiting job wakes it.
TEST_F(FilterTest, AChangedLabelIsSeen) {
  TaskShape shape = test::task(1000, 1);
  shape.nodes.requirements = {{"pool", Operator::in, {"train"}}};
  world_.submit(test::job(shape));
  EXPECT_TRUE(Cycle().run(world_.state, workspace_).actions.empty());
  describe(2, [](NodeSpec& node) { node.labels.set("pool", "train"); });
  const Plan plan = Cycle().run(world_.state, workspace_);
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(plan.actions[0].node, NodeIndex(2));
}

TEST_F(FilterTest, TaintsAndTolerations) {
  for (unsigned at = 0; at < 4; ++at) {
    describe(at, [&](NodeSpec& node) {
      node.taints = {{"team", at == 3 ? "vision" : "speech", TaintEffect::no_schedule}};
    });
  }
  TaskShape shape = test::task(1000, 1);
  EXPECT_EQ(land(shape), "waits");
  shape.tolerations = {{.key = "team", .value = "vision"}};
  EXPECT_EQ(land(shape), "n3");
  shape.tolerations = {{.key = "", .any_value = true}};
  EXPECT_NE(land(shape), "waits");
  describe(0, [](NodeSpec& node) { node.taints.front().effect = TaintEffect::prefer_no_schedule; });
  shape.tolerations.clear();
  EXPECT_EQ(land(shape), "n0");
}

TEST_F(FilterTest, StackVersionsCompareByNumber) {
  describe(0, [](NodeSpec& node) { node.stack = {{"cuda", "11.8"}}; });
  describe(1, [](NodeSpec& node) { node.stack = {{"cuda", "12.10"}}; });
  TaskShape shape = test::task(1000, 1);
  shape.stack = {{"cuda", Operator::greater, "12.2"}};
  EXPECT_EQ(land(shape), "n1");
  shape.stack = {{"cuda", Operator::less, "12.0"}};
  EXPECT_EQ(land(shape), "n0");
  shape.stack = {{"cann", Operator::greater, "6"}};
  EXPECT_EQ(land(shape), "waits");
  EXPECT_EQ(compare_versions("12", "12.0"), 0);
  EXPECT_EQ(compare_versions("12.4", "12.10"), -1);
  EXPECT_EQ(compare_versions("8.0.rc1", "8.0.rc2"), -1);
}

TEST_F(FilterTest, APortIsTakenOnceANode) {
  TaskShape shape = test::task(1000, 0);
  shape.ports = {{.port = 80}};
  std::vector<std::string> nodes;
  for (int at = 0; at < 4; ++at) nodes.push_back(land(shape));
  EXPECT_EQ(nodes, (std::vector<std::string>{"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(land(shape), "waits");
  shape.ports = {{.port = 80, .protocol = "UDP"}};
  EXPECT_EQ(land(shape), "n0");
  end_last();
}

TEST_F(FilterTest, HostAntiAffinityKeepsReplicasApart) {
  TaskShape shape = labelled("web");
  shape.affinities = {{.tasks = app_is("web"), .topology_key = "host", .anti = true}};
  std::vector<std::string> nodes;
  for (int at = 0; at < 4; ++at) nodes.push_back(land(shape));
  EXPECT_EQ(nodes, (std::vector<std::string>{"n0", "n1", "n2", "n3"}));
  EXPECT_EQ(land(shape), "waits");
  // What runs keeps others away too, although they state nothing.
  EXPECT_EQ(land(labelled("web")), "waits");
  EXPECT_EQ(land(labelled("db")), "n0");
}

TEST_F(FilterTest, AffinityFollowsWhereTheOthersAre) {
  TaskShape follower = labelled("cache");
  follower.affinities = {{.tasks = app_is("db"), .topology_key = "zone"}};
  EXPECT_EQ(land(follower), "waits");
  TaskShape pinned = labelled("db");
  pinned.nodes.requirements = {{"rank", Operator::in, {"3"}}};
  EXPECT_EQ(land(pinned), "n3");
  EXPECT_EQ(land(follower), "n3");  // In zone z1, on the fuller of its nodes.
}

// A group that wants to be together may begin anywhere.
TEST_F(FilterTest, TheFirstOfItsKindMayStart) {
  TaskShape shape = labelled("ring");
  shape.affinities = {{.tasks = app_is("ring"), .topology_key = "zone"}};
  EXPECT_EQ(land(shape), "n0");
  shape.nodes.requirements = {{"zone", Operator::in, {"z1"}}};
  EXPECT_EQ(land(shape), "waits");
}

TEST_F(FilterTest, SpreadKeepsZonesEven) {
  TaskShape shape = labelled("api");
  shape.spreads = {{.tasks = app_is("api"), .topology_key = "zone", .max_skew = 1}};
  std::vector<std::string> nodes;
  for (int at = 0; at < 4; ++at) nodes.push_back(land(shape));
  EXPECT_EQ(nodes, (std::vector<std::string>{"n0", "n1", "n0", "n1"}));
  // Too few domains: an empty one is imagined, so that only max_skew tasks fit in each.
  TaskShape wide = labelled("wide");
  wide.spreads = {
      {.tasks = app_is("wide"), .topology_key = "zone", .max_skew = 1, .min_domains = 3}};
  EXPECT_NE(land(wide), "waits");
  EXPECT_NE(land(wide), "waits");
  EXPECT_EQ(land(wide), "waits");
}

TEST_F(FilterTest, PreferencesDecideAmongEquals) {
  TaskShape shape = test::task(1000, 0);
  shape.preferred_nodes = {{.weight = 10, .nodes = {{{"rank", Operator::in, {"2"}}}}}};
  EXPECT_EQ(land(shape), "n2");
  shape.preferred_nodes.front().nodes = {{{"rank", Operator::in, {"9"}}}};
  EXPECT_NE(land(shape), "waits");
}

TEST_F(FilterTest, CordonedAndLostNodesTakeNothing) {
  for (const char* name : {"n0", "n1"}) world_.apply(NodeCordoned{name, true});
  world_.apply(NodeLost{"n2"});
  EXPECT_EQ(land(test::task(1000, 1)), "n3");
  world_.apply(NodeCordoned{"n3", true});
  EXPECT_EQ(land(test::task(1000, 1)), "waits");
  world_.apply(NodeCordoned{"n1", false});
  EXPECT_EQ(land(test::task(1000, 1)), "n1");
}

}  // namespace tutti::filters_test
