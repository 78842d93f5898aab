/// Each rare path is counted where it is taken, and nowhere else.
#include "sched/rare_paths.h"

#include <gtest/gtest.h>

#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/test_fleet.h"

namespace tutti::rare_paths_test {

using Names = std::vector<std::string_view>;

/// Two racks of two nodes with 8 devices each.
class RarePathsTest : public testing::Test {
 protected:
  RarePathsTest() : factory_(*builtin_policy("pack")), workspace_(factory_) {
    for (unsigned at = 0; at < 4; ++at) {
      NodeSpec node = test::node("n" + std::to_string(at));
      node.labels.set("rack", "r" + std::to_string(at / 2));
      world_.apply(NodeReported{node});
    }
  }

  static GroupSpec group(unsigned tasks, unsigned gpus, Closeness closeness = {}) {
    return {
        .closeness = std::move(closeness),
        .roles = {
            {.name = "w", .count = tasks, .min = tasks, .alternatives = {test::task(1000, gpus)}}}};
  }
  JobId submit(GangSpec gang, const std::string& queue = "default") {
    JobSpec spec{.name = "gang", .queue = queue};
    spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
    return world_.submit(std::make_shared<const JobSpec>(std::move(spec)));
  }
  /// One cycle; the paths that it took.
  Names decide() {
    const RarePaths before = workspace_.rare_paths();
    const Plan plan = Cycle().run(world_.state, workspace_);
    if (!plan.actions.empty()) world_.apply(PlanDecided{plan.actions});
    return since(before);
  }
  Names since(const RarePaths& before) const {
    Names names;
    for (std::size_t at = 0; at < rare_path_names.size(); ++at) {
      if (workspace_.rare_paths().all()[at] > before.all()[at]) {
        names.push_back(rare_path_names[at]);
      }
    }
    return names;
  }
  void lose(const TaskId& task) {
    const Task& row = world_.state.tasks()[world_.state.find(task)];
    world_.apply(TaskRefused{task, row.attempt, "no"});
  }

