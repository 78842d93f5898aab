/// The engine against the oracle, over thousands of small random worlds: who fits where and why
/// not, which node is the best, and whether a gang starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "policy/registry.h"
#include "sched/cycle.h"
#include "sched/explain.h"
#include "tests/oracle/gang.h"
#include "tests/oracle/make.h"

namespace tutti::oracle::oracle_test {

/// A policy that rates nodes by what is there: another one for each seed.
PolicyRecipe policy_of(std::uint64_t seed) {
  std::vector<std::string_view> names = builtin_policy_names();
  std::erase(names, "random");
  return *builtin_policy(names[seed % names.size()]);
}

std::string dump(std::uint64_t seed, const Scene& scene) {
  return "seed " + std::to_string(seed) + "\n" + to_text(scene.world) +
         to_text(gang_of(*scene.wanted));
}

GangIndex gang_index(const Scene& scene) {
  return scene.state.jobs()[scene.state.find(scene.gang)].first_gang;
}

// --- One task -----------------------------------------------------------------------------------

/// The rating of one node by the sum of the scores, which see only this node.
std::uint64_t rating(const Scene& scene, const PolicySet& policies, const TaskClass& task,
                     NodeIndex node) {
  const View view{scene.state, scene.state.usage()};
  std::uint64_t sum = 0;
  std::uint64_t weights = 0;
  for (const WeightedScore& each : policies.scores) {
    if (!each.score->concerns(task)) continue;
    Permille here = 0;
    each.score->rate(task, view, std::span(&node, 1), std::span(&here, 1));
    sum += std::uint64_t{each.weight} * here;
    weights += each.weight;
  }
  return sum / weights;
}

class TaskCase {
 public:
  explicit TaskCase(std::uint64_t seed)
      : seed_(seed),
        scene_(make_scene(seed, {.nodes = 6, .tasks = 1})),
        factory_(policy_of(seed)),
        workspace_(factory_) {
    workspace_.sync(scene_.state);
  }

  void run() {
    const Gang gang = gang_of(*scene_.wanted);
    const GangShape& shape = scene_.state.gang_shape(scene_.state.gangs()[index()].shape);
    for (std::size_t role = 0; role < gang.roles.size(); ++role) {
      const RoleSpec& spec = *gang.roles[role].spec;
      for (std::size_t at = 0; at < spec.alternatives.size(); ++at) {
        check_places(spec.alternatives[at], shape.roles[role].alternatives[at]);
      }
    }
    check_reasons();
  }

 private:
  GangIndex index() const { return gang_index(scene_); }

  void check_places(const TaskShape& shape, ShapeIndex number) {
    const State& state = scene_.state;
    NodeIndex best;
    std::uint64_t highest = 0;
    for (std::size_t at = 0; at < scene_.world.nodes.size(); ++at) {
      const NodeIndex node(at);
      const bool fits = feasible(scene_.world, shape, at);
      const NodeIndex taken = workspace_.best_among(state, number, std::span(&node, 1));
      ASSERT_EQ(taken.valid(), fits) << "node " << at << " for " << to_text(shape) << "\n"
                                     << dump(seed_, scene_);
      if (!fits) continue;
      const std::uint64_t here =
          1 + rating(scene_, workspace_.policies(), workspace_.task_class(state, number), node);
      if (here <= highest) continue;
      highest = here;
      best = node;
    }
    ASSERT_EQ(workspace_.best(state, number), best)
        << "the best node for " << to_text(shape) << "\n"
        << dump(seed_, scene_);
    ASSERT_EQ(workspace_.best_by_scan(state, number), best);
  }

