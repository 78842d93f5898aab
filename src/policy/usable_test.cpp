#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/prng.h"
#include "policy/makers.h"
#include "policy/test_openb.h"
#include "policy/usable_table.h"
#include "sched/fit.h"
#include "sched/test_fleet.h"

namespace tutti::usable_test {

TaskShape shape_of(std::int64_t cpu, std::int64_t devices, std::int64_t permille) {
  return test::task(cpu, static_cast<unsigned>(devices), static_cast<unsigned>(permille));
}

NodeSpec node_of(const std::string& name, std::int64_t cpu,
                 const std::vector<std::string>& models) {
  NodeSpec spec = test::node(name, {.cpu = cpu, .gpus = 0});
  for (const std::string& model : models) spec.devices.push_back({.type = {.model = model}});
  return spec;
}

/// A world with tasks on it, and how the score rates others.
class UsableTest : public testing::Test {
 protected:
  ShapeIndex intern(const TaskShape& shape) {
    const JobId id = world_.submit(test::job(shape));
    return world_.state.tasks()[world_.state.find(TaskId{id, 0})].shape;
  }
  /// Runs a task there for ever.
  void hold(const TaskShape& shape, NodeIndex node, const std::vector<unsigned>& ordinals) {
    const JobId id = world_.submit(test::job(shape));
    Action action{.task = {id, 0}, .attempt = 1, .node = node};
    action.shape = world_.state.tasks()[world_.state.find(action.task)].shape;
    for (const unsigned ordinal : ordinals) action.devices.add(ordinal);
    world_.apply(PlanDecided{{action}});
  }
  /// Makes that much open, on a node of which nothing is held.
  void leave_open(NodeIndex node, std::int64_t cpu, const std::vector<unsigned>& permille) {
    const std::int64_t held = view().usage.free(node, lane::cpu) - cpu;
    if (held > 0) hold(test::task(held, 0), node, {});
    for (unsigned at = 0; at < permille.size(); ++at) {
      if (permille[at] < 1000) hold(test::task(0, 1, 1000 - permille[at]), node, {at});
    }
  }

  View view() const { return {world_.state, world_.state.usage()}; }
  std::unique_ptr<const Score> score() const {
    const std::vector<Argument> arguments{{"fullness", 200}};
    return make_usable(arguments, world_.state);
  }
  TaskClass class_of(ShapeIndex shape) const {
    return {.shape = shape, .row = &world_.state.shape(shape)};
  }
  Permille rate(const Score& score, ShapeIndex shape, NodeIndex node) const {
    Permille out = 0;
    score.rate(class_of(shape), view(), std::span(&node, 1), std::span(&out, 1));
    return out;
  }
  std::vector<Permille> rate_devices(const Score& score, ShapeIndex shape, NodeIndex node) const {
    std::vector<std::uint8_t> ordinals;
    candidates(class_of(shape), view(), node, 0, ordinals);
    std::vector<Permille> out(ordinals.size());
    score.rate_devices(class_of(shape), view(), node, ordinals, out);
    return out;
  }