  test::World world_;
  RecipeFactory factory_;
  Workspace workspace_;
};

TEST_F(RarePathsTest, CommonOnesCountNothing) {
  submit({.groups = {group(3, 4, {"rack", true})}});
  submit({.groups = {group(1, 1)}});
  EXPECT_EQ(decide(), Names{});
  world_.submit(test::job(test::task(1000, 9)));
  EXPECT_EQ(decide(), Names{}) << "it waits, and nothing else";
}

TEST_F(RarePathsTest, Wishes) {
  submit({.groups = {group(2, 8, {"rack", false})}});
  EXPECT_EQ(decide(), Names{});
  submit({.groups = {group(2, 5, {"rack", false})}});
  EXPECT_EQ(decide(), Names{}) << "the other rack still holds it";
  submit({.groups = {group(2, 3, {"host", false})}});
  EXPECT_EQ(decide(), Names{"wish_given_up"});
}

// The first group takes the tighter rack, which the second needs.
TEST_F(RarePathsTest, ADomainIsRevised) {
  submit({.groups = {group(1, 1)}});
  decide();
  GroupSpec any = group(1, 8, {"rack", true});
  GroupSpec tight = group(1, 8, {"rack", true});
  tight.roles[0].alternatives[0].nodes.requirements = {{"rack", Operator::in, {"r0"}}};
  submit({.groups = {any, tight}});
  EXPECT_EQ(decide(), Names{"domain_revised"});
}

TEST_F(RarePathsTest, AnotherOrderOfRoles) {
  // Each task takes the best node for itself: the free one, which the last one needs.
  GroupSpec picky = group(1, 8);
  picky.roles[0].alternatives[0].nodes.requirements = {{"rack", Operator::in, {"r0"}}};
  submit({.groups = {group(2, 8), picky}});
  EXPECT_EQ(decide(), Names{"choosiest_first"});
}

TEST_F(RarePathsTest, TheExactSearch) {
  submit({.groups = {group(3, 8)}});
  EXPECT_EQ(decide(), Names{});
  // The last invites the second, and that one the first.
  const auto guest = [](const std::string& app, const std::string& of) {
    GroupSpec out = group(1, 0);
    out.roles[0].alternatives[0].labels.set("app", app);
    if (of.empty()) return out;
    out.roles[0].alternatives[0].affinities = {
        {.tasks = {{{"app", Operator::in, {of}}}}, .topology_key = "host"}};
    return out;
  };
  submit({.groups = {guest("a", "b"), guest("b", "c"), guest("c", "")}});
  EXPECT_EQ(decide(), Names{"exact_found"});
  // On the node that is left each has room, and both together have devices enough, but no cpu.
  GroupSpec large = group(1, 1);
  large.roles[0].alternatives[0].resources = {{"cpu", 40'000}};
  GroupSpec larger = large;
  larger.roles[0].alternatives[0].resources = {{"cpu", 50'000}};
  submit({.groups = {large, larger}});
  EXPECT_EQ(decide(), Names{"exact_none"});
}

TEST_F(RarePathsTest, TooManyTasksForTheExactSearch) {
  GroupSpec large = group(40, 0);
  large.roles[0].alternatives[0].resources = {{"cpu", 4000}};
  GroupSpec larger = large;
  larger.roles[0].alternatives[0].resources = {{"cpu", 5000}};
  submit({.groups = {large, larger}});
  EXPECT_EQ(decide(), Names{"exact_too_large"});
}

TEST_F(RarePathsTest, WithoutAMinimum) {
  GroupSpec none = group(3, 8);
  none.roles[0].min = 0;
  submit({.groups = {none}});
  EXPECT_EQ(decide(), Names{"started_without_minimum"});
}

TEST_F(RarePathsTest, Limits) {
  world_.apply(QueueSet{{.name = "small", .limit = {{"gpu", 4}}}});
  submit({.groups = {group(1, 5)}}, "small");
  EXPECT_EQ(decide(), Names{"limit_held_gang"});
  GroupSpec elastic = group(2, 3);
  elastic.roles[0].min = 1;
  submit({.groups = {elastic}}, "small");
  EXPECT_EQ(decide(), Names{"limit_refused_task"});
}

TEST_F(RarePathsTest, AnElasticGangGrows) {
  const TaskId first{submit({.groups = {group(4, 8)}}), 0};
  decide();
  GroupSpec elastic = group(3, 8);
  elastic.roles[0].min = 1;
  submit({.groups = {elastic}});
  EXPECT_EQ(decide(), Names{});
  world_.apply(JobCancelled{first.job});
  EXPECT_EQ(decide(), Names{"rest_stopped"});
  world_.apply(TaskExited{first, 1, 143});
  EXPECT_EQ(decide(), Names{}) << "it starts";
  world_.apply(TaskExited{{first.job, 1}, 1, 143});
  EXPECT_EQ(decide(), Names{"gang_grew"});
}

TEST_F(RarePathsTest, ALostMember) {
  const JobId job = submit({.groups = {group(3, 8)}});
  decide();
  lose({job, 1});
  EXPECT_EQ(decide(), Names{"gang_mended"});
  const State& state = world_.state;
  const std::string node = state.fleet().node(state.tasks()[state.find({job, 1})].node).name;
  for (const char* name : {"n0", "n1", "n2", "n3"}) world_.apply(NodeCordoned{name, true});
  world_.apply(NodeLost{node});
  EXPECT_EQ(decide(), Names{"gang_given_up"});
}

TEST_F(RarePathsTest, CompanyIsAwaited) {
  TaskShape near = test::task(1000, 1);
  near.affinities = {{.tasks = {{{"app", Operator::in, {"x"}}}}, .topology_key = "host"}};
  world_.submit(test::job(near));
  EXPECT_EQ(decide(), Names{"company_awaited"});
  TaskShape company = test::task(1000, 1);
  company.labels.set("app", "x");
  world_.submit(test::job(company));
  decide();
  EXPECT_EQ(decide(), Names{}) << "it has come";
}

TEST_F(RarePathsTest, OffersAreSpent) {
  for (unsigned at = 4; at < 70; ++at) {
    world_.apply(NodeReported{test::node("n" + std::to_string(at))});
  }
  TaskShape alone = test::task(1000, 1);
  alone.labels.set("app", "x");
  alone.affinities = {
      {.tasks = {{{"app", Operator::in, {"x"}}}}, .topology_key = "host", .anti = true}};
  world_.submit(test::job(alone, 64));
  EXPECT_EQ(decide(), Names{});
  world_.submit(test::job(alone, 1));
  EXPECT_EQ(decide(), Names{"offers_spent"});
}

TEST_F(RarePathsTest, TalliesAreCountedAgain) {
  TaskShape spread = test::task(1000, 1);
  spread.spreads = {{.tasks = {}, .topology_key = "rack", .max_skew = 1}};
  world_.submit(test::job(spread));
  EXPECT_EQ(decide(), Names{});
  world_.apply(NodeCordoned{"n3", true});
  world_.submit(test::job(spread));
  EXPECT_EQ(decide(), Names{"tallies_recounted"});
}

TEST_F(RarePathsTest, MoreClassesThanAreKept) {
  RoleSpec role{.name = "w"};
  for (int at = 0; at < 256; ++at) role.alternatives.push_back(test::task(100'000 + at, 0));
  submit({.groups = {{.roles = {role}}}});
  EXPECT_EQ(decide(), Names{});
  world_.submit(test::job(test::task(1000, 1)));
  EXPECT_EQ(decide(), Names{"class_evicted"});
}

TEST_F(RarePathsTest, TheChangeLogIsOutrun) {
  decide();
  submit({.copies = 1 << 16, .groups = {group(1, 9)}});
  EXPECT_EQ(decide(), Names{});
  submit({.copies = (1 << 16) + 1, .groups = {group(1, 9)}});
  EXPECT_EQ(decide(), Names{"log_outrun"});
}

}  // namespace tutti::rare_paths_test
