#include "model/state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "model/test_state.h"

namespace tutti::test::state_test {

TEST(StateStartTest, AFreshStateIsSound) {
  State state;
  EXPECT_EQ(state.verify(), "");
  state.apply(QueueSet{{.name = "q", .limit = {{"example.com/x", 5}}}}, Instant{1});
  EXPECT_EQ(state.verify(), "");
  const auto spec = std::make_shared<const JobSpec>(job(1, {.resources = {{"other", 1}}}));
  state.apply(JobSubmitted{JobId(0), spec}, Instant{2});
  EXPECT_EQ(state.verify(), "");
}

TEST_F(StateTest, SubmittedTasksWaitAndHoldNothing) {
  const JobId id = submit();
  EXPECT_EQ(state_.live_jobs(), 1U);
  EXPECT_EQ(phase({id, 0}), TaskPhase::pending);
  EXPECT_FALSE(state_.find(TaskId{id, 2}).valid());
  EXPECT_FALSE(state_.find(TaskId{JobId(99), 0}).valid());
  EXPECT_EQ(state_.id_of(state_.find(TaskId{id, 1})), (TaskId{id, 1}));
  EXPECT_EQ(free_cpu(0), 8000);
  EXPECT_EQ(state_.gangs()[state_.jobs()[state_.find(id)].first_gang].pending(), 2U);
}

TEST_F(StateTest, PlacedTasksHoldUntilTheyExit) {
  const JobId id = submit();
  place({id, 0}, 0, {1});
  EXPECT_EQ(phase({id, 0}), TaskPhase::assigned);
  EXPECT_EQ(free_cpu(0), 7000);
  EXPECT_EQ(open(0), 1000U);
  EXPECT_EQ(open(1), 0U);
  EXPECT_EQ(state_.queue_usage(QueueIndex(0)).gpu_milli, 1000);
  apply(TaskStarted{{id, 0}, 1});
  EXPECT_EQ(phase({id, 0}), TaskPhase::running);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(phase({id, 0}), TaskPhase::succeeded);
  EXPECT_EQ(free_cpu(0), 8000);
  EXPECT_EQ(open(1), 1000U);
  EXPECT_EQ(state_.queue_usage(QueueIndex(0)).gpu_milli, 0);
  EXPECT_EQ(state_.live_jobs(), 1U);  // Its other task still waits.
}

TEST_F(StateTest, AJobIsForgottenWhenAllItsTasksEnded) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  place({id, 1}, 1, {0});
  apply(TaskExited{{id, 0}, 1, 3});
  EXPECT_EQ(phase({id, 0}), TaskPhase::failed);
  apply(TaskExited{{id, 1}, 1, 0});
  EXPECT_FALSE(state_.find(id).valid());
  EXPECT_EQ(state_.live_jobs(), 0U);
  EXPECT_EQ(free_cpu(0) + free_cpu(1), 16000);
}

TEST_F(StateTest, RowsOfEndedJobsAreUsedAgain) {
  const JobId first = submit();
  const JobId second = submit();
  const TaskIndex row = state_.find(TaskId{first, 0});
  apply(JobCancelled{first});
  const std::size_t tasks = state_.tasks().size();
  const JobId third = submit();
  EXPECT_EQ(state_.find(TaskId{third, 0}), row);
  EXPECT_EQ(state_.tasks().size(), tasks);
  EXPECT_EQ(phase({third, 0}), TaskPhase::pending);
  EXPECT_FALSE(state_.find(first).valid());
  EXPECT_TRUE(state_.find(second).valid());
  // A job of another size takes rows of its own.
  submit(job(3));
  EXPECT_EQ(state_.tasks().size(), tasks + 3);
}

