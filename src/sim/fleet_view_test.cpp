#include "sim/fleet_view.h"

#include <gtest/gtest.h>

#include "dialect/tutti.h"

namespace tutti::fleet_view_test {

FleetFile fleet(std::string_view yaml) { return parse_fleet(yaml, "fleet", nullptr).value(); }

TEST(FleetViewTest, NodesThatTakeNoWorkAreNamedAndLeaveNothing) {
  const FleetFile file = fleet(R"(
nodes:
  - {name: a, cpu: 8, gpus: 2xT4}
  - {name: b, cpu: 8, gpus: 4xT4, cordoned: true}
)");
  EXPECT_EQ(describe_fleet(file).closed_nodes, std::vector<std::uint32_t>{1});
  State state;
  for (const NodeSpec& node : file.nodes) state.apply(NodeReported{node}, Instant{});
  const std::vector<Report::Left> left = left_by_model(state);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].gpus, 6U);
  EXPECT_EQ(left[0].unallocated, 2);
}

TEST(FleetViewTest, BrokenAndDividedCardsLeaveNothing) {
  State state;
  for (const NodeSpec& node : fleet(R"(
nodes:
  - name: a
    devices:
      - {model: X, health: failed}
      - {model: X, memory: 10Gi}
      - {model: X, count: 2, memory: 5Gi, parent: 1}
)")
                                  .nodes) {
    state.apply(NodeReported{node}, Instant{});
  }
  const std::vector<Report::Left> left = left_by_model(state);
  EXPECT_EQ(left[0].gpus, 4U);
  EXPECT_EQ(left[0].unallocated, 2);
}

TEST(FleetViewTest, OneDeviceOfAnotherKindMakesThemAccelerators) {
  FleetFile file = fleet("nodes: [{name: a, cpu: 8, gpus: 2xT4}, {name: b, cpu: 8}]");
  EXPECT_TRUE(describe_fleet(file).all_gpus);
  file.nodes[0].devices[1].type.kind = DeviceKind::npu;
  EXPECT_FALSE(describe_fleet(file).all_gpus);
  EXPECT_EQ(device_word(file), "accelerator");
}

}  // namespace tutti::fleet_view_test
