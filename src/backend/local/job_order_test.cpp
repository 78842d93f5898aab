#include "backend/local/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "dialect/environment.h"

namespace tutti::job_order_test {

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
    node.devices[1].device.numa = 1;
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
    const TaskShape shape{.resources = {{"cpu", cpu_milli_}}};
    RoleSpec first{.name = "first", .alternatives = {shape}, .launch = launch_};
    RoleSpec rest{.name = "rest", .count = 2, .min = 2, .alternatives = {shape}, .launch = launch_};
    rest.launch.command.push_back("rest");
    GangSpec gang{.copies = copies, .closeness = {}, .groups = {{.roles = {first, rest}}}};
    JobSpec spec{.name = "job", .user = user_};
    spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
    apply(JobSubmitted{JobId(7), std::make_shared<const JobSpec>(std::move(spec))});
    Action action{.task = {JobId(7), ordinal}, .attempt = 3, .shape = {}, .node = NodeIndex(0)};
    action.shape = state_.tasks()[state_.find(action.task)].shape;
    for (const unsigned device : devices) action.devices.add(device);
    return orders_(action, state_);
  }

  State state_;
  std::int64_t now_ = 0;
  LaunchSpec launch_;
  std::int64_t cpu_milli_ = 100;
  std::string user_;
  std::string stored_;
  Assignments assignments_{{.cpus = find_cpus("numa:2 core:2 pu:1").value(),
                            .is_free = [](std::uint16_t) { return true; },
                            .is_over = {}}};
  JobOrders orders_{[this](std::string_view name) -> Result<std::string> {
                      if (name == "7") return stored_;
                      return fail(Code::io, "no such environment");
                    },
                    {.data = "/data", .cgroup = "/sys/fs/cgroup/x", .limits = {{"nofile", 1, 2}}},
                    assignments_};
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

TEST_F(JobOrdersTest, TheTasksOfAGangFindEachOther) {
  const auto first = order(3, {}, 2);  // The first of the second copy.
  ASSERT_TRUE(first.has_value()) << first.error().text();
  ASSERT_TRUE(first->ports.has_value());
  const auto address = [&](unsigned at) {
    return "\"127.0.0.1:" + std::to_string(first->ports->first + at) + "\"";
  };
  EXPECT_THAT(first->environment, Contains("MASTER_ADDR=127.0.0.1"));
  EXPECT_THAT(first->environment, Contains("MASTER_PORT=" + std::to_string(first->ports->first)));
  EXPECT_THAT(first->environment,
              Contains("TF_CONFIG={\"cluster\":{\"worker\":[" + address(0) + "," + address(1) +
                       "," + address(2) + "]},\"task\":{\"type\":\"worker\",\"index\":0}}"));
  EXPECT_EQ(first->hosts, "localhost slots=3\n");
  apply(JobCancelled{JobId(7)});
  const auto other = order(5, {}, 2);
  EXPECT_EQ(other->ports, first->ports);
  EXPECT_THAT(other->environment, Contains("RANK=2"));
}

TEST_F(JobOrdersTest, WholeCoresAreItsOwnAndNearItsDevices) {
  EXPECT_THAT(order(0, {1})->cpus, testing::IsEmpty()) << "it asks for a tenth of one";
  apply(JobCancelled{JobId(7)});
  cpu_milli_ = 1500;
  EXPECT_THAT(order(0, {1})->cpus, testing::IsEmpty());
  apply(JobCancelled{JobId(7)});
  cpu_milli_ = 2000;
  EXPECT_THAT(order(0, {1})->cpus, testing::ElementsAre(2, 3));
  apply(JobCancelled{JobId(7)});
  EXPECT_THAT(order(1, {1})->cpus, testing::ElementsAre(0, 1)) << "what is near is taken";
}

TEST_F(JobOrdersTest, HasTheLimitsOfItsServerAndWhatItAskedFor) {
  const auto made = order(0, {});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->limits, (std::vector<ProcessLimit>{{"nofile", 1, 2}}));
  EXPECT_EQ(made->cgroup, (CgroupOrder{.root = "/sys/fs/cgroup/x", .cpu_milli = 100}));
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

}  // namespace tutti::job_order_test