TEST_F(StateTest, CancelledJobsEndWhenTheirTasksHaveStopped) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  apply(JobCancelled{id});
  EXPECT_EQ(phase({id, 1}), TaskPhase::cancelled);
  EXPECT_EQ(phase({id, 0}), TaskPhase::assigned);
  apply(JobCancelled{id});  // Twice is once.
  evict({id, 0}, 1);
  EXPECT_EQ(phase({id, 0}), TaskPhase::stopping);
  EXPECT_EQ(free_cpu(0), 7000);  // Until it has stopped.
  apply(TaskExited{{id, 0}, 1, 137});
  EXPECT_FALSE(state_.find(id).valid());
  apply(JobCancelled{id});
  apply(JobCancelled{JobId(12345)});
}

TEST_F(StateTest, AnEvictedTaskWaitsAgainUnlessItHadSucceeded) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  place({id, 1}, 0, {1});
  apply(TaskStarted{{id, 0}, 1});
  evict({id, 0}, 1);
  evict({id, 1}, 1);
  EXPECT_EQ(state_.gangs()[GangIndex(0)].stopping, 2U);
  apply(TaskStarted{{id, 0}, 1});  // Late: it stays told to stop.
  EXPECT_EQ(phase({id, 0}), TaskPhase::stopping);
  apply(TaskExited{{id, 0}, 1, 143});
  EXPECT_EQ(phase({id, 0}), TaskPhase::pending);
  apply(TaskExited{{id, 1}, 1, 0});
  EXPECT_EQ(phase({id, 1}), TaskPhase::succeeded);
  place({id, 0}, 1, {0});
  EXPECT_EQ(state_.tasks()[state_.find(TaskId{id, 0})].attempt, 2);
}

TEST_F(StateTest, ARefusedTaskWaitsAgain) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  apply(TaskRefused{{id, 0}, 1, "no image"});
  EXPECT_EQ(phase({id, 0}), TaskPhase::pending);
  EXPECT_EQ(free_cpu(0), 8000);
  place({id, 0}, 0, {0});
  apply(TaskStarted{{id, 0}, 2});
  apply(TaskRefused{{id, 0}, 2, "late"});  // It runs: nothing was refused.
  EXPECT_EQ(phase({id, 0}), TaskPhase::running);
  apply(JobCancelled{id});
  evict({id, 0}, 2);
  apply(TaskRefused{{id, 0}, 2, "never ran"});
  EXPECT_FALSE(state_.find(id).valid());
}

TEST_F(StateTest, StaleAndRepeatedReportsChangeNothing) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  apply(TaskRefused{{id, 0}, 1, ""});
  place({id, 0}, 1, {0});
  apply(TaskStarted{{id, 0}, 2});
  const auto unmoved = [&](const Event& event) {
    const std::int64_t free = free_cpu(1);
    apply(event);
    EXPECT_EQ(phase({id, 0}), TaskPhase::running) << name_of(event);
    EXPECT_EQ(free_cpu(1), free) << name_of(event);
  };
  unmoved(TaskStarted{{id, 0}, 2});
  unmoved(TaskStarted{{id, 0}, 1});
  unmoved(TaskExited{{id, 0}, 1, 0});
  unmoved(TaskExited{{id, 0}, 3, 0});
  unmoved(TaskExited{{id, 7}, 1, 0});
  unmoved(TaskExited{{JobId(77), 0}, 1, 0});
  unmoved(TaskExited{{JobId::none(), 0}, 1, 0});
  unmoved(TaskExited{{id, 1}, 0, 0});  // Attempt 0 is no placement.
  unmoved(TaskRefused{{id, 0}, 1, ""});
  unmoved(NodeLost{"nowhere"});
  apply(TaskExited{{id, 0}, 2, 0});
  apply(TaskExited{{id, 0}, 2, 1});
  EXPECT_EQ(phase({id, 0}), TaskPhase::succeeded);
}