  /// Counts of reasons and the nearest miss, for the task that the engine explains.
  void check_reasons() {
    const Explanation explained = reasons(scene_.state, factory_, index());
    const TaskShape& shape = scene_.state.shape(explained.shape).spec;
    const std::vector<std::string> lanes = scene_.lanes();
    std::map<std::tuple<Reason, std::uint32_t, std::string>, std::pair<std::uint32_t, std::int64_t>>
        counts;
    std::uint32_t fitting = 0;
    NodeIndex nearest;
    std::int64_t least = INT64_MAX;
    for (std::size_t at = 0; at < scene_.world.nodes.size(); ++at) {
      const Why why = why_not(scene_.world, lanes, shape, at);
      if (why.ok()) {
        ++fitting;
        continue;
      }
      auto& [nodes, shortfall] = counts[{why.reason, why.detail, why.amount}];
      shortfall = nodes == 0 ? why.shortfall : std::min(shortfall, why.shortfall);
      ++nodes;
      const std::int64_t away = distance(shape, why);
      if (away >= least) continue;
      least = away;
      nearest = NodeIndex(at);
    }
    EXPECT_EQ(explained.fitting, fitting) << dump(seed_, scene_);
    EXPECT_EQ(explained.nearest, nearest) << to_text(shape) << "\n" << dump(seed_, scene_);
    ASSERT_EQ(explained.counts.size(), counts.size())
        << to_text(shape) << "\n"
        << to_text(scene_.state, explained) << dump(seed_, scene_);
    for (const Explanation::Count& each : explained.counts) {
      const bool lane = each.reject.reason == Reason::lane_short;
      const std::string name =
          lane ? scene_.state.fleet().lanes().name(Lane(each.reject.detail)) : std::string();
      const auto [nodes, shortfall] =
          counts[{each.reject.reason, lane ? 0 : each.reject.detail, name}];
      ASSERT_EQ(each.nodes, nodes) << to_text(shape) << "\n"
                                   << to_text(scene_.state, explained) << dump(seed_, scene_);
      ASSERT_EQ(each.reject.shortfall, shortfall) << dump(seed_, scene_);
    }
  }

  /// Thousandths of what is asked for that are missing. Who has some of the devices, but can never
  /// have enough of them, comes after all others.
  static std::int64_t distance(const TaskShape& shape, const Why& why) {
    std::int64_t asked = 0;
    if (why.reason == Reason::device_type_missing &&
        why.shortfall < shape.devices[why.detail].count)
      return INT64_MAX / 2 + why.shortfall * 1000 / shape.devices[why.detail].count;
    if (why.reason == Reason::devices_busy) asked = shape.devices[why.detail].count;
    if (why.reason == Reason::lane_short && why.amount == "pods") asked = 1;
    for (const NamedAmount& part : shape.resources) {
      if (why.reason == Reason::lane_short && part.name == why.amount) asked = part.amount;
    }
    return asked == 0 ? INT64_MAX : why.shortfall * 1000 / asked;
  }

