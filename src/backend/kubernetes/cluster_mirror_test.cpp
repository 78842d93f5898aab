#include "backend/kubernetes/cluster_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/state.h"

namespace tutti::cluster_mirror_test {

using testing::ElementsAre;
using testing::IsEmpty;

NodeSpec node_spec(const std::string& name, std::int64_t cpu = 8000) {
  return {.name = name, .capacity = {{"cpu", cpu}, {"pods", 110}}};
}

PodRecord pod_record(const std::string& name, const std::string& node = {}) {
  PodRecord pod{.name = name, .space = "ml", .uid = "uid-" + name, .node = node};
  pod.scheduler = "tutti";
  pod.shape.resources = {{"cpu", 1000}};
  return pod;
}

PodRecord member(const std::string& name, std::uint32_t min, const std::string& node = {}) {
  PodRecord pod = pod_record(name, node);
  pod.group = "ring";
  pod.group_min = min;
  return pod;
}

/// A mirror, and a State that is told all that it says.
class ClusterMirrorTest : public testing::Test {
 protected:
  ClusterMirrorTest() {
    mirror_.node(node_spec("n0"));
    mirror_.node(node_spec("n1"));
    take();
  }

  /// The words for what it says.
  std::vector<std::string> take() {
    std::vector<std::string> words;
    for (const Event& event : mirror_.take()) {
      const auto admitted = state_.admissible(event);
      EXPECT_TRUE(admitted) << name_of(event) << ": " << admitted.error().what;
      if (!admitted) continue;
      state_.apply(event, Instant{++now_});
      EXPECT_EQ(state_.verify(), "") << name_of(event);
      words.emplace_back(name_of(event));
    }
    return words;
  }
  /// As a cycle would decide.
  std::optional<ClusterMirror::Binding> place(const TaskId& task, const std::string& node) {
    const Task& row = state_.tasks()[state_.find(task)];
    const Action action{.task = task,
                        .attempt = row.attempt + 1,
                        .shape = row.shape,
                        .node = *state_.fleet().find(node)};
    state_.apply(PlanDecided{{action}}, Instant{++now_});
    return mirror_.order(action, node);
  }
  TaskPhase phase(const TaskId& task) const { return state_.tasks()[state_.find(task)].phase; }
  std::int64_t free_cpu(const std::string& node) const {
    return state_.usage().free(*state_.fleet().find(node), lane::cpu);
  }

