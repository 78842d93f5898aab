/// Gangs with closeness: which domain, and what happens when none holds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/test_fleet.h"

namespace tutti::gang_test {

/// Racks of nodes with 8 devices each; rack r of block r / 2.
class GangTest : public testing::Test {
 protected:
  GangTest() : factory_(*builtin_policy("pack")), workspace_(factory_) {}

  void add_racks(const std::vector<unsigned>& sizes) {
    for (std::size_t rack = 0; rack < sizes.size(); ++rack) {
      for (unsigned at = 0; at < sizes[rack]; ++at) {
        NodeSpec node = test::node("r" + std::to_string(rack) + "n" + std::to_string(at));
        node.labels.set("rack", "r" + std::to_string(rack));
        node.labels.set("block", "b" + std::to_string(rack / 2));
        world_.apply(NodeReported{node});
      }
    }
  }

  static RoleSpec role(unsigned tasks, unsigned gpus, unsigned min = 0) {
    return {.name = "w",
            .count = tasks,
            .min = min == 0 ? tasks : min,
            .alternatives = {test::task(1000, gpus)}};
  }

  JobId submit(GangSpec gang) {
    JobSpec spec{.name = "gang"};
    spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
    return world_.submit(std::make_shared<const JobSpec>(std::move(spec)));
  }

  Plan decide() {
    const std::uint64_t before = world_.state.hash();
    Plan plan = Cycle().run(world_.state, workspace_);
    EXPECT_EQ(world_.state.hash(), before);
    if (!plan.actions.empty()) world_.apply(PlanDecided{plan.actions});
    EXPECT_EQ(world_.state.verify(), "");
    return plan;
  }

  /// The best node over all alternatives, which are all the shapes there are.
  std::pair<ShapeIndex, NodeIndex> best_of_all(Workspace& workspace) const {
    std::pair<ShapeIndex, NodeIndex> best;
    int highest = -1;
    for (std::size_t at = 0; at < world_.state.shape_count(); ++at) {
      const ShapeIndex shape(at);
      const NodeIndex node = workspace.best_by_scan(world_.state, shape);
      if (!node.valid()) continue;
      const Permille rating = workspace.rate(world_.state, shape, node);
      if (rating > highest) best = {shape, node};
      highest = std::max<int>(highest, rating);
    }
    return best;
  }

  std::string label(NodeIndex node, std::string_view key) const {
    return *world_.state.fleet().node(node).labels.find(key);
  }
  std::set<std::string> labels_of(const Plan& plan, std::string_view key) const {
    std::set<std::string> out;
    for (const Action& action : plan.actions) out.insert(label(action.node, key));
    return out;
  }

  test::World world_;
  RecipeFactory factory_;
  Workspace workspace_;
};

TEST_F(GangTest, TakesTheTightestRackThatHoldsIt) {
  add_racks({4, 2, 3});
  submit({.groups = {{.closeness = {"rack", true}, .roles = {role(2, 8)}}}});
  EXPECT_EQ(labels_of(decide(), "rack"), std::set<std::string>{"r1"});
  submit({.groups = {{.closeness = {"rack", true}, .roles = {role(3, 8)}}}});
  EXPECT_EQ(labels_of(decide(), "rack"), std::set<std::string>{"r2"});
  submit({.groups = {{.closeness = {"rack", true}, .roles = {role(5, 8)}}}});
  EXPECT_TRUE(decide().actions.empty());
  submit({.groups = {{.closeness = {"rack", false}, .roles = {role(4, 8)}}}});
  EXPECT_EQ(labels_of(decide(), "rack"), std::set<std::string>{"r0"});
}

TEST_F(GangTest, PreferredClosenessFallsBackToAnywhere) {
  add_racks({2, 2});
  submit({.groups = {{.closeness = {"rack", false}, .roles = {role(3, 8)}}}});
  EXPECT_EQ(decide().actions.size(), 3U);
}

// Each sub-group in one rack, the gang as a whole in one block.
TEST_F(GangTest, LevelsNest) {
  add_racks({2, 1, 2, 2});
  GangSpec gang{.closeness = {"block", true}};
  gang.groups = {{.closeness = {"rack", true}, .copies = 2, .roles = {role(2, 8)}}};
  submit(gang);
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 4U);
  EXPECT_EQ(labels_of(plan, "block"), std::set<std::string>{"b1"});
  for (std::size_t at = 0; at < 4; at += 2) {
    EXPECT_EQ(label(plan.actions[at].node, "rack"), label(plan.actions[at + 1].node, "rack"));
  }
}