TEST_F(StateTest, ALostNodeTakesItsTasksAndComesBackEmpty) {
  const JobId id = submit(job(3));
  place({id, 0}, 0, {0});
  place({id, 1}, 0, {1});
  place({id, 2}, 1, {0});
  evict({id, 1}, 1);
  apply(NodeLost{"n0"});
  EXPECT_EQ(phase({id, 0}), TaskPhase::pending);
  EXPECT_EQ(phase({id, 1}), TaskPhase::pending);
  EXPECT_EQ(phase({id, 2}), TaskPhase::assigned);
  EXPECT_FALSE(state_.fleet().open(NodeIndex(0)));
  EXPECT_EQ(open(0), 0U);
  EXPECT_EQ(state_.gangs()[GangIndex(0)].stopping, 0U);
  apply(NodeLost{"n0"});
  apply(TaskExited{{id, 0}, 1, 0});  // What ran there is no longer believed.
  EXPECT_EQ(phase({id, 0}), TaskPhase::pending);
  apply(NodeReported{node("n0")});
  EXPECT_EQ(state_.fleet().size(), 2U);
  EXPECT_EQ(free_cpu(0), 8000);
  EXPECT_EQ(open(0), 1000U);
  place({id, 0}, 0, {0});
}

TEST_F(StateTest, LosingTheNodeOfACancelledJobEndsIt) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  place({id, 1}, 0, {1});
  apply(JobCancelled{id});
  apply(NodeLost{"n0"});
  EXPECT_FALSE(state_.find(id).valid());
  EXPECT_EQ(state_.live_jobs(), 0U);
}

TEST_F(StateTest, CapacityMayShrinkBelowWhatIsHeld) {
  const JobId id = submit(job(1, shape(6000, 0)));
  place({id, 0}, 0, {});
  NodeSpec small = node("n0");
  small.capacity = {{"cpu", 2000}};
  apply(NodeReported{small});
  EXPECT_EQ(free_cpu(0), -4000);
  EXPECT_EQ(state_.usage().free(NodeIndex(0), lane::memory), 0);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(free_cpu(0), 2000);
}

TEST_F(StateTest, PodsAreBoundedOnlyWhereTheNodeSaysSo) {
  const JobId id = submit(job(1, shape(1, 0)));
  place({id, 0}, 0, {});
  EXPECT_EQ(state_.usage().free(NodeIndex(0), lane::pods), Usage::unbounded - 1);
  NodeSpec bounded = node("n0");
  bounded.capacity.push_back({"pods", 0});
  apply(NodeReported{bounded});
  EXPECT_EQ(state_.usage().free(NodeIndex(0), lane::pods), -1);
  apply(NodeReported{node("n0")});
  EXPECT_EQ(state_.usage().free(NodeIndex(0), lane::pods), Usage::unbounded - 1);
}

TEST_F(StateTest, ADeviceThatVanishesWhileHeldStaysBooked) {
  const JobId id = submit(job(1));
  place({id, 0}, 0, {1});
  apply(NodeReported{node("n0", 1)});
  EXPECT_EQ(state_.fleet().devices(NodeIndex(0)).size(), 2U);
  EXPECT_EQ(state_.fleet().devices(NodeIndex(0))[1].health, Health::failed);
  EXPECT_EQ(state_.usage().used_permille(1), 1000);
  apply(TaskExited{{id, 0}, 1, 1});
  EXPECT_EQ(open(1), 0U);  // Free, but not offered.
  apply(NodeReported{node("n0", 2)});
  EXPECT_EQ(open(1), 1000U);
}

TEST_F(StateTest, ADescriptionMayChangeWhileTasksRun) {
  const JobId id = submit();
  place({id, 0}, 0, {1});
  place({id, 1}, 1, {0});
  // More devices on n0 move the rows of n1; another model and a new resource besides.
  NodeSpec changed = node("n0", 4);
  for (DeviceSpec& device : changed.devices) device.type = {.model = "L4", .memory_mib = 50};
  changed.capacity.push_back({"example.com/x", 3});
  changed.labels.set("rack", "r1");
  apply(NodeReported{changed});
  EXPECT_EQ(*state_.fleet().node(NodeIndex(0)).labels.find("rack"), "r1");
  EXPECT_EQ(state_.usage().used_permille(1), 1000);
  EXPECT_EQ(state_.usage().used_mib(1), 50);
  EXPECT_EQ(state_.usage().used_permille(4), 1000);  // n1's first.
  EXPECT_EQ(state_.usage().used_mib(4), 100);
  apply(TaskExited{{id, 0}, 1, 0});
  apply(TaskExited{{id, 1}, 1, 0});
  EXPECT_EQ(state_.usage().used_mib(1) + state_.usage().used_mib(4), 0);
}

