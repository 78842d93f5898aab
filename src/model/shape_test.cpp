#include "model/shape.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

namespace tutti::shape_test {

TEST(TolerationTest, MatchesKeyAndValue) {
  const Taint taint{.key = "gpu", .value = "a", .effect = TaintEffect::no_schedule};
  EXPECT_TRUE((Toleration{.key = "gpu", .value = "a"}.tolerates(taint)));
  EXPECT_FALSE((Toleration{.key = "gpu", .value = "b"}.tolerates(taint)));
  EXPECT_TRUE((Toleration{.key = "gpu", .any_value = true}.tolerates(taint)));
  EXPECT_FALSE((Toleration{.key = "gp", .any_value = true}.tolerates(taint)));
}

TEST(TolerationTest, AnEmptyKeyNeedsAnyValue) {
  const Taint taint{.key = "gpu", .value = ""};
  EXPECT_TRUE((Toleration{.any_value = true}.tolerates(taint)));
  EXPECT_FALSE((Toleration{}.tolerates(taint)));
}

TEST(TolerationTest, EffectsCountUnlessAnyIsAccepted) {
  const Taint taint{.key = "k", .value = "v", .effect = TaintEffect::no_execute};
  Toleration toleration{.key = "k", .value = "v", .any_effect = false};
  EXPECT_FALSE(toleration.tolerates(taint));
  toleration.effect = TaintEffect::no_execute;
  EXPECT_TRUE(toleration.tolerates(taint));
  toleration.effect = TaintEffect::prefer_no_schedule;
  toleration.any_effect = true;
  EXPECT_TRUE(toleration.tolerates(taint));
}

TEST(HostPortTest, ConflictsOnEqualPortProtocolAndAddress) {
  const HostPort port{.port = 80, .ip = "10.0.0.1"};
  EXPECT_TRUE(port.conflicts({.port = 80, .ip = "10.0.0.1"}));
  EXPECT_FALSE(port.conflicts({.port = 81, .ip = "10.0.0.1"}));
  EXPECT_FALSE(port.conflicts({.port = 80, .protocol = "UDP", .ip = "10.0.0.1"}));
  EXPECT_FALSE(port.conflicts({.port = 80, .ip = "10.0.0.2"}));
}

TEST(HostPortTest, AnyAddressConflictsWithEach) {
  const HostPort port{.port = 80, .ip = "10.0.0.1"};
  for (const std::string any : {"", "0.0.0.0", "::"}) {
    EXPECT_TRUE(port.conflicts({.port = 80, .ip = any})) << any;
    EXPECT_TRUE((HostPort{.port = 80, .ip = any}.conflicts(port))) << any;
  }
}

TEST(DeviceRequestTest, IsSharedWhenItWantsLessThanAllOfIt) {
  EXPECT_FALSE(DeviceRequest().shared());
  EXPECT_TRUE((DeviceRequest{.where = {}, .compute_permille = 999}.shared()));
  EXPECT_TRUE((DeviceRequest{.where = {}, .memory_mib = 1}.shared()));
}

TaskShape shape() {
  TaskShape shape{.resources = {{"cpu", 1000}, {"memory", 5}},
                  .devices = {{.where = *AttributeExpression::parse("fp8"), .count = 2}}};
  shape.nodes.requirements = {{"rack", Operator::in, {"r1"}}};
  shape.labels.set("app", "a");
  return shape;
}

TEST(ShapeTest, EqualShapesHaveEqualHashes) {
  EXPECT_EQ(shape(), shape());
  EXPECT_EQ(hash_of(shape()), hash_of(shape()));
  // Written differently, meant equally.
  TaskShape same = shape();
  same.devices.front().where = *AttributeExpression::parse(" ( fp8 ) ");
  EXPECT_EQ(same, shape());
  EXPECT_EQ(hash_of(same), hash_of(shape()));
}

TEST(ShapeTest, TheCommonPartsSeparateHashes) {
  const std::vector<std::function<void(TaskShape&)>> changes{
      [](TaskShape& s) { s.resources.front().amount = 1001; },
      [](TaskShape& s) { s.resources.front().name = "cpus"; },
      [](TaskShape& s) { s.resources.pop_back(); },
      [](TaskShape& s) { s.devices.front().count = 3; },
      [](TaskShape& s) { s.devices.front().compute_permille = 500; },
      [](TaskShape& s) { s.devices.front().memory_mib = 10; },
      [](TaskShape& s) { s.devices.front().where = *AttributeExpression::parse("fp4"); },
      [](TaskShape& s) { s.devices.front().closeness.level = "island"; },
      [](TaskShape& s) { s.devices.front().closeness.required = true; },
      [](TaskShape& s) { s.devices.clear(); },
      [](TaskShape& s) { s.nodes.requirements.front().values = {"r2"}; },
      [](TaskShape& s) { s.nodes.requirements.front().op = Operator::not_in; },
      [](TaskShape& s) { s.nodes_any_of.push_back({}); },
      [](TaskShape& s) { s.tolerations.push_back({}); },
      [](TaskShape& s) { s.ports.push_back({.port = 80}); },
      [](TaskShape& s) { s.affinities.push_back({.tasks = {}, .topology_key = "rack"}); },
      [](TaskShape& s) { s.spreads.push_back({.tasks = {}, .topology_key = "rack"}); },
      [](TaskShape& s) { s.space = "team"; },
      [](TaskShape& s) { s.labels.set("app", "b"); }};
  std::set<std::uint64_t> seen{hash_of(shape())};
  for (const auto& change : changes) {
    TaskShape other = shape();
    change(other);
    EXPECT_FALSE(other == shape()) << seen.size();
    EXPECT_TRUE(seen.insert(hash_of(other)).second) << seen.size();
  }
}

}  // namespace tutti::shape_test
