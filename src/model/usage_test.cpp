#include "model/usage.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/prng.h"

namespace tutti::usage_test {

NodeSpec node(const std::string& name, std::size_t gpus) {
  NodeSpec spec{.name = name, .capacity = {{"cpu", 1000}}};
  spec.devices.assign(gpus, {.type = {.model = "T4", .memory_mib = 100}, .device = {}});
  return spec;
}

/// One CPU milli-core, one pod and a share of each device.
ShapeRow row(std::uint16_t permille) {
  return {
      .spec = {},
      .request = {{lane::cpu, 1}, {lane::pods, 1}},
      .hold = {
          {.request = 0, .compute_permille = permille, .memory_mib = permille / std::int32_t{10}}}};
}

/// A fleet whose usage follows it as State does.
struct World {
  Fleet fleet;
  Usage usage;

  void report(const NodeSpec& spec) {
    const auto known = fleet.find(spec.name);
    const Resources old = known ? fleet.node(*known).capacity : Resources();
    const bool bounded = !known || fleet.node(*known).bounded_pods;
    const std::vector<std::uint32_t> begin = fleet.device_offsets();
    const Fleet::Upsert done = fleet.upsert(spec);
    usage.resize(fleet, done.devices_moved ? std::span(begin) : std::span<const std::uint32_t>());
    usage.recapacitate(fleet, done.node, old, bounded);
    usage.reopen(fleet, done.node);
  }
};

DeviceSet devices(std::initializer_list<unsigned> ordinals) {
  DeviceSet set;
  for (const unsigned ordinal : ordinals) set.add(ordinal);
  return set;
}

TEST(UsageTest, ReleaseIsTheInverseOfHoldInAnyOrder) {
  World world;
  for (const char* name : {"a", "b", "c"}) world.report(node(name, 4));
  const Usage empty = world.usage;
  const std::vector<ShapeRow> rows{row(100), row(200), row(250)};
  struct Held {
    std::uint32_t shape;
    NodeIndex node;
    DeviceSet devices;
  };
  Prng prng(7);
  std::vector<Held> held;
  for (int step = 0; step < 1000; ++step) {
    if (held.size() < 4 && prng.chance(600)) {
      Held fresh{prng.below(3), NodeIndex(prng.below(3)), {}};
      for (unsigned ordinal = 0; ordinal < 4; ++ordinal) {
        if (prng.chance(500)) fresh.devices.add(ordinal);
      }
      held.push_back(fresh);
      world.usage.hold(world.fleet, ShapeIndex(fresh.shape), rows[fresh.shape], fresh.node,
                       fresh.devices);
    } else if (!held.empty()) {
      std::swap(held[prng.below(static_cast<std::uint32_t>(held.size()))], held.back());
      const Held& last = held.back();
      world.usage.release(world.fleet, ShapeIndex(last.shape), rows[last.shape], last.node,
                          last.devices);
      held.pop_back();
    }
    EXPECT_EQ(world.usage == empty, held.empty()) << step;
  }
}

TEST(UsageTest, HoldsCountWhatIsAskedOfEachDevice) {
  World world;
  world.report(node("a", 3));
  const NodeIndex a(0);
  world.usage.hold(world.fleet, ShapeIndex(5), row(300), a, devices({0, 2}));
  EXPECT_EQ(world.usage.free(a, lane::cpu), 999);
  EXPECT_EQ(world.usage.free(a, lane::pods), Usage::unbounded - 1);
  EXPECT_EQ(world.usage.used_permille(0), 300);
  EXPECT_EQ(world.usage.used_permille(1), 0);
  EXPECT_EQ(world.usage.open_permille()[2], 700);
  EXPECT_EQ(world.usage.open_mib()[2], 70);
  ASSERT_EQ(world.usage.shapes(a).size(), 1U);
  EXPECT_EQ(world.usage.shapes(a)[0].shape, ShapeIndex(5));
}

TEST(UsageTest, ResizingKeepsBookings) {
  World world;
  world.report(node("a", 2));
  world.report(node("b", 2));
  const NodeIndex a(0);
  const NodeIndex b(1);
  world.usage.hold(world.fleet, ShapeIndex(0), row(400), a, devices({1}));
  world.usage.hold(world.fleet, ShapeIndex(1), row(600), b, devices({0}));
  // Devices before those of b, a new lane, a new node.
  NodeSpec larger = node("a", 5);
  larger.capacity.push_back({"example.com/x", 9});
  world.report(larger);
  world.report(node("c", 1));
  EXPECT_EQ(world.usage.used_permille(1), 400);
  EXPECT_EQ(world.usage.used_permille(5), 600);
  EXPECT_EQ(world.usage.used_mib(5), 60);
  EXPECT_EQ(world.usage.open_permille()[5], 400);
  EXPECT_EQ(world.usage.free(a, lane::cpu), 999);
  EXPECT_EQ(world.usage.free(b, lane::cpu), 999);
  EXPECT_EQ(world.usage.free(a, Lane(4)), 9);
  EXPECT_EQ(world.usage.free(b, Lane(4)), 0);
  EXPECT_EQ(world.usage.free(NodeIndex(2), lane::cpu), 1000);
  EXPECT_EQ(world.usage.shapes(b)[0].shape, ShapeIndex(1));
  world.usage.release(world.fleet, ShapeIndex(1), row(600), b, devices({0}));
  EXPECT_EQ(world.usage.used_permille(5), 0);
}

TEST(UsageTest, NothingIsOpenOnAClosedNodeOrASickDevice) {
  World world;
  world.report(node("a", 2));
  const NodeIndex a(0);
  world.fleet.set_health(1, Health::degraded);
  world.usage.reopen(world.fleet, a);
  EXPECT_EQ(world.usage.open_permille()[0], 1000);
  EXPECT_EQ(world.usage.open_permille()[1], 0);
  EXPECT_EQ(world.usage.open_mib()[1], 0);
  world.fleet.set_cordoned(a, true, false);
  world.usage.reopen(world.fleet, a);
  EXPECT_EQ(world.usage.open_permille()[0], 0);
  world.usage.hold(world.fleet, ShapeIndex(0), row(100), a, devices({0}));
  EXPECT_EQ(world.usage.open_permille()[0], 0);
  world.fleet.set_cordoned(a, false, false);
  world.usage.reopen(world.fleet, a);
  EXPECT_EQ(world.usage.open_permille()[0], 900);
}

TEST(UsageTest, CopyingANodeTellsWhetherItDiffered) {
  World world;
  world.report(node("a", 2));
  world.report(node("b", 2));
  Usage other = world.usage;
  other.hold(world.fleet, ShapeIndex(0), row(100), NodeIndex(1), devices({1}));
  EXPECT_FALSE(world.usage.copy_node(world.fleet, other, NodeIndex(0)));
  EXPECT_TRUE(world.usage.copy_node(world.fleet, other, NodeIndex(1)));
  EXPECT_EQ(world.usage, other);
  EXPECT_FALSE(world.usage.copy_node(world.fleet, other, NodeIndex(1)));
}

TEST(UsageDeathTest, ReleasingWhatIsNotHeldIsABug) {
  World world;
  world.report(node("a", 1));
  EXPECT_DEATH(
      world.usage.release(world.fleet, ShapeIndex(0), row(100), NodeIndex(0), devices({0})),
      "used_permille_");
  EXPECT_DEATH(world.usage.release(world.fleet, ShapeIndex(0), row(100), NodeIndex(0), {}),
               "by > 0");
}

}  // namespace tutti::usage_test
