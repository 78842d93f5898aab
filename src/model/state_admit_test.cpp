/// What State refuses before it is journaled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "base/limits.h"
#include "model/test_state.h"

namespace tutti::test::state_admit_test {

using ::testing::HasSubstr;

TEST_F(StateTest, JobsThatCannotBeAreRefused) {
  const auto refused = [&](const std::function<void(RoleSpec&, GroupSpec&, GangSpec&)>& change) {
    GangSpec gang = *job().gangs.front();
    RoleSpec role = gang.groups.front().roles.front();
    GroupSpec group = gang.groups.front();
    change(role, group, gang);
    if (!group.roles.empty()) group.roles = {role};
    if (!gang.groups.empty()) gang.groups = {group};
    JobSpec spec{.name = "job"};
    spec.gangs = {std::make_shared<const GangSpec>(gang)};
    return refusal(JobSubmitted{JobId(5), std::make_shared<const JobSpec>(spec)});
  };
  EXPECT_EQ(refused([](auto&, auto&, auto&) {}), "");
  EXPECT_THAT(refused([](auto& role, auto&, auto&) { role.count = 0; }), HasSubstr("0 tasks"));
  EXPECT_THAT(refused([](auto& role, auto&, auto&) { role.min = 3; }), HasSubstr("at least 3"));
  EXPECT_THAT(refused([](auto& role, auto&, auto&) { role.alternatives.clear(); }),
              HasSubstr("asks for nothing"));
  EXPECT_THAT(refused([](auto& role, auto&, auto&) {
                role.alternatives.front().resources = {{"cpu", -1}};
              }),
              HasSubstr("cpu is -1"));
  EXPECT_THAT(
      refused([](auto& role, auto&, auto&) { role.alternatives.front().devices.resize(129); }),
      HasSubstr("129 device requests"));
  EXPECT_THAT(refused([](auto& role, auto&, auto&) {
                role.alternatives.front().devices.front().count = 129;
              }),
              HasSubstr("129 devices on one node"));
  EXPECT_THAT(refused([](auto& role, auto&, auto&) {
                role.alternatives.front().devices.front().compute_permille = 1001;
              }),
              HasSubstr("1001 per mille"));
  // Copies without tasks would be bounded by nothing, and many roles have no number.
  EXPECT_THAT(refused([](auto&, auto& group, auto&) {
                group.roles.clear();
                group.copies = 4'000'000'000;
              }),
              HasSubstr("a group without tasks"));
  EXPECT_THAT(refused([](auto&, auto&, auto& gang) {
                gang.groups.clear();
                gang.copies = 4'000'000'000;
              }),
              HasSubstr("a gang without tasks"));
  EXPECT_THAT(refused([](auto&, auto&, auto& gang) { gang.copies = 0; }), HasSubstr("without"));
  EXPECT_THAT(refused([](auto& role, auto& group, auto&) {
                role.count = role.min = 1;
                group.copies = 65'536;
              }),
              HasSubstr("65536 roles"));
  EXPECT_EQ(refused([](auto& role, auto& group, auto&) {
              role.count = role.min = 1;
              group.copies = 65'535;
            }),
            "");
  EXPECT_THAT(refused([](auto&, auto& group, auto& gang) {
                group.copies = 4'000'000'000;
                gang.copies = 4'000'000'000;
              }),
              HasSubstr("1 to 100000 are allowed"));
}

TEST_F(StateTest, SubmissionsNeedAKnownQueueAndAFreshId) {
  const JobId id = submit();
  const auto spec = std::make_shared<const JobSpec>(job());
  EXPECT_THAT(refusal(JobSubmitted{id, spec}), HasSubstr("exists already"));
  EXPECT_THAT(refusal(JobSubmitted{JobId::none(), spec}), HasSubstr("its id"));
  EXPECT_THAT(refusal(JobSubmitted{JobId(9), nullptr}), HasSubstr("needs a job"));
  JobSpec lost = job();
  lost.queue = "nowhere";
  const auto stray = std::make_shared<const JobSpec>(lost);
  EXPECT_THAT(refusal(JobSubmitted{JobId(9), stray}), HasSubstr("no queue \"nowhere\""));
  const auto empty = std::make_shared<const JobSpec>();
  EXPECT_THAT(refusal(JobSubmitted{JobId(9), empty}), HasSubstr("has 0 tasks"));
}

TEST_F(StateTest, QueuesMixesAndNodesAreChecked) {
  EXPECT_THAT(refusal(QueueSet{}), HasSubstr("needs a name"));
  EXPECT_THAT(refusal(QueueSet{{.name = "q", .limit = {{"gpu", std::int64_t{1} << 58}}}}),
              HasSubstr("beyond every fleet"));
  EXPECT_EQ(refusal(QueueSet{{.name = "q", .limit = {{"gpu", std::int64_t{1} << 50}}}}), "");
  EXPECT_THAT(refusal(QueueSet{{.name = "q", .guarantee = {{"cpu", -5}}}}), HasSubstr("-5"));
  EXPECT_THAT(refusal(MixSet{{{.shape = {.resources = {{"cpu", -1}}}}}}), HasSubstr("cpu is -1"));
  NodeSpec huge = node("n9");
  huge.devices.front().type.memory_mib = std::int64_t{1} << 31;
  EXPECT_THAT(refusal(NodeReported{huge}), HasSubstr("2147483648 MiB"));
  huge.devices.front().type.memory_mib = -1;
  EXPECT_THAT(refusal(NodeReported{huge}), HasSubstr("-1 MiB"));
  EXPECT_THAT(refusal(NodeReported{node("n9", 129)}), HasSubstr("129 devices"));
  EXPECT_THAT(refusal(NodeReported{node("")}), HasSubstr("0 characters"));
  EXPECT_THAT(refusal(NodeCordoned{"n9"}), HasSubstr("no node"));
  EXPECT_THAT(refusal(DeviceHealthChanged{"n0", 2}), HasSubstr("no device 2"));
}

TEST_F(StateTest, PlansAreCheckedBeforeTheyCount) {
  const JobId id = submit();
  const auto with = [&](auto&& change) {
    Action action = placement({id, 0}, 0, {0});
    change(action);
    return refusal(PlanDecided{{action}});
  };
  const std::string start = "a plan places task " + to_string(TaskId{id, 0}) + ", ";
  EXPECT_EQ(with([](Action&) {}), "");
  EXPECT_EQ(with([](Action& action) { ++action.attempt; }),
            start + "but that is not its next attempt");
  EXPECT_EQ(with([](Action& action) { action.shape = ShapeIndex(7); }),
            start + "but not by one of its alternatives");
  EXPECT_EQ(with([](Action& action) { action.node = NodeIndex(2); }), start + "but on no node");
  EXPECT_EQ(with([](Action& action) { action.devices.add(2); }),
            start + "but on devices that its node does not have");
  EXPECT_THAT(with([](Action& action) { action.task.ordinal = 9; }), HasSubstr("is unknown"));
  const Action action = placement({id, 0}, 0, {0});
  EXPECT_EQ(refusal(PlanDecided{{action, action}}), start + "for the second time");
  Action stop{.kind = ActionKind::evict, .task = {id, 0}, .attempt = 1};
  EXPECT_THAT(refusal(PlanDecided{{stop}}), HasSubstr("does not run so"));
  apply(PlanDecided{{action}});
  EXPECT_EQ(refusal(PlanDecided{{action}}), start + "which does not wait");
  EXPECT_EQ(refusal(PlanDecided{{stop}}), "");
  stop.attempt = 2;
  EXPECT_THAT(refusal(PlanDecided{{stop}}), HasSubstr("does not run so"));
}

TEST_F(StateTest, TimesForWhichAJobIsShownAreBounded) {
  const auto refused = [&](Duration ttl) {
    JobSpec spec = test::job(1);
    spec.ttl = ttl;
    return refusal(JobSubmitted{JobId(5), std::make_shared<const JobSpec>(spec)});
  };
  EXPECT_EQ(refused(JobSpec::as_usual), "");
  EXPECT_EQ(refused(Duration{}), "");
  EXPECT_EQ(refused(Duration::seconds(limits::longest_seconds)), "");
  EXPECT_THAT(refused(Duration::seconds(limits::longest_seconds + 1)), HasSubstr("10 years"));
  EXPECT_THAT(refused(Duration{-2}), HasSubstr("10 years"));
}

}  // namespace tutti::test::state_admit_test
