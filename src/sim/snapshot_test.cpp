#include "sim/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/tutti.h"
#include "sim/test_dump.h"

namespace tutti::snapshot_test {

SnapshotResult under(const Snapshot& snapshot, std::string_view policy) {
  const PolicyRecipe recipe = policy == present_policy
                                  ? PolicyRecipe{.name = std::string(policy), .scores = {}}
                                  : builtin_policy(policy).value();
  const auto result = place_again(snapshot, recipe, {.map = true});
  EXPECT_TRUE(result.has_value()) << result.error().text();
  return result.value_or(SnapshotResult{});
}

TEST(SnapshotTest, PackingMakesRoomForWhatWaits) {
  const Snapshot live = dump(
      {node("n0"), node("n1"), pod("a", 4, "n0", 1), pod("b", 4, "n1", 2), pod("c", 8, "", 3)});
  const SnapshotResult now = under(live, "present");
  EXPECT_EQ(now.gpus_allocated, 8);
  EXPECT_EQ(now.running, 2U);
  EXPECT_EQ(now.pending, 1U);
  EXPECT_EQ(now.pending_started, 0U);
  EXPECT_EQ(now.free_whole_nodes, 0U);
  EXPECT_EQ(now.largest_gang_8gpu, 0U);
  EXPECT_EQ(now.map->device_free_permille.size(), 16U);
  const SnapshotResult packed = under(live, "pack");
  EXPECT_EQ(packed.gpus_allocated, 16);
  EXPECT_EQ(packed.pending_started, 1U);
  EXPECT_EQ(packed.running_unplaced, 0U);
  EXPECT_EQ(packed.decisions, 3U);
  EXPECT_EQ(packed.state_hash, under(live, "pack").state_hash);
}

TEST(SnapshotTest, OldPodsThatWaitComeFirst) {
  const Snapshot live =
      dump({node("n0"), pod("young", 8, "", 9), pod("old", 8, "", 2), pod("small", 1, "", 1)});
  EXPECT_EQ(under(live, "pack").pending_started, 1U) << "the smallest is the oldest";
  EXPECT_EQ(under(live, "pack").gpus_allocated, 1);
}

TEST(SnapshotTest, CountsRoomForWholeNodes) {
  const Snapshot live = dump({node("n0"), node("n1"), node("n2", true), pod("a", 1, "n0", 1)});
  const SnapshotResult now = under(live, "present");
  EXPECT_EQ(now.free_whole_nodes, 1U) << "a cordoned node is no room";
  EXPECT_EQ(now.largest_gang_8gpu, 1U);
}

TEST(SnapshotTest, WhatRunsOnACordonedNodeStaysThere) {
  const Snapshot live =
      dump({node("n0", true), node("n1"), pod("stays", 5, "n0", 5), pod("moves", 8, "n1", 1)});
  PolicyRecipe learned = builtin_policy("default").value();
  learned.learn_mix = true;
  for (const PolicyRecipe& policy : {builtin_policy("pack").value(), learned}) {
    const auto placed = place_again(live, policy, {.map = true});
    ASSERT_TRUE(placed.has_value()) << placed.error().text();
    EXPECT_EQ(placed->running_unplaced, 0U);
    EXPECT_EQ(placed->gpus_allocated, 13);
    EXPECT_EQ(placed->decisions, 1U);
  }
}

TEST(SnapshotTest, MoreThanANodeHasIsAFactToLiveWith) {
  const Snapshot live = dump({node("n0"), pod("a", 6, "n0", 1), pod("b", 6, "n0", 2)});
  const SnapshotResult now = under(live, "present");
  EXPECT_EQ(now.running, 2U);
  EXPECT_EQ(now.running_unplaced, 1U);
  EXPECT_EQ(now.gpus_allocated, 6);
}

TEST(SnapshotTest, AnUnknownNodeIsNoPlace) {
  const Snapshot live = dump({node("n0"), pod("lost", 1, "gone", 1)});
  EXPECT_EQ(under(live, "present").running_unplaced, 1U);
  EXPECT_EQ(under(live, "pack").running_unplaced, 0U);
}

TEST(SnapshotTest, WhatIsBoundElsewhereIsNotPlacedHere) {
  Snapshot live = dump({node("n0"), pod("lost", 8, "gone", 1), pod("waits", 8, "", 2)});
  set_aside_elsewhere(live);
  const SnapshotResult packed = under(live, "pack");
  EXPECT_EQ(packed.running, 0U);
  EXPECT_EQ(packed.pending_started, 1U);
  EXPECT_EQ(packed.gpus_allocated, 8);
}

/// A pod with annotations of its own in place of requests for cards.
std::string annotated(std::string_view name, std::string_view space, std::string_view annotations,
                      std::string_view spec) {
  return R"({"kind": "Pod", "metadata": {"name": ")" + std::string(name) + R"(", "namespace": ")" +
         std::string(space) + R"(", "annotations": {)" + std::string(annotations) +
         R"(}}, "spec": {)" + std::string(spec) +
         R"("containers": [{"resources": {"limits": {"cpu": "1"}}}]}})";
}

