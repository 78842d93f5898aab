#include <gtest/gtest.h>

#include <string>

#include "dialect/kubernetes.h"
#include "model/catalog.h"

namespace tutti {
namespace {

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
  EXPECT_EQ(twice.error().text(), "error: 3:46: node n appears twice\n");
}

TEST(KubernetesSnapshotTest, RefusesOtherDocuments) {
  Skipped none;
  EXPECT_FALSE(read_snapshot(source_of("{}"), "live", nullptr, none).has_value());
  EXPECT_FALSE(read_snapshot(source_of(""), "live", nullptr, none).has_value());
  EXPECT_FALSE(read_snapshot(source_of("{\"items\": [3]}"), "live", nullptr, none).has_value());
  EXPECT_TRUE(read_snapshot(source_of("{\"items\": []}"), "live", nullptr, none).has_value());
}

}  // namespace
}  // namespace tutti