  ClusterMirror mirror_{{}};
  State state_;
  std::int64_t now_ = 0;
};

TEST_F(ClusterMirrorTest, NodesAreReportedWhenTheyChange) {
  mirror_.node(node_spec("n0"));
  EXPECT_THAT(take(), IsEmpty());
  mirror_.node(node_spec("n0", 4000));
  EXPECT_THAT(take(), ElementsAre("node_reported"));
  mirror_.begin_nodes();
  mirror_.node(node_spec("n0", 4000));
  mirror_.end_nodes();
  EXPECT_THAT(take(), ElementsAre("node_lost"));
  EXPECT_FALSE(state_.fleet().open(*state_.fleet().find("n1")));
}

TEST_F(ClusterMirrorTest, APodOfOursWaitsIsOrderedAndRuns) {
  mirror_.pod(pod_record("a"));
  EXPECT_THAT(take(), ElementsAre("job_submitted"));
  const TaskId task{JobId(1), 0};
  EXPECT_EQ(
      place(task, "n1"),
      (ClusterMirror::Binding{
          .task = task, .attempt = 1, .space = "ml", .pod = "a", .uid = "uid-a", .node = "n1"}));
  EXPECT_EQ(mirror_.pod_of(task), "ml/a");
  mirror_.pod(pod_record("a", "n1"));
  EXPECT_THAT(take(), IsEmpty()) << "as it was ordered";
  PodRecord runs = pod_record("a", "n1");
  runs.phase = PodPhase::running;
  mirror_.pod(runs);
  mirror_.pod(runs);
  EXPECT_THAT(take(), ElementsAre("task_started"));
  EXPECT_EQ(mirror_.observe().size(), 1U);
  runs.phase = PodPhase::succeeded;
  mirror_.pod(runs);
  mirror_.pod_gone("uid-a");
  EXPECT_THAT(take(), ElementsAre("task_exited"));
  EXPECT_EQ(state_.live_jobs(), 0U);
  EXPECT_EQ(mirror_.pods(), 0U);
}

TEST_F(ClusterMirrorTest, WhatOthersBoundHoldsWhatItAsksFor) {
  PodRecord other = pod_record("web", "n0");
  other.scheduler = "default-scheduler";
  other.phase = PodPhase::running;
  mirror_.pod(other);
  EXPECT_THAT(take(), ElementsAre("job_submitted", "task_bound", "task_started"));
  EXPECT_EQ(free_cpu("n0"), 7000);
  other.shape.resources = {{"cpu", 3000}};
  mirror_.pod(other);
  EXPECT_THAT(take(), ElementsAre("task_exited", "job_submitted", "task_bound", "task_started"));
  EXPECT_EQ(free_cpu("n0"), 5000) << "resized in place";
  mirror_.pod_gone("uid-web");
  take();
  EXPECT_EQ(free_cpu("n0"), 8000);
}

TEST_F(ClusterMirrorTest, WhatIsNotOursToPlaceIsLeftAlone) {
  PodRecord other = pod_record("web");
  other.scheduler = "default-scheduler";
  PodRecord gated = pod_record("gated");
  gated.gated = true;
  PodRecord going = pod_record("going");
  going.terminating = true;
  for (const PodRecord& each : {other, gated, going}) mirror_.pod(each);
  EXPECT_THAT(take(), IsEmpty());
  gated.gated = false;
  mirror_.pod(gated);
  EXPECT_THAT(take(), ElementsAre("job_submitted"));
  mirror_.pod_gone("uid-gated");
  EXPECT_THAT(take(), ElementsAre("job_cancelled"));
}

TEST_F(ClusterMirrorTest, AnotherSchedulerWasFaster) {
  mirror_.pod(pod_record("a"));
  take();
  const TaskId task{JobId(1), 0};
  place(task, "n1");
  mirror_.pod(pod_record("a", "n0"));
  EXPECT_THAT(take(), ElementsAre("task_bound"));
  mirror_.refused(task, 1, "pod a is already assigned to node n0");
  EXPECT_THAT(take(), IsEmpty()) << "that is known by now";
  EXPECT_EQ(free_cpu("n0"), 7000);
  EXPECT_EQ(free_cpu("n1"), 8000);
  PodRecord runs = pod_record("a", "n0");
  runs.phase = PodPhase::running;
  mirror_.pod(runs);
  EXPECT_THAT(take(), ElementsAre("task_started"));
  EXPECT_EQ(phase(task), TaskPhase::running);
}

TEST_F(ClusterMirrorTest, ARefusedBindingIsTriedAnew) {
  mirror_.pod(pod_record("a"));
  take();
  const TaskId task{JobId(1), 0};
  place(task, "n1");
  mirror_.refused(task, 1, "node n1 is full");
  EXPECT_THAT(take(), ElementsAre("task_refused"));
  EXPECT_EQ(phase(task), TaskPhase::pending);
  const auto again = place(task, "n0");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->attempt, 2U);
  EXPECT_EQ(mirror_.order({.task = task, .attempt = 2}, "n0"), std::nullopt) << "it is under way";
}

TEST_F(ClusterMirrorTest, APodThatGoesWhileItIsOrderedIsOver) {
  mirror_.pod(pod_record("a"));
  take();
  place({JobId(1), 0}, "n1");
  mirror_.pod_gone("uid-a");
  EXPECT_THAT(take(), ElementsAre("task_exited"));
  EXPECT_EQ(free_cpu("n1"), 8000);
  EXPECT_EQ(mirror_.order({.task = {JobId(1), 0}, .attempt = 1}, "n1"), std::nullopt);
}

TEST_F(ClusterMirrorTest, AGroupIsAJobOnceItsMinimumIsThere) {
  mirror_.pod(member("w0", 3));
  mirror_.pod(member("w1", 3));
  EXPECT_THAT(take(), IsEmpty());
  mirror_.pod(member("w2", 3));
  EXPECT_THAT(take(), ElementsAre("job_submitted"));
  mirror_.pod(member("w3", 3));
  EXPECT_THAT(take(), ElementsAre("job_cancelled", "job_submitted"));
  const Job& job = state_.jobs()[state_.find(JobId(2))];
  EXPECT_EQ(job.tasks, 4U);
  EXPECT_EQ(job.spec->gangs.front()->groups.front().roles.front().min, 3U);
  mirror_.pod_gone("uid-w3");
  mirror_.pod_gone("uid-w2");
  EXPECT_THAT(take(), ElementsAre("job_cancelled")) << "too few are left";
}

