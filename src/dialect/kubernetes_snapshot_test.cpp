#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dialect/kubernetes.h"
#include "model/catalog.h"

namespace tutti::kubernetes_snapshot_test {

constexpr std::string_view dump = R"({"kind": "List", "items": [
{"kind": "Node", "metadata": {"name": "n0"}, "status": {"allocatable": {"cpu": "8"}}},
{"kind": "Pod", "metadata": {"name": "solo", "namespace": "a",
  "creationTimestamp": "1970-01-01T00:01:00Z"},
  "spec": {"nodeName": "n0", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
  "status": {"phase": "Running"}},
{"kind": "Pod", "metadata": {"name": "w-0", "namespace": "a",
  "creationTimestamp": "1970-01-01T00:00:09Z", "labels": {"volcano.sh/task-spec": "worker"},
  "annotations": {"scheduling.k8s.io/group-name": "g"}},
  "spec": {"priority": 5, "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}},
{"kind": "Pod", "metadata": {"name": "done", "namespace": "a"}, "spec": {},
  "status": {"phase": "Succeeded"}},
{"kind": "ConfigMap", "metadata": {"name": "what"}},
{"kind": "Pod", "metadata": {"name": "m", "namespace": "a",
  "creationTimestamp": "1970-01-01T00:00:07Z",
  "annotations": {"scheduling.k8s.io/group-name": "g"}},
  "spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}},
{"kind": "Pod", "metadata": {"name": "w-1", "namespace": "a",
  "creationTimestamp": "1970-01-01T00:00:08Z", "labels": {"volcano.sh/task-spec": "worker"},
  "annotations": {"scheduling.k8s.io/group-name": "g"}},
  "spec": {"nodeName": "n0", "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}},
{"kind": "PodGroup", "metadata": {"name": "g", "namespace": "a"},
  "spec": {"minMember": 2, "queue": "research"}}
]})";

TEST(KubernetesSnapshotTest, AMinimumIsMetByThePodsThatAskForLeast) {
  const Catalog catalog = Catalog::builtin().value();
  const auto pod = [](const std::string& name, const std::string& limits) {
    return R"({"kind": "Pod", "metadata": {"name": ")" + name + R"(", "namespace": "a",
      "annotations": {"scheduling.k8s.io/group-name": "g"}},
      "spec": {"containers": [{"resources": {"limits": {)" +
           limits + R"(}}}]}})";
  };
  const std::string node = R"({"kind": "Node", "metadata": {"name": "n0"},
    "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "1"}}})";
  const std::string group = R"({"kind": "PodGroup", "metadata": {"name": "g", "namespace": "a"},
    "spec": {"minMember": 2}})";
  const std::string one = pod("g-0", R"("nvidia.com/gpu": 1)");
  const std::string two = pod("g-1", R"("nvidia.com/gpu": 1)");
  const std::string cpu = pod("g-2", R"("cpu": "1")");
  for (const auto& pods : {std::vector{one, two, cpu}, std::vector{cpu, two, one}}) {
    std::string text = R"({"kind": "List", "items": [)" + node + "," + group;
    for (const std::string& each : pods) text += "," + each;
    Skipped skipped;
    const auto snapshot = read_snapshot(source_of(text + "]}", 4096), "live", &catalog, skipped);
    ASSERT_TRUE(snapshot.has_value()) << snapshot.error().text();
    for (const RoleSpec& role :
         snapshot->workload.jobs.at(0).spec->gangs.at(0)->groups.at(0).roles) {
      EXPECT_EQ(role.min, 1U) << role.name;
      EXPECT_EQ(role.count, role.alternatives.front().devices.empty() ? 1U : 2U);
    }
  }
}

TEST(KubernetesSnapshotTest, GathersGangs) {
  const Catalog catalog = Catalog::builtin().value();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 16U}) {
    Skipped skipped;
    const auto snapshot = read_snapshot(source_of(dump, piece), "live", &catalog, skipped);
    ASSERT_TRUE(snapshot.has_value()) << snapshot.error().text();
    EXPECT_EQ(snapshot->fleet.nodes.size(), 1U);
    ASSERT_EQ(snapshot->workload.jobs.size(), 2U);
    EXPECT_EQ(snapshot->workload.jobs[0].spec->name, "solo");
    EXPECT_EQ(snapshot->standing[0].nodes, (std::vector<std::string>{"n0"}));
    const Submission& gang = snapshot->workload.jobs[1];
    EXPECT_EQ(gang.spec->name, "g");
    EXPECT_EQ(gang.spec->queue, "research");
    EXPECT_EQ(gang.spec->priority, 5);
    EXPECT_EQ(gang.at.us, 7'000'000);
    EXPECT_EQ(gang.gpu_milli, 2000);
    const auto& roles = gang.spec->gangs.at(0)->groups.at(0).roles;
    ASSERT_EQ(roles.size(), 2U);
    EXPECT_EQ(roles[0].name, "worker");
    EXPECT_EQ(roles[0].count, 2U);
    EXPECT_EQ(roles[0].min, 2U);
    EXPECT_EQ(roles[1].min, 0U);
    EXPECT_EQ(snapshot->standing[1].pods, (std::vector<std::string>{"w-0", "w-1", "m"}));
    EXPECT_EQ(snapshot->standing[1].nodes, (std::vector<std::string>{"", "n0", ""}));
  }
}

TEST(KubernetesSnapshotTest, LeavesOutWhatItMay) {
  constexpr std::string_view broken =
      R"({"items": [{"kind": "Node", "metadata": {"name": "n"},
 "status": {"allocatable": {"cpu": "x"}}},
{"kind": "Node", "metadata": {"name": "n"}}, {"kind": "Node", "metadata": {"name": "n"}}]})";
  Skipped none;
  const auto refused = read_snapshot(source_of(broken), "live", nullptr, none);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().where, "2:36");
  EXPECT_EQ(refused.error().what.substr(0, 36), "node n: status.allocatable.cpu: \"x\" ");
  Skipped two{.allowed = 2};
  const auto read = read_snapshot(source_of(broken), "live", nullptr, two);
  ASSERT_TRUE(read.has_value()) << read.error().text();
  EXPECT_EQ(two.lines, 2U);
  EXPECT_EQ(read->fleet.nodes.size(), 1U);
  Skipped one{.allowed = 1};
  const auto twice = read_snapshot(source_of(broken), "live", nullptr, one);
  ASSERT_FALSE(twice.has_value());
  EXPECT_TRUE(twice.error().what.starts_with("2 bad, 1 allowed: 2:36: node n: "))
      << twice.error().what;
  EXPECT_TRUE(twice.error().what.ends_with("; 3:46: node n appears twice")) << twice.error().what;
}