  test::World world_;
};

// --- Published figures ---------------------------------------------------------------------------

struct Nodes {
  const char* model;
  std::int32_t cpu, devices, count;
};
/// The nodes with accelerators of the source of policy/test_openb.h.
constexpr std::array<Nodes, 15> openb_nodes{{{"G2", 96000, 8, 549},
                                             {"T4", 104000, 2, 387},
                                             {"P100", 16000, 2, 107},
                                             {"G3", 128000, 8, 39},
                                             {"V100M16", 32000, 4, 28},
                                             {"P100", 64000, 2, 22},
                                             {"V100M32", 96000, 8, 21},
                                             {"V100M16", 8000, 1, 19},
                                             {"T4", 96000, 4, 17},
                                             {"V100M32", 48000, 4, 9},
                                             {"V100M16", 64000, 8, 7},
                                             {"P100", 8000, 1, 3},
                                             {"P100", 8000, 2, 2},
                                             {"A10", 128000, 1, 2},
                                             {"V100M16", 82000, 8, 1}}};

class UsableOpenbTest : public UsableTest {
 protected:
  UsableOpenbTest() {
    int number = 0;
    for (const Nodes& kind : openb_nodes) {
      const std::vector<std::string> models(static_cast<std::size_t>(kind.devices), kind.model);
      for (int at = 0; at < kind.count; ++at) {
        world_.apply(NodeReported{node_of("n" + std::to_string(number++), kind.cpu, models)});
      }
    }
    MixSet mix;
    for (const test::OpenbShape& tasks : test::openb_shapes) {
      mix.entries.push_back({shape_of(tasks.cpu_milli, tasks.gpus, tasks.permille),
                             static_cast<std::uint32_t>(tasks.pods)});
    }
    world_.apply(mix);
  }
  static constexpr NodeIndex g2{0};  ///< 96 cores, eight devices.
};

// The tables of an independent prototype that computes with floating-point numbers.
TEST_F(UsableOpenbTest, TablesAreThoseOfThePrototype) {
  const UsableTable table(world_.state, 200);
  EXPECT_EQ(table.feed(), 96356);
  EXPECT_TRUE(std::ranges::equal(
      table.cpu_steps(),
      std::array{4152, 8200, 11400, 14000, 15700, 17400, 24200, 32000, 60200, 64200, 120200}));
  EXPECT_TRUE(
      std::ranges::equal(table.size_steps(), std::array{110, 220, 270, 330, 440, 470, 590, 1000}));
  constexpr std::array<std::array<std::int16_t, 9>, 12> mass{
      {{{0, 0, 0, 0, 0, 0, 0, 0, 0}},
       {{0, 40, 225, 463, 956, 1056, 1060, 1371, 4639}},
       {{0, 60, 319, 591, 1224, 1328, 2240, 2553, 6269}},
       {{0, 60, 319, 591, 1224, 1328, 2240, 2553, 9442}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 11653}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 12228}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 12228}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 13242}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 13242}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 13242}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 13242}},
       {{0, 60, 319, 591, 1224, 1328, 2986, 3299, 13242}}}};
  constexpr std::array<std::array<std::int64_t, 9>, 12> gangs{
      {{{0, 0, 0, 0, 0, 0, 0, 0, 0}},
       {{0, 0, 0, 0, 0, 0, 0, 0, 0}},
       {{0, 0, 0, 0, 0, 0, 0, 0, 0}},
       {{0, 0, 0, 0, 0, 0, 0, 0, 0}},
       {{0, 0, 22, 33, 44, 55, 66, 77, 88}},
       {{0, 0, 22, 33, 44, 55, 66, 77, 88}},
       {{0, 0, 68, 102, 136, 170, 204, 238, 272}},
       {{0, 0, 68, 102, 136, 170, 204, 238, 272}},
       {{0, 0, 84, 126, 216, 270, 324, 378, 432}},
       {{0, 0, 84, 126, 412, 515, 618, 721, 824}},
       {{0, 0, 84, 126, 412, 515, 618, 721, 1680}},
       {{0, 0, 84, 126, 412, 515, 618, 721, 8760}}}};
  const UsableTable::Type& type = *table.type(view().fleet().uniform_type(g2));
  ASSERT_EQ(type.rows.size(), mass.size());
  for (std::size_t row = 0; row < mass.size(); ++row) {
    EXPECT_EQ(type.rows[row].mass, mass[row]) << row;
    for (std::size_t whole = 0; whole <= 8; ++whole) {
      EXPECT_EQ(table.gangs(type, row, static_cast<std::int64_t>(whole)), gangs[row][whole] * 1000)
          << row << " " << whole;
    }
  }
}