  std::uint64_t seed_;
  Scene scene_;
  RecipeFactory factory_;
  Workspace workspace_;
};

// --- Gangs --------------------------------------------------------------------------------------

/// What the plan places of the gang, in the oracle's terms.
std::vector<Placed> placed_by(const Plan& plan, const Scene& scene, const Gang& gang) {
  std::vector<Placed> out;
  for (const Action& action : plan.actions) {
    EXPECT_EQ(action.kind, ActionKind::place);
    EXPECT_EQ(action.task.job, scene.gang);
    Placed task{.node = action.node.value()};
    while (task.role + 1 < gang.roles.size() &&
           gang.roles[task.role + 1].first_task <= action.task.ordinal) {
      ++task.role;
    }
    const TaskShape& chosen = scene.state.shape(action.shape).spec;
    for (const TaskShape& shape : gang.roles[task.role].spec->alternatives) {
      if (shape == chosen) task.shape = &shape;
    }
    if (task.shape == nullptr) task.shape = &chosen;
    action.devices.each([&](unsigned ordinal) { task.devices.push_back(ordinal); });
    out.push_back(std::move(task));
  }
  return out;
}

struct Tally {
  unsigned placed = 0;
  unsigned waits = 0;
  unsigned gave_up = 0;
};

/// May each of its tasks stand anywhere, whatever its place in the order?
bool bound_to_nothing(const Gang& gang) {
  const auto near = [](const Closeness& each) { return !each.level.empty(); };
  return std::ranges::none_of(gang.groups, near) &&
         std::ranges::none_of(gang.roles, [](const Role& role) {
           return std::ranges::any_of(role.spec->alternatives, order_matters);
         });
}

void check_gang(std::uint64_t seed, const Knobs& knobs, Tally& tally) {
  const Scene scene = make_scene(seed, knobs);
  const Gang gang = gang_of(*scene.wanted);
  const RecipeFactory factory(policy_of(seed));
  Workspace workspace(factory);
  const Plan plan = Cycle().run(scene.state, workspace);
  const std::vector<Placed> placed = placed_by(plan, scene, gang);
  const bool possible = can_start(scene.world, gang, 0);
  ++(possible ? tally.placed : tally.waits);
  if (plan.decisions.front().search_limit) {
    ++tally.gave_up;
    return;
  }
  ASSERT_EQ(!placed.empty(), possible) << dump(seed, scene);
  if (placed.empty()) return;
  std::size_t wishes = gang.wishes();
  while (wishes > 0 && !can_start(scene.world, gang, wishes)) --wishes;
  ASSERT_EQ(wrong_with(scene.world, gang, placed, wishes), "")
      << wishes << " wishes can come true\n"
      << dump(seed, scene);
  if (gang.closeness.level.empty() && bound_to_nothing(gang)) {
    ASSERT_FALSE(can_grow(scene.world, gang, placed)) << dump(seed, scene);
  }
}

// --- What would unblock -------------------------------------------------------------------------

/// Changes the shapes of the gang's tasks, and submits it anew.
template <class Change>
void resubmit(Scene& scene, Change&& change) {
  GangSpec gang = *scene.wanted->gangs.front();
  for (GroupSpec& group : gang.groups) {
    for (RoleSpec& role : group.roles) std::ranges::for_each(role.alternatives, change);
  }
  JobSpec spec = *scene.wanted;
  spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
  scene.replace_gang(std::make_shared<const JobSpec>(std::move(spec)));
}

/// Makes it so, in the engine's world and in the oracle's.
void happen(Scene& scene, const Unblock& fact) {
  const std::size_t at = fact.node.value();
  switch (fact.kind) {
    case Unblock::Kind::raise_limit: {
      QueueSpec queue =
          *std::ranges::find(scene.world.queues, scene.wanted->queue, &QueueSpec::name);
      const auto limit = std::ranges::find(queue.limit, fact.amount.name, &NamedAmount::name);
      EXPECT_GT(fact.amount.amount, limit->amount);
      limit->amount = fact.amount.amount;
      return scene.tell(QueueSet{queue});
    }
    case Unblock::Kind::task_ends:
      return scene.tell(TaskExited{fact.task, 1, 0});
    case Unblock::Kind::uncordon:
      EXPECT_TRUE(scene.world.nodes[at].cordoned);
      return scene.tell(NodeCordoned{scene.world.nodes[at].name, false});
    case Unblock::Kind::node_returns:
      EXPECT_FALSE(scene.world.present[at]);
      return scene.tell(NodeReported{scene.world.nodes[at]});
    case Unblock::Kind::device_heals:
      return scene.tell(
          DeviceHealthChanged{scene.world.nodes[at].name, fact.ordinal, Health::online});
    case Unblock::Kind::company:
      return scene.occupy(fact.companion, at, {}, "default");
    case Unblock::Kind::tolerate:
      return resubmit(scene, [&](TaskShape& shape) {
        shape.tolerations.push_back({.key = fact.taint.key, .value = fact.taint.value});
      });
    case Unblock::Kind::add_nodes:
      for (std::uint32_t each = 0; each < fact.count; ++each) {
        NodeSpec node = fact.spec;
        node.name = "more" + std::to_string(scene.world.nodes.size());
        scene.tell(NodeReported{node});
      }
      return;
    case Unblock::Kind::steps_aside:
      return scene.tell(JobCancelled{fact.job});
  }
}

/// Everything of others has ended, everything is healthy.
World emptied(World world) {
  world.tasks.clear();
  for (NodeSpec& node : world.nodes) {
    node.cordoned = false;
    for (DeviceSpec& device : node.devices) device.device.health = Health::online;
  }
  world.present.assign(world.present.size(), 1);
  return world;
}

/// Does the gang ask for what no list of facts can bring about: devices that nobody in the fleet
/// has, or relations between its tasks that may contradict each other?
bool beyond_help(const Scene& scene) {
  const State& state = scene.state;
  bool related = false;
  const Gang gang = gang_of(*scene.wanted);
  const bool one_host = gang.closeness.level == "host" ||
                        std::ranges::count(gang.groups, "host", &Closeness::level) > 0;
  for (const GangShape::Role& role :
       state.gang_shape(state.gangs()[gang_index(scene)].shape).roles) {
    bool known = false;
    for (const ShapeIndex index : role.alternatives) {
      const ShapeRow& row = state.shape(index);
      related = related || !row.spec.affinities.empty() || !row.spec.spreads.empty() ||
                !row.spec.labels.all().empty() || (one_host && !row.spec.ports.empty());
      std::size_t there = 0;
      for (std::size_t at = 0; at < row.spec.devices.size(); ++at) {
        there += std::ranges::count(row.hold, at, &Hold::request) > 0 ? 1 : 0;
      }
      known = known || there == row.spec.devices.size();
    }
    if (!known) return true;
  }
  return related;
}

/// May it come about by itself, without anyone changing the gang, its limits or the fleet?
bool may_happen(const Unblock& fact) {
  return fact.kind == Unblock::Kind::task_ends || fact.kind == Unblock::Kind::uncordon ||
         fact.kind == Unblock::Kind::node_returns || fact.kind == Unblock::Kind::device_heals ||
         fact.kind == Unblock::Kind::company || fact.kind == Unblock::Kind::steps_aside;
}

struct Blocked {
  unsigned waits = 0;
  unsigned never = 0;
  unsigned helpless = 0;  ///< Nothing was named that would help.
};

void check_unblock(std::uint64_t seed, const Knobs& knobs, Blocked& tally) {
  Scene scene = make_scene(seed, knobs);
  const RecipeFactory factory(policy_of(seed));
  Workspace workspace(factory);
  if (!Cycle().run(scene.state, workspace).actions.empty()) return;
  const Explanation why = explain(scene.state, factory, gang_index(scene));
  const std::string before = dump(seed, scene) + to_text(scene.state, why);
  // Company that it asks for and that is not of its like may come: then it can start on the emptied
  // fleet.
  Scene alone = scene;
  resubmit(alone, [&](TaskShape& shape) {
    std::erase_if(shape.affinities, [&](const TaskAffinity& term) {
      return !term.anti && term.weight == 0 &&
             !spoken_of(term.tasks, term.namespaces, shape, shape);
    });
  });
  const bool ever = can_start(emptied(alone.world), gang_of(*alone.wanted), 0) ||
                    (!why.unblock.empty() && std::ranges::all_of(why.unblock, may_happen));
  ASSERT_EQ(why.outcome, ever ? Outcome::waits : Outcome::never) << before;
  ++(ever ? tally.waits : tally.never);
  if (why.unblock.empty()) {
    ++tally.helpless;
    ASSERT_TRUE(beyond_help(scene)) << before;
    return;
  }
  for (const Unblock& fact : why.unblock) happen(scene, fact);
  const Gang gang = gang_of(*scene.wanted);
  ASSERT_TRUE(can_start(scene.world, gang, 0)) << before << "then\n" << to_text(scene.world);
  const Plan plan = Cycle().run(scene.state, workspace);
  ASSERT_EQ(wrong_with(scene.world, gang, placed_by(plan, scene, gang), 0), "")
      << before << "then\n"
      << to_text(scene.world);
  ASSERT_FALSE(plan.actions.empty()) << before << "then\n" << to_text(scene.world);
}

constexpr unsigned shards = 5;

class OracleTest : public testing::TestWithParam<unsigned> {};

TEST_P(OracleTest, OneTaskFitsWhereTheOracleSaysAndTakesTheBestNode) {
  for (std::uint64_t seed = GetParam(); seed < 4'000; seed += shards) {
    TaskCase(seed).run();
    if (HasFatalFailure()) return;
  }
}

TEST_P(OracleTest, AGangStartsExactlyWhenSomeAssignmentExists) {
  Tally tally;
  for (std::uint64_t seed = GetParam(); seed < 5'000; seed += shards) {
    const Knobs knobs = seed % 3 == 0   ? Knobs{.nodes = 2, .tasks = 5}
                        : seed % 3 == 1 ? Knobs{.nodes = 4, .tasks = 4}
                                        : Knobs{.nodes = 6, .tasks = 3};
    check_gang(seed, knobs, tally);
    if (HasFatalFailure()) return;
  }
  // A world in which nothing is placed, or everything, proves little.
  EXPECT_GT(tally.placed, 100U);
  EXPECT_GT(tally.waits, 100U);
  EXPECT_EQ(tally.gave_up, 0U);
}

TEST_P(OracleTest, WhatIsSaidToUnblockDoes) {
  Blocked tally;
  for (std::uint64_t seed = GetParam(); seed < 1'000; seed += shards) {
    check_unblock(seed + 100'000, {.nodes = 4, .tasks = 1 + static_cast<unsigned>(seed / 5 % 3)},
                  tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.waits, 15U);
  EXPECT_GT(tally.never, 40U);
  EXPECT_LT(tally.helpless, tally.never / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OracleTest, testing::Range(0U, shards));

}  // namespace tutti::oracle::oracle_test