TEST_F(ClusterMirrorTest, WhatJoinsAGroupThatIsPlacedIsAJobOfItsOwn) {
  for (const std::string name : {"w0", "w1", "w2"}) mirror_.pod(member(name, 2));
  take();
  place({JobId(1), 0}, "n0");
  place({JobId(1), 1}, "n1");
  mirror_.pod(member("w0", 2, "n0"));
  mirror_.pod(member("w9", 2));
  EXPECT_THAT(take(), ElementsAre("job_submitted"));
  EXPECT_EQ(state_.jobs()[state_.find(JobId(2))].tasks, 1U);
  mirror_.pod_gone("uid-w2");
  EXPECT_THAT(take(), IsEmpty()) << "its task is done when its turn comes";
  EXPECT_EQ(place({JobId(1), 2}, "n0"), std::nullopt);
  EXPECT_THAT(take(), ElementsAre("task_exited"));
}

TEST_F(ClusterMirrorTest, PodsWaitForTheirNode) {
  mirror_.pod(pod_record("a", "n7"));
  EXPECT_THAT(take(), IsEmpty());
  mirror_.node(node_spec("n7"));
  EXPECT_THAT(take(), ElementsAre("node_reported", "job_submitted", "task_bound"));
  mirror_.node_gone("n7");
  EXPECT_THAT(take(), ElementsAre("task_exited", "node_lost"));
  mirror_.node(node_spec("n7"));
  EXPECT_THAT(take(), ElementsAre("node_reported", "job_submitted", "task_bound"));
  mirror_.begin_pods();
  mirror_.end_pods();
  EXPECT_THAT(take(), ElementsAre("task_exited"));
  EXPECT_EQ(free_cpu("n7"), 8000);
}

TEST_F(ClusterMirrorTest, ANodeGoesWhileAPodIsOnItsWayThere) {
  mirror_.pod(pod_record("a"));
  take();
  const TaskId task{JobId(1), 0};
  place(task, "n1");
  mirror_.node_gone("n1");
  EXPECT_THAT(take(), ElementsAre("node_lost"));
  mirror_.node(node_spec("n1"));
  mirror_.pod(pod_record("a", "n1"));
  EXPECT_THAT(take(), ElementsAre("node_reported", "task_bound")) << "it was bound all the same";
  mirror_.pod_gone("uid-a");
  EXPECT_THAT(take(), ElementsAre("task_exited"));
  EXPECT_EQ(free_cpu("n1"), 8000);
}

TEST_F(ClusterMirrorTest, ANewOrderAfterItsNodeWentIsCarriedOut) {
  mirror_.pod(pod_record("a"));
  take();
  const TaskId task{JobId(1), 0};
  place(task, "n1");
  mirror_.node_gone("n1");
  take();
  const auto again = place(task, "n0");
  ASSERT_TRUE(again);
  mirror_.refused(task, 1, "no such node");
  EXPECT_THAT(take(), IsEmpty()) << "that was the order before";
  mirror_.pod(pod_record("a", "n0"));
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(free_cpu("n0"), 7000);
}

TEST_F(ClusterMirrorTest, APodThatIsResizedBeforeItsBindingIsSeenHoldsTheNewAmount) {
  mirror_.pod(pod_record("a"));
  take();
  place({JobId(1), 0}, "n1");
  PodRecord larger = pod_record("a", "n1");
  larger.shape.resources = {{"cpu", 3000}};
  mirror_.pod(larger);
  EXPECT_THAT(take(), ElementsAre("task_exited", "job_submitted", "task_bound"));
  EXPECT_EQ(free_cpu("n1"), 5000);
}

TEST_F(ClusterMirrorTest, TheEndOfOneMemberDoesNotEndItsGang) {
  for (const std::string name : {"w0", "w1", "w2"}) mirror_.pod(member(name, 2));
  take();
  place({JobId(1), 0}, "n0");
  place({JobId(1), 1}, "n1");
  mirror_.pod(member("w0", 2, "n0"));
  PodRecord failed = member("w0", 2, "n0");
  failed.phase = PodPhase::failed;
  mirror_.pod(failed);
  take();
  EXPECT_EQ(phase({JobId(1), 2}), TaskPhase::pending) << "it may still get its place";
}

TEST_F(ClusterMirrorTest, TheOldestIsSubmittedFirst) {
  PodRecord late = pod_record("a");
  late.created = Instant{20};
  PodRecord early = pod_record("b");
  early.created = Instant{10};
  mirror_.pod(late);
  mirror_.pod(early);
  take();
  EXPECT_EQ(mirror_.pod_of({JobId(1), 0}), "ml/b");
  EXPECT_EQ(mirror_.pod_of({JobId(2), 0}), "ml/a");
}

}  // namespace tutti::cluster_mirror_test