TEST_F(StateTest, ADeviceThatNoLongerMatchesStaysBooked) {
  TaskShape picky = shape();
  picky.devices.front().where = *AttributeExpression::parse("model == T4");
  const JobId id = submit(job(1, picky));
  place({id, 0}, 0, {0});
  NodeSpec other = node("n0");
  other.devices.front().type.model = "L4";
  apply(NodeReported{other});
  EXPECT_EQ(state_.usage().used_permille(0), 1000);
  EXPECT_EQ(open(0), 0U);
  apply(NodeReported{node("n0")});
  EXPECT_EQ(state_.usage().used_permille(0), 1000);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(state_.usage().used_permille(0), 0);
}

TEST_F(StateTest, OfACardThatBecameTooSmallItsHoldersKeepAsMuchAsThereIs) {
  TaskShape half = shape();
  half.devices.front().compute_permille = 500;
  half.devices.front().memory_mib = 50;
  const JobId id = submit(job(2, half));
  place({id, 0}, 0, {0});
  place({id, 1}, 0, {0});
  NodeSpec smaller = node("n0");
  smaller.devices.front().type.memory_mib = 40;
  apply(NodeReported{smaller});
  EXPECT_EQ(state_.usage().used_permille(0), 1000);
  EXPECT_EQ(state_.usage().used_mib(0), 80);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(open(0), 500U);
}

TEST_F(StateTest, WhichRequestACardServedIsForgottenOnlyToTheHoldersGood) {
  TaskShape both = shape();
  both.devices = {{.where = *AttributeExpression::parse("model == T4"), .compute_permille = 500},
                  {.where = *AttributeExpression::parse("model == L4")}};
  NodeSpec mixed = node("n0");
  mixed.devices.push_back(mixed.devices.back());
  mixed.devices[1].type.model = mixed.devices[2].type.model = "L4";
  apply(NodeReported{mixed});
  const JobId id = submit(job(2, both));
  place({id, 0}, 0, {0, 1});
  place({id, 1}, 0, {0, 2});
  mixed.devices[0].type.model = "A2";
  apply(NodeReported{mixed});
  EXPECT_EQ(state_.usage().used_permille(0), 2000U);
  EXPECT_EQ(open(0), 0U);
}

TEST_F(StateTest, CardsThatHaveIdsKeepTheirOrdinalsInWhateverOrderTheyAreReported) {
  NodeSpec spec = node("n0", 3);
  spec.devices[0].device.id = "a";
  spec.devices[1].device.id = "b";
  spec.devices[2].device.id = "c";
  spec.devices[2].device.parent = 1;
  apply(NodeReported{spec});
  const JobId id = submit(job(1));
  place({id, 0}, 0, {0});
  // a is gone but held; d is new; c, a slice of b, comes first.
  const NodeSpec before = spec;
  spec.devices = {before.devices[2], before.devices[0], before.devices[1]};
  spec.devices[0].device.parent = 2;
  spec.devices[1].device.id = "d";
  apply(NodeReported{spec});
  const auto devices = state_.fleet().devices(NodeIndex(0));
  std::string ids;
  for (const Device& device : devices) ids += device.id;
  EXPECT_EQ(ids, "abcd");
  EXPECT_EQ(devices[0].health, Health::failed);
  EXPECT_EQ(devices[2].parent, 1);
  EXPECT_EQ(open(0), 0U);
  EXPECT_EQ(open(3), 1000U);
  // Once it is free, its place is: the list does not grow for ever.
  apply(TaskExited{{id, 0}, 1, 0});
  spec.devices[1].device.id = "e";
  apply(NodeReported{spec});
  EXPECT_EQ(state_.fleet().devices(NodeIndex(0)).size(), 4U);
  EXPECT_EQ(state_.fleet().devices(NodeIndex(0))[0].id, "e");
}