struct Golden {
  std::int64_t cpu;
  std::array<std::uint16_t, 8> open;
  std::int64_t value, terms;
  test::OpenbShape task;
  Permille rating;
  int device;
};
constexpr std::array<Golden, 10> golden{
    {{96000,
      {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
      107616000,
      1586,
      {11300, 1, 1000, 0},
      498,
      -1},
     {96000,
      {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
      107616000,
      1586,
      {88000, 8, 1000, 0},
      498,
      -1},
     {96000,
      {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
      107616000,
      1586,
      {3152, 1, 810, 0},
      497,
      0},
     {96000,
      {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
      107616000,
      1586,
      {32000, 0, 0, 0},
      466,
      -1},
     {50000, {190, 1000, 0, 530, 1000, 1000, 350, 0}, 41874380, 410, {8000, 1, 470, 0}, 502, 3},
     {50000, {190, 1000, 0, 530, 1000, 1000, 350, 0}, 41874380, 410, {4000, 1, 160, 0}, 501, 0},
     {50000, {190, 1000, 0, 530, 1000, 1000, 350, 0}, 41874380, 410, {24200, 1, 1000, 0}, 489, -1},
     {20000,
      {190, 1000, 0, 530, 1000, 1000, 350, 0},
      38808380,
      -4056,
      {11300, 1, 1000, 0},
      494,
      -1},
     {20000, {190, 1000, 0, 530, 1000, 1000, 350, 0}, 38808380, -4056, {8000, 0, 0, 0}, 484, -1},
     {20000, {190, 1000, 0, 530, 1000, 1000, 350, 0}, 38808380, -4056, {8000, 1, 320, 0}, 491, 6}}};

TEST_F(UsableOpenbTest, RatingsAreThoseOfThePrototype) {
  const UsableTable table(world_.state, 200);
  const auto usable = score();
  std::uint64_t next = 0;
  for (const Golden& each : golden) {
    const NodeIndex node(next++);
    leave_open(node, each.cpu, std::vector<unsigned>(each.open.begin(), each.open.end()));
    const UsableTable::Type& type = *table.type(view().fleet().uniform_type(node));
    const std::size_t step = table.cpu_step(each.cpu);
    std::int64_t value = table.gangs(type, step, std::ranges::count(each.open, 1000));
    std::int64_t open = 0;
    for (const std::uint16_t device : each.open) {
      value += table.value(type, step, device);
      open += device;
    }
    EXPECT_EQ(value, each.value) << next;
    EXPECT_EQ(table.node_terms(each.cpu, open, 8), each.terms) << next;
    const ShapeIndex shape =
        intern(shape_of(each.task.cpu_milli, each.task.gpus, each.task.permille));
    EXPECT_EQ(rate(*usable, shape, node), each.rating) << next;
    if (each.device < 0) continue;
    const DeviceSet chosen = choose_devices(class_of(shape), view(), node, *usable);
    EXPECT_TRUE(chosen.contains(static_cast<unsigned>(each.device))) << next;
  }
}

// Both ways to compute a rating agree: a device of a type that nobody wants makes the node mixed,
// but changes nothing.
TEST_F(UsableOpenbTest, TheVectorPathAndThePlainOneAgree) {
  Prng prng(7);
  std::vector<ShapeIndex> shapes;
  // The mix must not want the "nic", so all ask for models by name.
  const auto by_name = [](TaskShape shape) {
    if (shape.devices.empty()) return shape;
    shape.devices[0].where = *AttributeExpression::parse("model in (\"G2\", \"T4\")");
    return shape;
  };
  for (const unsigned permille : {0U, 500U, 1000U}) {
    TaskShape memory = by_name(test::task(1000, 1, permille));
    memory.devices[0].memory_mib = 15'000;
    shapes.push_back(intern(memory));
  }
  MixSet mix;
  for (const test::OpenbShape& tasks : test::openb_shapes) {
    const TaskShape shape = by_name(shape_of(tasks.cpu_milli, tasks.gpus, tasks.permille));
    mix.entries.push_back({shape, static_cast<std::uint32_t>(tasks.pods)});
    shapes.push_back(intern(shape));
  }
  world_.apply(mix);
  struct Pair {
    NodeIndex vector, plain;
  };
  std::vector<Pair> pairs;
  for (int round = 0; round < 60; ++round) {
    NodeSpec spec = node_of("a" + std::to_string(round), std::int64_t{prng.below(130)} * 1000,
                            std::vector<std::string>(1 + prng.below(8), round % 2 ? "G2" : "T4"));
    for (DeviceSpec& device : spec.devices) device.type.memory_mib = 40'960;
    world_.apply(NodeReported{spec});
    spec.name = "b" + std::to_string(round);
    spec.devices.push_back({.type = {.model = "nic"}});
    world_.apply(NodeReported{spec});
    pairs.push_back(
        {*view().fleet().find("a" + std::to_string(round)), *view().fleet().find(spec.name)});
  }
  const auto usable = score();
  int compared = 0;
  for (const Pair& pair : pairs) {
    std::vector<unsigned> open;
    for (std::size_t at = 1; at < view().fleet().devices(pair.plain).size(); ++at) {
      open.push_back(prng.chance(400) ? 1000 : prng.below(101) * 10);
    }
    const std::int64_t cpu = view().usage.free(pair.vector, lane::cpu) * prng.below(11) / 10;
    leave_open(pair.vector, cpu, open);
    leave_open(pair.plain, cpu, open);
    for (const ShapeIndex shape : shapes) {
      if (!fits(class_of(shape), view(), pair.vector)) continue;
      EXPECT_EQ(rate(*usable, shape, pair.vector), rate(*usable, shape, pair.plain));
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

// --- Any fleet -----------------------------------------------------------------------------------

// A small task goes to the node that is broken already, not to the one that a gang could have.
TEST_F(UsableTest, KeepsLargeHolesWhole) {
  world_.apply(NodeReported{test::node("whole")});
  world_.apply(NodeReported{test::node("broken")});
  world_.apply(MixSet{{{test::task(4000, 1), 50}, {test::task(32'000, 8), 5}}});
  hold(test::task(4000, 1), NodeIndex(1), {0});
  EXPECT_LT(rate(*score(), intern(test::task(4000, 1)), NodeIndex(0)),
            rate(*score(), intern(test::task(4000, 1)), NodeIndex(1)));
}

// A task with much cpu and no device goes where it starves no device.
TEST_F(UsableTest, KeepsCpuForOpenDevices) {
  world_.apply(NodeReported{test::node("idle", {.cpu = 64'000})});
  world_.apply(NodeReported{test::node("full", {.cpu = 64'000})});
  world_.apply(NodeReported{test::node("none", {.cpu = 64'000, .gpus = 0})});
  world_.apply(MixSet{{{test::task(8000, 1), 50}}});
  hold(test::task(8000, 7), NodeIndex(1), {0, 1, 2, 3, 4, 5, 6});
  const ShapeIndex shape = intern(test::task(32'000, 0));
  const auto usable = score();
  EXPECT_LT(rate(*usable, shape, NodeIndex(0)), rate(*usable, shape, NodeIndex(1)));
  EXPECT_LE(rate(*usable, shape, NodeIndex(1)), rate(*usable, shape, NodeIndex(2)));
}

// Tasks that can run anywhere stay away from the few devices that others depend on.
TEST_F(UsableTest, SparesScarceDevices) {
  world_.apply(NodeReported{node_of("rare", 64'000, {"H100", "H100"})});
  for (int at = 0; at < 9; ++at) {
    world_.apply(NodeReported{node_of("n" + std::to_string(at), 64'000, {"T4", "T4"})});
  }
  TaskShape picky = test::task(4000, 1);
  picky.devices[0].where = *AttributeExpression::parse("model in (\"H100\")");
  world_.apply(MixSet{{{test::task(4000, 1), 9}, {picky, 1}}});
  const ShapeIndex shape = intern(test::task(4000, 1));
  EXPECT_LT(rate(*score(), shape, NodeIndex(0)), rate(*score(), shape, NodeIndex(1)));
}

TEST_F(UsableTest, AnEmptyMixPacks) {
  world_.apply(NodeReported{test::node("idle")});
  world_.apply(NodeReported{test::node("used")});
  world_.apply(NodeReported{test::node("cpu", {.gpus = 0})});
  hold(test::task(1000, 1, 500), NodeIndex(1), {3});
  for (const std::uint32_t count : {0U, 7U}) {
    // Neither an empty mix nor one without devices wants any device.
    world_.apply(count == 0 ? MixSet{} : MixSet{{{test::task(1000, 0), count}}});
    const ShapeIndex shape = intern(test::task(1000, 1, 300));
    EXPECT_LT(rate(*score(), shape, NodeIndex(0)), rate(*score(), shape, NodeIndex(1)));
    const std::vector<Permille> devices = rate_devices(*score(), shape, NodeIndex(1));
    EXPECT_EQ(std::ranges::max_element(devices) - devices.begin(), 3);
    EXPECT_GE(rate(*score(), intern(test::task(1000, 0)), NodeIndex(2)), 500);
  }
}

TEST_F(UsableTest, AnEmptyFleetHasATable) {
  world_.apply(MixSet{{{test::task(1000, 1), 1}}});
  EXPECT_EQ(UsableTable(world_.state, 200).feed(), 0);
}

// Only how much is open on each device counts, not on which.
TEST_F(UsableTest, TheOrderOfDevicesDoesNotMatter) {
  world_.apply(MixSet{{{test::task(4000, 1, 300), 5}, {test::task(8000, 2), 3}}});
  for (unsigned at = 0; at < 8; ++at) {
    world_.apply(NodeReported{test::node("n" + std::to_string(at), {.gpus = at < 4 ? 5U : 20U})});
    std::vector<unsigned> open{1000, 600, 0, 350, 1000};
    open.resize(view().fleet().devices(NodeIndex(at)).size(), 150);
    std::ranges::rotate(open, open.begin() + at);
    leave_open(NodeIndex(at), 30'000, open);
  }
  for (const auto& shape : {test::task(4000, 1, 300), test::task(4000, 1), test::task(4000, 2),
                            test::task(4000, 0), test::task(4000, 1, 50)}) {
    const ShapeIndex index = intern(shape);
    const auto usable = score();
    for (unsigned at = 1; at < 8; ++at) {
      const NodeIndex first(at < 4 ? 0 : 4);
      EXPECT_EQ(rate(*usable, index, NodeIndex(at)), rate(*usable, index, first)) << at;
    }
  }
}

/// Every kind of node and class that an input can describe.
class UsableHostileTest : public UsableTest {
 protected:
  UsableHostileTest() {
    const std::vector<std::string> many(128, "H100");
    std::vector<std::string> mixed{"H100", "T4", "nic", "T4", "H100", "nic", "H100"};
    for (int type = 0; type < 60; ++type) mixed.push_back("type" + std::to_string(type));
    world_.apply(NodeReported{node_of("many", std::int64_t{1} << 59, many)});
    world_.apply(NodeReported{node_of("mixed", 64'000, mixed)});
    world_.apply(NodeReported{node_of("no cpu", 0, {"H100", "T4"})});
    world_.apply(NodeReported{node_of("no devices", 64'000, {})});
    world_.apply(NodeReported{node_of("unwanted", 64'000, {"nic", "nic"})});
    world_.apply(NodeReported{node_of("shrunk", 64'000, {"T4", "T4", "T4", "T4"})});
    leave_open(NodeIndex(5), 4000, {1000, 10, 0, 500});
    world_.apply(NodeReported{node_of("shrunk", 1000, {"T4", "T4", "T4", "T4"})});
    leave_open(NodeIndex(0), 90'000, {700, 1000, 300});
    leave_open(NodeIndex(1), 30'000, {700, 1000, 300, 40});
    const auto gpu = *AttributeExpression::parse("model != \"nic\"");
    for (const std::int64_t cpu : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7000}}) {
      for (const unsigned devices : {0U, 1U, 2U, 3U, 8U, 128U}) {
        for (const unsigned permille : {0U, 1U, 250U, 999U, 1000U}) {
          shapes_.push_back(test::task(cpu, devices, permille));
          if (devices > 0) shapes_.back().devices[0].where = gpu;
        }
      }
    }
    shapes_.push_back(test::task(std::int64_t{1} << 58, 1));
    shapes_.back().devices[0].where = gpu;
  }
  std::vector<TaskShape> shapes_;
};

TEST_F(UsableHostileTest, RatesEverythingAndAgreesWithItself) {
  ASSERT_LT(view().usage.free(NodeIndex(5), lane::cpu), 0);
  for (const std::uint32_t count : {0U, 1U, UINT32_MAX}) {
    MixSet mix;
    for (const TaskShape& shape : shapes_) mix.entries.push_back({shape, count});
    if (count == 0) mix.entries.clear();
    world_.apply(mix);
    const auto usable = score();
    std::set<unsigned> seen;
    for (const TaskShape& shape : shapes_) {
      const ShapeIndex index = intern(shape);
      for (std::size_t at = 0; at < view().fleet().size(); ++at) {
        const NodeIndex node(at);
        if (!fits(class_of(index), view(), node)) continue;
        const Permille rating = rate(*usable, index, node);
        EXPECT_LE(rating, 1000);
        seen.insert(rating);
        const bool chooses =
            shape.devices.size() == 1 && shape.devices[0].count == 1 && shape.devices[0].shared();
        if (count == 0 || !chooses) continue;
        EXPECT_EQ(rating, std::ranges::max(rate_devices(*usable, index, node))) << at;
      }
    }
    EXPECT_GT(seen.size(), 5U);
  }
}

}  // namespace tutti::usable_test
