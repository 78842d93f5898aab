#include "backend/local/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "dialect/environment.h"

namespace tutti {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// One node with two devices of each vendor, and a job on it.
class JobOrdersTest : public testing::Test {
 protected:
  JobOrdersTest() {
    NodeSpec node{.name = "n0", .capacity = {{"cpu", 8000}}};
    for (const char* vendor : {"nvidia", "amd", "huawei"}) {
      const DeviceSpec device{.type = {.model = vendor, .vendor = vendor}, .device = {}};
      node.devices.insert(node.devices.end(), 2, device);
    }
    apply(NodeReported{node});
    launch_.command = {"/bin/echo", "hello"};
  }

  void apply(const Event& event) {
    const auto admitted = state_.admissible(event);
    ASSERT_TRUE(admitted.has_value()) << admitted.error().text();
    state_.apply(event, Instant{++now_});
  }
  /// The order for the task `ordinal` of a job with two roles of one and two tasks.
  Result<LaunchOrder> order(std::uint32_t ordinal, const std::vector<unsigned>& devices,
                            std::uint32_t copies = 1) {
    const TaskShape shape{.resources = {{"cpu", 100}}};
    RoleSpec first{.name = "first", .alternatives = {shape}, .launch = launch_};
    RoleSpec rest{.name = "rest", .count = 2, .min = 2, .alternatives = {shape}, .launch = launch_};
    rest.launch.command.push_back("rest");
    GangSpec gang{.copies = copies, .closeness = {}, .groups = {{.roles = {first, rest}}}};
    JobSpec spec{.name = "job", .user = user_};
    spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
    apply(JobSubmitted{JobId(7), std::make_shared<const JobSpec>(std::move(spec))});
    Action action{.task = {JobId(7), ordinal}, .attempt = 3, .shape = {}, .node = NodeIndex(0)};
    for (const unsigned device : devices) action.devices.add(device);
    return orders_(action, state_);
  }

  State state_;
  std::int64_t now_ = 0;
  LaunchSpec launch_;
  std::string user_;
  std::string stored_;
  JobOrders orders_{[this](std::string_view name) -> Result<std::string> {
                      if (name == "7") return stored_;
                      return fail(Code::io, "no such environment");
                    },
                    "/data"};
};

TEST_F(JobOrdersTest, SaysWhichTaskOfWhichJobItIs) {
  const auto made = order(4, {}, 2);  // The second of the second copy.
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_THAT(made->arguments, testing::ElementsAre("/bin/echo", "hello", "rest"));
  for (const char* each : {"TUTTI_JOB_ID=7", "TUTTI_JOB_NAME=job", "TUTTI_QUEUE=default",
                           "TUTTI_TASK=4", "TUTTI_ATTEMPT=3", "RANK=1", "WORLD_SIZE=3"}) {
    EXPECT_THAT(made->environment, Contains(each));
  }
  EXPECT_THAT(made->environment, Contains(StartsWith("HOME=/")));
  EXPECT_EQ(made->barred, ::geteuid() == 0 ? "" : "/data") << "root's own folder is closed anyway";
  EXPECT_EQ(made->user.has_value(), ::geteuid() == 0);
}

TEST_F(JobOrdersTest, NamesItsDevices) {
  const auto made = order(0, {1, 2});
  ASSERT_TRUE(made.has_value());
  EXPECT_THAT(made->environment, Contains("CUDA_VISIBLE_DEVICES=1"));
  EXPECT_THAT(made->environment, Contains("ROCR_VISIBLE_DEVICES=0"));
  EXPECT_THAT(made->environment, Contains("ASCEND_RT_VISIBLE_DEVICES="));
}

TEST_F(JobOrdersTest, StoredVariablesComeInButNotOverItsOwn) {
  launch_.environment = "7";
  stored_ = encode_environment(std::vector<Variable>{
      {"TOKEN", "secret"}, {"PATH", "/opt/bin"}, {"CUDA_VISIBLE_DEVICES", "0,1,2,3"}});
  const auto made = order(0, {0});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  EXPECT_THAT(made->environment, Contains("TOKEN=secret"));
  EXPECT_THAT(made->environment, Contains("PATH=/opt/bin"));
  EXPECT_THAT(made->environment, Contains("CUDA_VISIBLE_DEVICES=0"));
  EXPECT_THAT(made->environment, Not(Contains("CUDA_VISIBLE_DEVICES=0,1,2,3")));
}

TEST_F(JobOrdersTest, WhatCannotBeReadIsNotRunWithoutIt) {
  launch_.environment = "8";
  EXPECT_EQ(order(0, {0}).error().what, "no such environment");
}

TEST_F(JobOrdersTest, TheSignalToEndIsTheFirstStep) {
  launch_.grace = Duration::seconds(7);
  const auto plain = order(0, {});
  EXPECT_EQ(plain->stop.checkpoint_signal, 0);
  EXPECT_EQ(plain->stop.term_grace, Duration::seconds(7));
  apply(JobCancelled{JobId(7)});
  launch_.stop_signal = "USR1";
  const auto checkpoint = order(0, {});
  EXPECT_EQ(checkpoint->stop.checkpoint_signal, SIGUSR1);
  EXPECT_EQ(checkpoint->stop.checkpoint_grace, Duration::seconds(7));
}

TEST_F(JobOrdersTest, RefusesWhoAndWhatThisMachineDoesNotKnow) {
  user_ = "nobody-of-that-name";
  EXPECT_THAT(order(0, {}).error().what, HasSubstr("no user \"nobody-of-that-name\""));
  apply(JobCancelled{JobId(7)});
  user_.clear();
  launch_.command.clear();
  EXPECT_EQ(order(0, {}).error().what, "the job has no command");
}

}  // namespace
}  // namespace tutti