std::string pod(std::string_view name, std::string_view rest) {
  return R"({"kind": "Pod", "metadata": {"namespace": "a", "name": ")" + std::string(name) + "\"" +
         std::string(rest) + "}";
}

Snapshot items(const std::vector<std::string>& objects) {
  std::string text = "{\"items\": [";
  for (std::size_t at = 0; at < objects.size(); ++at) text += (at == 0 ? "" : ",") + objects[at];
  const Catalog catalog = Catalog::builtin().value();
  Skipped none;
  auto snapshot = read_snapshot(source_of(text + "]}"), "live", &catalog, none);
  EXPECT_TRUE(snapshot.has_value()) << snapshot.error().text();
  return std::move(snapshot).value_or(Snapshot{});
}

constexpr std::string_view plain_node =
    R"({"kind": "Node", "metadata": {"name": "n0"}, "status": {"allocatable": {"cpu": "8"}}})";

TEST(KubernetesSnapshotTest, SetsAsideWhatIsBoundElsewhere) {
  const std::string group =
      R"(, "annotations": {"scheduling.k8s.io/group-name": "g",
          "scheduling.volcano.sh/group-min-member": "3"}}, "spec": {"nodeName": ")";
  const auto cpu = [](int cores) {
    return R"(", "containers": [{"resources": {"requests": {"cpu": ")" + std::to_string(cores) +
           R"("}}}]})";
  };
  Snapshot snapshot =
      items({std::string(plain_node), pod("lost", R"(}, "spec": {"nodeName": "gone"})"),
             pod("here", R"(}, "spec": {"nodeName": "n0"})"), pod("g-0", group + "gone" + cpu(1)),
             pod("g-1", group + "n0" + cpu(1)), pod("g-2", group + cpu(1)),
             pod("g-3", group + "old" + cpu(2))});
  set_aside_elsewhere(snapshot);
  EXPECT_EQ(snapshot.elsewhere.pods, 3U);
  EXPECT_EQ(snapshot.elsewhere.nodes, (std::set<std::string>{"gone", "old"}));
  ASSERT_EQ(snapshot.workload.jobs.size(), 2U);
  EXPECT_EQ(snapshot.workload.jobs[0].spec->name, "here");
  EXPECT_EQ(snapshot.standing[1].pods, (std::vector<std::string>{"g-1", "g-2"}));
  EXPECT_EQ(snapshot.standing[1].nodes, (std::vector<std::string>{"n0", ""}));
  const auto& roles = snapshot.workload.jobs[1].spec->gangs.at(0)->groups.at(0).roles;
  ASSERT_EQ(roles.size(), 1U);
  EXPECT_EQ(roles[0].count, 2U);
  EXPECT_EQ(roles[0].min, 2U);
}

TEST(KubernetesSnapshotTest, NothingIsSetAsideWhereAllNodesAreKnown) {
  Snapshot snapshot = items({std::string(plain_node), pod("a", R"(}, "spec": {"nodeName": "n0"})"),
                             pod("b", R"(}, "spec": {})")});
  set_aside_elsewhere(snapshot);
  EXPECT_EQ(snapshot.elsewhere.pods, 0U);
  EXPECT_EQ(snapshot.standing.size(), 2U);
}