// A first choice that leaves no rack for a later group is revised.
TEST_F(GangTest, EarlierGroupsMakeRoomForLaterOnes) {
  add_racks({2, 3});
  GangSpec gang;
  gang.groups = {{.closeness = {"rack", true}, .roles = {role(8, 2)}},
                 {.closeness = {"rack", true}, .roles = {role(3, 8)}}};
  submit(gang);
  EXPECT_EQ(decide().actions.size(), 11U);
}

TEST_F(GangTest, AnInfeasibleGangLeavesNoTrace) {
  add_racks({2, 2, 2, 1, 1});
  GangSpec gang;
  gang.groups = {{.closeness = {"rack", true}, .copies = 4, .roles = {role(2, 8)}}};
  submit(gang);
  EXPECT_TRUE(decide().actions.empty());
  submit({.groups = {{.roles = {role(8, 8)}}}});
  EXPECT_EQ(decide().actions.size(), 8U);
}

// Ranks follow the nodes: neighbours in rank are neighbours in the rack.
TEST_F(GangTest, RanksFollowTopology) {
  add_racks({4});
  submit({.groups = {{.closeness = {"rack", true}, .roles = {role(8, 4)}}}});
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 8U);
  for (std::uint32_t at = 0; at < 8; ++at) {
    EXPECT_EQ(plan.actions[at].task.ordinal, at);
    EXPECT_EQ(plan.actions[at].node, NodeIndex(at / 2));
  }
}

// A lost member returns to the rack of the others, or the gang starts again elsewhere.
TEST_F(GangTest, ALostMemberReturnsToItsRack) {
  add_racks({3, 2});
  const JobId id = submit({.groups = {{.closeness = {"rack", true}, .roles = {role(2, 8)}}}});
  EXPECT_EQ(labels_of(decide(), "rack"), std::set<std::string>{"r1"});
  world_.apply(TaskRefused{{id, 0}, 1, "no image"});
  EXPECT_EQ(labels_of(decide(), "rack"), std::set<std::string>{"r1"});
  world_.apply(NodeLost{"r1n0"});
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(plan.actions[0].kind, ActionKind::evict);
  world_.apply(TaskExited{plan.actions[0].task, plan.actions[0].attempt, 143});
  EXPECT_EQ(labels_of(decide(), "rack"), std::set<std::string>{"r0"});
}

TEST_F(GangTest, ElasticRolesGrowOnlyInsideTheirRack) {
  add_racks({3, 4});
  submit({.groups = {{.closeness = {"rack", true}, .roles = {role(9, 8, 3)}}}});
  const Plan plan = decide();
  EXPECT_EQ(plan.actions.size(), 3U);
  EXPECT_EQ(labels_of(plan, "rack"), std::set<std::string>{"r0"});
}

TEST_F(GangTest, OneRolesGrowthDoesNotTakeAnothersMinimum) {
  add_racks({3});
  submit({.groups = {{.roles = {role(3, 8, 1), role(2, 8)}}}});
  EXPECT_EQ(decide().actions.size(), 3U);
}

TEST_F(GangTest, AlternativesAreTriedInOrder) {
  add_racks({2});
  RoleSpec either = role(1, 8);
  either.alternatives = {test::task(1'000'000, 1), test::task(1000, 2)};
  submit({.groups = {{.roles = {either}}}});
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(plan.actions[0].devices.size(), 2U);
}