TEST_F(StateTest, HealthAndCordonCloseWithoutReleasing) {
  const JobId id = submit();
  place({id, 0}, 0, {0});
  apply(DeviceHealthChanged{"n0", 0, Health::failed});
  EXPECT_EQ(state_.usage().used_permille(0), 1000);
  apply(NodeCordoned{"n0", true});
  EXPECT_EQ(open(1), 0U);
  apply(TaskExited{{id, 0}, 1, 0});
  apply(NodeCordoned{"n0", false});
  EXPECT_EQ(open(0), 0U);
  EXPECT_EQ(open(1), 1000U);
  apply(DeviceHealthChanged{"n0", 0, Health::online});
  EXPECT_EQ(open(0), 1000U);
}

TEST_F(StateTest, AnOperatorsCordonOutlastsReports) {
  apply(NodeCordoned{"n0", true});
  apply(NodeReported{node("n0")});
  EXPECT_EQ(open(0), 0U);
  apply(NodeLost{"n0"});
  apply(NodeReported{node("n0", 3)});
  EXPECT_EQ(open(0), 0U);
  apply(NodeCordoned{"n0", false});
  EXPECT_EQ(open(0), 1000U);
  apply(NodeReported{node("n0", 3)});
  EXPECT_EQ(open(0), 1000U);
}

TEST_F(StateTest, ACordonThatIsReportedEndsWithAReportOrAnOperator) {
  NodeSpec closed = node("n0");
  closed.cordoned = true;
  apply(NodeReported{closed});
  EXPECT_EQ(open(0), 0U);
  apply(NodeReported{node("n0")});
  EXPECT_EQ(open(0), 1000U);
  apply(NodeReported{closed});
  apply(NodeCordoned{"n0", false});
  EXPECT_EQ(open(0), 1000U);
  apply(NodeReported{closed});
  EXPECT_EQ(open(0), 0U);
}

TEST_F(StateTest, TheHashKnowsWhoCordoned) {
  State other = state_;
  apply(NodeCordoned{"n0", true});
  NodeSpec closed = node("n0");
  closed.cordoned = true;
  other.apply(NodeReported{closed}, now_);
  EXPECT_NE(state_.hash(), other.hash());
}

TEST_F(StateTest, ASliceIsOfferedWhileItsCardIsThereAndSound) {
  NodeSpec sliced = node("n0", 3);
  sliced.devices[1].device.parent = 0;
  sliced.devices[2].device.parent = 0;
  apply(NodeReported{sliced});  // Moves the rows of n1, which follows.
  const auto offers = [&] {
    std::vector<unsigned> out;
    for (unsigned row = 0; row < state_.fleet().device_count(); ++row) out.push_back(open(row));
    return out;
  };
  EXPECT_EQ(offers(), (std::vector<unsigned>{0, 1000, 1000, 1000, 1000}));
  apply(DeviceHealthChanged{"n0", 0, Health::degraded});
  EXPECT_EQ(offers(), (std::vector<unsigned>{0, 0, 0, 1000, 1000}));
  apply(DeviceHealthChanged{"n0", 2, Health::failed});
  apply(DeviceHealthChanged{"n0", 0, Health::online});
  EXPECT_EQ(offers(), (std::vector<unsigned>{0, 1000, 0, 1000, 1000}));
  // Slices that are no longer reported make the card whole.
  apply(NodeReported{node("n0", 1)});
  EXPECT_EQ(offers(), (std::vector<unsigned>{1000, 0, 0, 1000, 1000}));
  NodeSpec orphan = node("n0", 2);
  orphan.devices[1].device.parent = 7;
  apply(NodeReported{orphan});
  EXPECT_EQ(offers(), (std::vector<unsigned>{1000, 0, 0, 1000, 1000}));
}