TEST(KubernetesSnapshotTest, ReservationsOfSharedCardsAreNoWork) {
  for (const std::string_view space : {"kai-resource-reservation", "runai-reservation"}) {
    const Snapshot snapshot = items(
        {std::string(plain_node), R"({"kind": "Pod", "metadata": {"name": "r", "namespace": ")" +
                                      std::string(space) + R"("}, "spec": {"nodeName": "n0"}})"});
    EXPECT_TRUE(snapshot.workload.jobs.empty()) << space;
  }
}

TEST(KubernetesSnapshotTest, UnitsOfSharedCardsAreSharesThere) {
  const std::string node =
      R"({"kind": "Node", "metadata": {"name": "s", "labels": {"nvidia.com/gpu.replicas": "4",
          "nvidia.com/gpu.product": "NVIDIA-L4-SHARED"}}, "status": {"allocatable":
          {"nvidia.com/gpu": "8"}}})";
  const auto asks = [](int units) {
    return R"(}, "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": )" +
           std::to_string(units) + "}}}]}";
  };
  const Snapshot snapshot = items({node, pod("one", asks(1)), pod("three", asks(3)),
                                   pod("five", asks(5)), pod("cpu", R"(}, "spec": {})")});
  EXPECT_EQ(snapshot.fleet.nodes[0].capacity, (std::vector<NamedAmount>{{"nvidia.com/gpu", 8}}));
  const auto shapes = [&](std::size_t job) {
    std::vector<std::array<std::int64_t, 3>> out;  // Devices, ‰ of each, units in all.
    for (const TaskShape& shape :
         snapshot.workload.jobs[job].spec->gangs.at(0)->groups.at(0).roles.at(0).alternatives) {
      for (const DeviceRequest& request : shape.devices) {
        const std::int64_t units = shape.resources.empty() ? 0 : shape.resources[0].amount;
        out.push_back({request.count, request.compute_permille, units});
      }
    }
    return out;
  };
  using Shapes = std::vector<std::array<std::int64_t, 3>>;
  EXPECT_EQ(shapes(0), (Shapes{{1, 1000, 0}, {1, 250, 1}}));
  EXPECT_EQ(shapes(1), (Shapes{{3, 1000, 0}, {3, 250, 3}, {1, 750, 3}}));
  EXPECT_EQ(shapes(2), (Shapes{{5, 1000, 0}, {5, 250, 5}, {2, 625, 5}}));
  EXPECT_TRUE(shapes(3).empty());
  const DeviceType& card = snapshot.fleet.nodes[0].devices[0].type;
  const auto& alternatives =
      snapshot.workload.jobs[0].spec->gangs.at(0)->groups.at(0).roles.at(0).alternatives;
  EXPECT_FALSE(alternatives[0].devices[0].where.matches(card));
  EXPECT_TRUE(alternatives[1].devices[0].where.matches(card));
}

// Placed anew, a pod that shares a card is not given one of its own while there are shares.
TEST(KubernetesSnapshotTest, WhatSharesACardStartsWithShares) {
  const std::string node =
      R"({"kind": "Node", "metadata": {"name": "s", "labels": {"nvidia.com/gpu.replicas": "4",
          "nvidia.com/gpu.product": "NVIDIA-L4-SHARED"}}, "status": {"allocatable":
          {"nvidia.com/gpu": "8"}}})";
  const auto asks = [](std::string_view where) {
    return R"(}, "spec": {)" + std::string(where) +
           R"("containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]})";
  };
  const Snapshot snapshot =
      items({node, std::string(plain_node), pod("shares", asks(R"("nodeName": "s", )")),
             pod("alone", asks(R"("nodeName": "n0", )")), pod("waits", asks(""))});
  std::vector<int> first;
  for (const Submission& job : snapshot.workload.jobs) {
    const RoleSpec& role = job.spec->gangs.at(0)->groups.at(0).roles.at(0);
    ASSERT_EQ(role.alternatives.size(), 2U);
    first.push_back(role.alternatives[0].devices.at(0).compute_permille);
  }
  EXPECT_EQ(first, (std::vector{250, 1000, 1000}));
}

TEST(KubernetesSnapshotTest, RefusesOtherDocuments) {
  Skipped none;
  EXPECT_FALSE(read_snapshot(source_of("{}"), "live", nullptr, none).has_value());
  EXPECT_FALSE(read_snapshot(source_of(""), "live", nullptr, none).has_value());
  EXPECT_FALSE(read_snapshot(source_of("{\"items\": [3]}"), "live", nullptr, none).has_value());
  EXPECT_TRUE(read_snapshot(source_of("{\"items\": []}"), "live", nullptr, none).has_value());
}

}  // namespace tutti::kubernetes_snapshot_test