TEST(SnapshotTest, AReservedCardIsCountedOnce) {
  std::string reservation = pod("r", 1, "n0", 1);
  reservation.replace(reservation.find("\"x\""), 3, "\"kai-resource-reservation\"");
  const std::string bound = R"("nodeName": "n0", )";
  const Snapshot live =
      dump({node("n0"), reservation, annotated("a", "x", R"("gpu-fraction": "0.5")", bound),
            annotated("b", "x", R"("gpu-fraction": "0.25")", bound)});
  EXPECT_EQ(under(live, "present").gpus_allocated, 0.75);
  EXPECT_EQ(under(live, "present").running, 2U);
  EXPECT_EQ(under(live, "pack").gpus_allocated, 0.75);
}

TEST(SnapshotTest, MemoryAloneIsAllocatedToo) {
  const Snapshot live = dump({node("n0"), R"({"kind": "Pod", "metadata": {"name": "m"},
      "spec": {"nodeName": "n0", "containers": [{"resources": {"limits":
      {"nvidia.com/gpu": 1, "nvidia.com/gpumem-percentage": 40}}}]}})"});
  EXPECT_EQ(under(live, "present").gpus_allocated, 0.4);
}

/// A pod of a gang that may start with `min` of them.
std::string member(std::string_view name, int gpus, std::string_view where, int created, int min) {
  std::string text = pod(name, gpus, where, created);
  const std::string group = R"(, "annotations": {"scheduling.k8s.io/group-name": "g",
      "scheduling.volcano.sh/group-min-member": ")" +
                            std::to_string(min) + R"("}}, "spec")";
  return text.replace(text.find("}, \"spec\""), 9, group);
}
std::string elastic(std::string_view name, int gpus, std::string_view where, int created) {
  return member(name, gpus, where, created, 1);
}

TEST(SnapshotTest, PodsOfAGangBehindAGateStayThere) {
  std::string gated = elastic("g1", 8, "", 1);
  gated.insert(gated.find("\"containers\""), R"("schedulingGates": [{"name": "later"}], )");
  for (const auto& [first, running] : {std::pair("n0", 1U), std::pair("", 0U)}) {
    const Snapshot live = dump({node("n0"), node("n1"), elastic("g0", 8, first, 1), gated});
    for (const char* const policy : {"present", "pack"}) {
      const SnapshotResult result = under(live, policy);
      EXPECT_EQ(result.running, running) << policy;
      EXPECT_EQ(result.pending, 0U) << policy;
      EXPECT_EQ(result.gpus_allocated, 8 * running) << policy;
    }
  }
}

TEST(SnapshotTest, WhatWaitsOfAGangThatPartlyRunsIsPending) {
  const Snapshot live = dump({node("n0"), node("n1"), elastic("g0", 8, "n0", 1),
                              elastic("g1", 8, "", 1), elastic("g2", 8, "", 1)});
  const SnapshotResult now = under(live, "present");
  EXPECT_EQ(now.running, 1U);
  EXPECT_EQ(now.pending, 2U);
  EXPECT_EQ(now.pending_started, 0U);
  const SnapshotResult packed = under(live, "pack");
  EXPECT_EQ(packed.running_unplaced, 0U);
  EXPECT_EQ(packed.pending, 2U);
  EXPECT_EQ(packed.pending_started, 1U);
}

// What runs keeps its places; what its minimum lacks starts together, or not at all.
TEST(SnapshotTest, AGangThatPartlyRunsIsCompletedOrLeftAsItIs) {
  for (const int nodes : {3, 4}) {
    std::vector<std::string> objects;
    for (int at = 0; at < nodes; ++at) objects.push_back(node("n" + std::to_string(at)));
    for (int at = 0; at < 4; ++at) {
      objects.push_back(
          member("g" + std::to_string(at), 8, at < 2 ? "n" + std::to_string(at) : "", at, 4));
    }
    const SnapshotResult packed = under(dump(objects), "pack");
    EXPECT_EQ(packed.running_unplaced, 0U) << nodes;
    EXPECT_EQ(packed.pending, 2U) << nodes;
    EXPECT_EQ(packed.pending_started, nodes == 4 ? 2U : 0U) << nodes;
  }
}