TEST_F(StateTest, ATaskOnASliceOfABrokenCardIsLeftAlone) {
  NodeSpec sliced = node("n0", 2);
  sliced.devices[1].device.parent = 0;
  apply(NodeReported{sliced});
  const JobId id = submit(job(1));
  place({id, 0}, 0, {1});
  apply(DeviceHealthChanged{"n0", 0, Health::failed});
  EXPECT_EQ(state_.usage().used_permille(1), 1000);
  apply(TaskExited{{id, 0}, 1, 0});
  EXPECT_EQ(open(1), 0U);
  apply(DeviceHealthChanged{"n0", 0, Health::online});
  EXPECT_EQ(open(1), 1000U);
}

TEST_F(StateTest, SharesOfADeviceAddUp) {
  TaskShape half = shape();
  half.devices.front().compute_permille = 500;
  const JobId id = submit(job(2, half));
  place({id, 0}, 0, {0});
  EXPECT_EQ(open(0), 500U);
  EXPECT_EQ(state_.usage().open_mib()[0], 50);
  place({id, 1}, 0, {0});
  EXPECT_EQ(open(0), 0U);
  EXPECT_EQ(state_.usage().shapes(NodeIndex(0)).front().count, 2U);
}

TEST_F(StateTest, NewResourcesOfQueuesAndMixesAreToldToReaders) {
  const auto fleet_changes = [&](const Event& event) {
    const std::uint64_t before = state_.changes().end();
    apply(event);
    int count = 0;
    for (std::uint64_t at = before; at < state_.changes().end(); ++at) {
      count += state_.changes()[at].kind == Change::Kind::fleet ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(fleet_changes(QueueSet{{.name = "q", .limit = {{"example.com/x", 5}}}}), 1);
  EXPECT_EQ(fleet_changes(QueueSet{{.name = "q", .limit = {{"example.com/x", 6}}}}), 0);
  EXPECT_EQ(fleet_changes(MixSet{{{.shape = {.resources = {{"example.com/y", 1}}}}}}), 1);
  EXPECT_EQ(state_.usage().free(NodeIndex(0)).size(), 6U);
}

TEST_F(StateTest, AQueueThatComesBetweenOthersCountsWhatIsBelowIt) {
  for (const char* name : {"a/b/c", "a/b/d/e", "ab", "a"}) apply(QueueSet{{.name = name}});
  for (const char* name : {"a/b/c", "a/b/d/e", "ab"}) {
    JobSpec spec = job(1);
    spec.queue = name;
    const JobId id = submit(spec);
    place({id, 0}, 0, {});
  }
  const auto parent_of = [&](const char* name) {
    return state_.queue(state_.queue(*state_.find_queue(name)).parent).spec.name;
  };
  EXPECT_EQ(parent_of("a/b/c"), "a");
  apply(QueueSet{{.name = "a/b"}});
  EXPECT_EQ(parent_of("a/b/c"), "a/b");
  EXPECT_EQ(parent_of("a/b/d/e"), "a/b");
  EXPECT_EQ(parent_of("a/b"), "a");
  EXPECT_EQ(state_.queue_usage(*state_.find_queue("a/b")).gpu_milli, 2000);
  EXPECT_EQ(state_.queue_usage(*state_.find_queue("a")).gpu_milli, 2000);
}

TEST_F(StateTest, QueuesKeepLimitsByLane) {
  apply(QueueSet{{.name = "q", .limit = {{"cpu", 5}, {"gpu", 2}}}});
  const Queue& queue = state_.queue(*state_.find_queue("q"));
  EXPECT_EQ(queue.limit, (std::vector<std::int64_t>{5}));
  EXPECT_EQ(queue.gpu_milli_limit, 2000);
  apply(QueueSet{{.name = "q"}});
  EXPECT_EQ(state_.queue_count(), 2U);
  EXPECT_EQ(state_.queue(*state_.find_queue("q")).gpu_milli_limit, -1);
}

}  // namespace tutti::test::state_test