// What is chosen is what a look at every node for every alternative finds.
TEST_F(GangTest, AlternativesAreChosenByScoreWhenAsked) {
  add_racks({4, 4});
  RoleSpec either = role(1, 1);
  either.alternatives = {test::task(9000, 4), test::task(2000, 2), test::task(30'000, 1)};
  std::set<ShapeIndex> chosen;
  for (const std::string_view name : {"pack", "spread", "bestfit", "fgd"}) {
    PolicyRecipe recipe = *builtin_policy(name);
    recipe.alternatives = AlternativeChoice::by_score;
    const RecipeFactory factory(recipe);
    Workspace kept(factory);
    for (int turn = 0; turn < 4; ++turn) {
      submit({.groups = {{.roles = {either}}}});
      kept.sync(world_.state);
      const Plan plan = Cycle().run(world_.state, kept);
      ASSERT_EQ(plan.actions.size(), 1U);
      const Action& action = plan.actions.front();
      Workspace fresh(factory);
      fresh.sync(world_.state);
      EXPECT_EQ(best_of_all(fresh), std::pair(action.shape, action.node)) << name << turn;
      chosen.insert(action.shape);
      world_.apply(PlanDecided{plan.actions});
    }
  }
  EXPECT_GE(chosen.size(), 2U);
}

// The first role's best nodes are the only ones for the second: what the quick search misses, the
// exact one finds.
TEST_F(GangTest, ARoleLeavesTheOnlyNodesOfAnother) {
  NodeSpec large = test::node("large", {.cpu = 8'000, .gpus = 1});
  NodeSpec small = test::node("small", {.cpu = 4'000, .gpus = 2});
  world_.apply(NodeReported{large});
  world_.apply(NodeReported{small});
  RoleSpec first = role(1, 1);
  first.alternatives = {test::task(3000, 1)};
  RoleSpec second = role(1, 1);
  second.alternatives = {test::task(7000, 1), test::task(2500, 2)};
  submit({.groups = {{.roles = {first, second}}}});
  EXPECT_EQ(decide().actions.size(), 2U);
}

// Within one rack no greedy order works, yet the wish for one rack comes true.
TEST_F(GangTest, AWishComesTrueWhereItCan) {
  add_racks({2, 2});
  RoleSpec halves = role(3, 4);
  RoleSpec whole = role(1, 8);
  whole.alternatives = {test::task(1000, 8), test::task(40'000, 4)};
  submit({.groups = {{.closeness = {"rack", false}, .roles = {halves, whole}}}});
  const Plan plan = decide();
  EXPECT_EQ(plan.actions.size(), 4U);
  EXPECT_EQ(labels_of(plan, "rack").size(), 1U);
}

// Affinity makes the order of tasks matter: who is to be near must be there first.
TEST_F(GangTest, TheOneToBeNearGoesFirst) {
  add_racks({2});
  RoleSpec follower = role(1, 1);
  follower.alternatives[0].affinities = {
      {.tasks = {{{"app", Operator::in, {"db"}}}}, .topology_key = "host"}};
  RoleSpec leader = role(1, 1);
  leader.alternatives[0].labels.set("app", "db");
  submit({.groups = {{.roles = {follower, leader}}}});
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 2U);
  EXPECT_EQ(plan.actions[0].node, plan.actions[1].node);
}

// Two shares of different cards each: the cards with most room serve several tasks.
TEST_F(GangTest, SharesOfSeveralCardsAreDealtOut) {
  NodeSpec node = test::node("n", {.gpus = 3});
  world_.apply(NodeReported{node});
  world_.submit(test::job(test::task(1000, 1, 500)));
  world_.submit(test::job(test::task(1000, 1, 500)));
  decide();
  world_.submit(test::job(test::task(1000, 2, 500), 2));
  const Plan plan = decide();
  EXPECT_EQ(plan.actions.size(), 2U);
  EXPECT_FALSE(plan.decisions.front().search_limit);
}

// Far more tasks than the exact search takes: the order of the roles decides.
TEST_F(GangTest, ChoosyRolesGoFirstWhereTheOrderGivenFails) {
  add_racks({4});
  NodeSpec small = test::node("s", {.gpus = 8, .model = "L4"});
  for (const char* name : {"s0", "s1", "s2"}) {
    small.name = name;
    world_.apply(NodeReported{small});
  }
  RoleSpec workers = role(40, 1);
  RoleSpec big = role(1, 8);
  big.alternatives[0].devices[0].where = *AttributeExpression::parse("model == A100-80G");
  workers.alternatives.insert(workers.alternatives.begin(), big.alternatives[0]);
  workers.alternatives[0].devices[0].count = 1;
  submit({.groups = {{.roles = {workers, big}}}});
  EXPECT_EQ(decide().actions.size(), 41U);
}

// 65 tasks wait for the one that comes last: it goes first.
TEST_F(GangTest, WhoIsInvitedByOthersGoesLast) {
  add_racks({10});
  RoleSpec guests = role(65, 0);
  guests.alternatives[0].affinities = {
      {.tasks = {{{"app", Operator::in, {"host"}}}}, .topology_key = "rack"}};
  RoleSpec host = role(1, 0);
  host.alternatives[0].labels.set("app", "host");
  submit({.groups = {{.roles = {guests, host}}}});
  EXPECT_EQ(decide().actions.size(), 66U);
}

// A second choice that lies between does not put ranks out of order.
TEST_F(GangTest, RanksFollowNodesBesideASecondChoice) {
  add_racks({2});
  RoleSpec halves = role(3, 4);
  RoleSpec whole = role(1, 8);
  whole.alternatives = {test::task(1000, 8), test::task(40'000, 4)};
  submit({.groups = {{.roles = {halves, whole}}}});
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 4U);
  for (std::size_t at = 1; at < 3; ++at) {
    EXPECT_LT(plan.actions[at - 1].task, plan.actions[at].task);
    EXPECT_LE(plan.actions[at - 1].node, plan.actions[at].node);
  }
}

// Three roles that no quick order serves: the last invites the second, and that one the first.
GroupSpec chain() {
  GroupSpec out;
  for (const auto& [app, host] : {std::pair("a", "b"), std::pair("b", "c"), std::pair("c", "")}) {
    TaskShape guest = test::task(1000, 0);
    guest.labels.set("app", app);
    if (*host != '\0') {
      guest.affinities = {{.tasks = {{{"app", Operator::in, {host}}}}, .topology_key = "host"}};
    }
    out.roles.push_back({.name = app, .alternatives = {guest}});
  }
  return out;
}

// The exact search takes the first choice first, which only the last node serves.
TEST_F(GangTest, RanksFollowNodesAfterTheExactSearchToo) {
  add_racks({1, 1});
  RoleSpec pair = role(2, 8);
  TaskShape last = pair.alternatives[0];
  last.nodes.requirements = {{"rack", Operator::in, {"r1"}}};
  pair.alternatives.insert(pair.alternatives.begin(), last);
  GroupSpec group = chain();
  group.roles.push_back(pair);
  submit({.groups = {group}});
  const Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 5U);
  std::vector<std::pair<TaskId, NodeIndex>> ranks;
  for (const Action& action : plan.actions) {
    if (!action.devices.empty()) ranks.emplace_back(action.task, action.node);
  }
  std::ranges::sort(ranks);
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_LT(ranks[0].second, ranks[1].second);
}

// Counting cannot refute it and the units do not suffice: it waits, and says why.
TEST_F(GangTest, SaysWhenTheSearchGaveUp) {
  add_racks({40, 40});
  RoleSpec first = role(30, 8);
  RoleSpec second = role(30, 8);
  second.alternatives = {test::task(2000, 8)};
  for (int at = 0; at < 40; ++at)
    world_.apply(DeviceHealthChanged{"r1n" + std::to_string(at), 0, Health::failed});
  submit({.groups = {{.roles = {first, second}}}});
  const Plan plan = decide();
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_TRUE(plan.decisions.front().search_limit);
  submit({.groups = {{.roles = {role(41, 8)}}}});
  EXPECT_FALSE(decide().decisions.front().search_limit);
}

// A gang without a minimum starts where at least one of it finds room.
TEST_F(GangTest, WithoutAMinimumOneTaskIsEnough) {
  add_racks({1, 2});
  world_.apply(NodeCordoned{"r0n0", true});
  RoleSpec any = role(4, 8);
  any.min = 0;
  submit({.groups = {{.closeness = {"rack", true}, .roles = {any}}}});
  const Plan plan = decide();
  EXPECT_EQ(plan.actions.size(), 2U);
  EXPECT_EQ(labels_of(plan, "rack"), std::set<std::string>{"r1"});
}

// The limit refuses the first alternative; raising it must wake who sleeps for lack of places.
TEST_F(GangTest, ARaisedLimitWakesWhoChoseAmongAlternatives) {
  world_.apply(NodeReported{test::node("n", {.cpu = 2'000})});
  world_.apply(QueueSet{{.name = "small", .limit = {{"gpu", 1}}}});
  RoleSpec either = role(1, 2);
  either.alternatives = {test::task(1000, 2), test::task(9000, 1)};
  JobSpec spec{.name = "gang", .queue = "small"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {either}}}})};
  world_.submit(std::make_shared<const JobSpec>(std::move(spec)));
  EXPECT_TRUE(decide().actions.empty());
  world_.apply(QueueSet{{.name = "small", .limit = {{"gpu", 2}}}});
  EXPECT_EQ(decide().actions.size(), 1U);
}

// Cards that must share a fast link.
TEST_F(GangTest, DevicesOfOneIsland) {
  NodeSpec node = test::node("n");
  for (std::size_t at = 0; at < 8; ++at) node.devices[at].device.island = at < 5 ? 0 : 1;
  world_.apply(NodeReported{node});
  TaskShape shape = test::task(1000, 3);
  shape.devices[0].closeness = {"island", true};
  world_.submit(test::job(shape));
  Plan plan = decide();
  ASSERT_EQ(plan.actions.size(), 1U);
  EXPECT_EQ(plan.actions[0].devices.words()[0], 0b11100000U);  // The island with none to spare.
  shape.devices[0].count = 6;
  world_.submit(test::job(shape));
  EXPECT_TRUE(decide().actions.empty());
}

}  // namespace tutti::gang_test