// What waits of a gang that partly runs must not push out what runs.
TEST(SnapshotTest, AllThatRunsComesBeforeTheRestOfAGang) {
  for (const bool cordoned : {false, true}) {
    const Snapshot live = dump({node("n0", cordoned), node("n1"), elastic("a", 8, "n0", 1),
                                elastic("b", 8, "", 1), pod("x", 8, "n1", 9)});
    const SnapshotResult packed = under(live, "pack");
    EXPECT_EQ(packed.running, 2U);
    EXPECT_EQ(packed.running_unplaced, 0U);
    EXPECT_EQ(packed.pending_started, 0U);
    EXPECT_EQ(packed.gpus_allocated, 16);
    EXPECT_EQ(packed.end->verify(), "");
  }
}

TEST(SnapshotTest, TheRestOfAGangJoinsWhatRunsOfIt) {
  // The first of the file waits, so that those that run are not the first of the gang.
  const Snapshot live =
      dump({node("n0"), node("n1"), elastic("a", 4, "", 1), elastic("b", 2, "n0", 1),
            elastic("c", 2, "n1", 2), elastic("d", 2, "", 2)});
  for (const std::string_view policy : {"present", "pack"}) {
    const SnapshotResult end = under(live, policy);
    const bool anew = policy != "present";
    EXPECT_EQ(end.pending, 2U);
    EXPECT_EQ(end.pending_started, anew ? 2U : 0U) << policy;
    EXPECT_EQ(end.running_unplaced, 0U);
    EXPECT_EQ(end.gpus_allocated, anew ? 10 : 4);
    EXPECT_EQ(end.end->verify(), "");
  }
}

TEST(SnapshotTest, WithJobsOfOnesOwnWhatRunsStays) {
  Snapshot live = dump(
      {node("n0"), node("n1"), pod("a", 2, "n0", 1), pod("b", 2, "n1", 2), pod("w", 2, "", 3)});
  const Workload mine =
      parse_workload("jobs: [{name: big, gpus: 8}, {name: small, gpus: 1, tasks: 2}]", "mine",
                     nullptr)
          .value();
  const std::size_t given = add_jobs(live, mine);
  EXPECT_EQ(given, 3U);
  const auto end = place_again(live, builtin_policy("pack").value(), {.given = given}).value();
  EXPECT_EQ(end.given, 2U);
  EXPECT_EQ(end.given_started, 1U) << "packed anew, both would fit";
  EXPECT_EQ(end.pending, 4U) << "one pod and three tasks";
  EXPECT_EQ(end.pending_started, 3U);
  EXPECT_EQ(end.decisions, 3U);
  EXPECT_EQ(end.gpus_allocated, 8);
  EXPECT_EQ(end.asked, (std::vector<std::size_t>{3, 4, 2})) << "one's own come first";
}

TEST(SnapshotTest, TasksShareTimeSlicedCards) {
  const std::string sliced =
      R"({"kind": "Node", "metadata": {"name": "n0", "labels": {"nvidia.com/gpu.replicas": "80"}},
          "status": {"allocatable": {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": "160"}}})";
  const Snapshot live = dump({sliced, pod("a", 1, "n0", 1), pod("b", 2, "n0", 2),
                              pod("c", 40, "n0", 3), pod("w", 2, "", 4)});
  const SnapshotResult now = under(live, "present");
  EXPECT_EQ(now.running_unplaced, 0U);
  EXPECT_NEAR(now.gpus_allocated, 0.012 + 2 * 0.012 + 0.5, 1e-9);
  EXPECT_EQ(now.map->device_free_permille.size(), 2U);
  EXPECT_EQ(under(live, "pack").pending_started, 1U);
}

TEST(SnapshotTest, AnEmptyClusterIsNoError) {
  const SnapshotResult now = under(dump({node("n0")}), "present");
  EXPECT_EQ(now.free_whole_nodes, 1U);
  EXPECT_EQ(under(dump({}), "pack").gpus_allocated, 0);
}

}  // namespace tutti::snapshot_test
