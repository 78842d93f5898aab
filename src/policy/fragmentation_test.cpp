#include "policy/fragmentation.h"

#include <gtest/gtest.h>

#include "sched/test_fleet.h"

namespace tutti::fragmentation_test {

/// One node with the given cpu and what is open on its devices, under a mix.
class FragmentationTest : public testing::Test {
 protected:
  double fragments(std::int64_t cpu, const std::vector<unsigned>& open,
                   const std::vector<MixSet::Entry>& mix) {
    test::World world;
    world.apply(
        NodeReported{test::node("n", {.cpu = cpu, .gpus = static_cast<unsigned>(open.size())})});
    for (unsigned at = 0; at < open.size(); ++at) {
      if (open[at] < 1000) occupy(world, 1000 - open[at], at);
    }
    world.apply(MixSet{mix});
    const Fragmentation measure(world.state, 100);
    Fragmentation::Look now;
    measure.look({world.state, world.state.usage()}, NodeIndex(0), now);
    return static_cast<double>(measure.fragments(now)) / static_cast<double>(measure.total());
  }

 private:
  static void occupy(test::World& world, unsigned permille, unsigned ordinal) {
    const JobId id = world.submit(test::job(test::task(0, 1, permille)));
    Action action{.task = {id, 0}, .attempt = 1, .node = NodeIndex(0)};
    action.shape = world.state.tasks()[world.state.find(action.task)].shape;
    action.devices.add(ordinal);
    world.apply(PlanDecided{{action}});
  }
};

// Values worked out by hand from the definition.
TEST_F(FragmentationTest, EverythingIsAFragmentWhereTheTaskCannotRun) {
  const std::vector<unsigned> open{200, 1000, 1000, 500};
  EXPECT_DOUBLE_EQ(fragments(1000, open, {{test::task(6000, 1, 465), 1}}), 2700);
  EXPECT_DOUBLE_EQ(fragments(0, open, {{test::task(1, 1, 100), 1}}), 2700);
}

TEST_F(FragmentationTest, DevicesTooFullForTheTaskAreFragments) {
  const std::vector<unsigned> open{200, 1000, 1000, 500};
  EXPECT_DOUBLE_EQ(fragments(64'000, open, {{test::task(6000, 2), 1}}), 700);
  EXPECT_DOUBLE_EQ(fragments(64'000, open, {{test::task(6000, 1, 465), 1}}), 200);
  EXPECT_DOUBLE_EQ(fragments(64'000, open, {{test::task(6000, 3), 1}}), 2700);
}

TEST_F(FragmentationTest, TasksWithoutDevicesMakeEverythingAFragment) {
  EXPECT_DOUBLE_EQ(fragments(64'000, {1000, 1000}, {{test::task(6000, 0), 1}}), 2000);
}

TEST_F(FragmentationTest, IsTheMeanOverTheMix) {
  const std::vector<unsigned> open{200, 1000};
  EXPECT_DOUBLE_EQ(
      fragments(64'000, open, {{test::task(1000, 1), 3}, {test::task(1000, 1, 200), 1}}),
      (3 * 200 + 1 * 0) / 4.0);
}

// A mix of ten million tasks is scaled down, not overflowed.
TEST_F(FragmentationTest, LargeCountsAreScaled) {
  EXPECT_NEAR(
      fragments(64'000, {200, 1000},
                {{test::task(1000, 1), 30'000'000}, {test::task(1000, 1, 200), 10'000'000}}),
      150, 0.1);
}

// What it says about the future is what it then measures.
TEST_F(FragmentationTest, AfterIsWhatIsMeasuredAfterwards) {
  test::World world;
  world.apply(NodeReported{test::node("n", {.cpu = 20'000, .gpus = 4})});
  world.apply(
      MixSet{{{test::task(4000, 1, 300), 5}, {test::task(8000, 2), 3}, {test::task(1000, 0), 2}}});
  const Fragmentation measure(world.state, 100);
  for (const TaskShape& shape : {test::task(4000, 1, 300), test::task(5000, 1, 450),
                                 test::task(2000, 2), test::task(3000, 0)}) {
    const View view{world.state, world.state.usage()};
    const JobId id = world.submit(test::job(shape));
    const TaskIndex task = world.state.find(TaskId{id, 0});
    const ShapeIndex index = world.state.tasks()[task].shape;
    const Demand demand = demand_of(world.state.shape(index));
    std::size_t device = 0;
    while (demand.shared() && view.usage.open_permille()[device] < demand.share) ++device;
    Fragmentation::Look look;
    measure.look(view, NodeIndex(0), look);
    const std::int64_t foretold = measure.fragments_after(look, demand, device);
    Action action{.task = {id, 0}, .attempt = 1, .shape = index, .node = NodeIndex(0)};
    if (demand.shared()) action.devices.add(static_cast<unsigned>(device));
    for (unsigned at = 0; !demand.shared() && action.devices.size() < demand.count; ++at) {
      if (view.usage.open_permille()[at] == 1000) action.devices.add(at);
    }
    world.apply(PlanDecided{{action}});
    measure.look(view, NodeIndex(0), look);
    EXPECT_EQ(measure.fragments(look), foretold);
  }
}

}  // namespace tutti::fragmentation_test
