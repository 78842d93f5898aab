#include "backend/local/this_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/local/test_tasks.h"
#include "model/catalog.h"
#include "model/state.h"

namespace tutti::this_machine_test {

using testing::Contains;
using testing::HasSubstr;

class ThisMachineTest : public testing::Test {
 protected:
  ThisMachineTest() { ::setenv("TUTTI_FAKE_NVML", (folder_ / "machine").c_str(), 1); }
  ~ThisMachineTest() override { ::unsetenv("TUTTI_FAKE_NVML"); }

  ThisMachine look(MachineOptions options, const std::string& cards = {}) {
    std::ofstream(folder_ / "machine") << "driver 550 12040\n" << cards;
    options.driver = test::fake_nvml();
    auto machine = this_machine(options, &catalog_);
    EXPECT_TRUE(machine.has_value()) << machine.error().text();
    return machine ? *std::move(machine) : ThisMachine{};
  }
  static std::string card(const std::string& uuid, const std::string& more = "") {
    return "card " + uuid + " 00000000:01:00.0 NVIDIA_L4 23034 " + more + "\n";
  }
  static std::vector<std::string> ids(const ThisMachine& machine) {
    std::vector<std::string> out;
    for (const DeviceSpec& each : machine.node.devices) out.push_back(each.device.id);
    return out;
  }

  test::TempFolder folder_;
  Catalog catalog_ = Catalog::builtin().value();
};

TEST_F(ThisMachineTest, HasWhatTheSystemSaysAndTheDevicesThatItsOwnerNames) {
  const ThisMachine machine = look({.devices = {"2xAscend-910B2", "1xL4"}}, card("GPU-a"));
  EXPECT_FALSE(machine.node.name.empty());
  ASSERT_EQ(machine.node.devices.size(), 4U);
  EXPECT_EQ(machine.node.devices[0].device.id, "GPU-a");
  EXPECT_EQ(machine.node.devices[1].type.model, "Ascend-910B2");
  EXPECT_EQ(machine.node.devices[3].type.model, "L4");
  ASSERT_EQ(machine.node.capacity.size(), 2U);
  for (const NamedAmount& amount : machine.node.capacity) EXPECT_GT(amount.amount, 0);
  EXPECT_EQ(machine.cpus.size() * 1000, static_cast<std::size_t>(machine.node.capacity[0].amount));
  EXPECT_EQ(machine.cards.size(), 1U);
  EXPECT_THAT(machine.remarks, Contains(HasSubstr("1 x L4 in 1 NVLink island, cuda 12.4")));
  EXPECT_THAT(machine.remarks, Contains("declared: 2 x Ascend-910B2, 1 x L4"));
}

TEST_F(ThisMachineTest, NothingIsWrongWhereThereIsNoDriver) {
  const auto machine = this_machine({.driver = "libnot-there.so"}, &catalog_);
  ASSERT_TRUE(machine.has_value());
  EXPECT_TRUE(machine->node.devices.empty());
  EXPECT_THAT(machine->remarks, Contains(HasSubstr("no NVIDIA driver: libnot-there.so")));
}

TEST_F(ThisMachineTest, AFileSaysWhatNothingDetects) {
  const std::string file = R"(
nodes:
  - name: edge-7
    memory: 1Gi
    labels: {zone: east}
    devices:
      - {model: A100-80G, mode: mig}
      - {model: A100-80G, profile: 3g.40gb, parent: 0, ids: [MIG-x]}
)";
  const ThisMachine machine =
      look({.node_file = file, .node_file_name = "node.yaml"}, card("GPU-a") + card("GPU-b"));
  EXPECT_EQ(machine.node.name, "edge-7");
  EXPECT_EQ(*machine.node.labels.find("zone"), "east");
  EXPECT_EQ(machine.node.capacity[1].amount, std::int64_t{1} << 30);
  ASSERT_EQ(machine.node.devices.size(), 4U);
  EXPECT_EQ(machine.node.devices[3].device.parent, 2) << "behind those that were found";
}

TEST_F(ThisMachineTest, SaysWhatIsWrongAndWhere) {
  const auto error_of = [&](const MachineOptions& options) {
    const auto machine = this_machine(options, &catalog_);
    return machine ? "accepted" : machine.error().text();
  };
  EXPECT_THAT(error_of({.devices = {"twoxA100"}}), HasSubstr("twoxA100"));
  EXPECT_THAT(error_of({.node_file = "nodes: [{name: n, gpus: 3}]", .node_file_name = "f.yaml"}),
              HasSubstr("f.yaml:1:"));
  EXPECT_THAT(error_of({.node_file = "nodes: [{name: \"n[0-1]\"}]", .node_file_name = "f.yaml"}),
              HasSubstr("f.yaml: it describes 2 nodes"));
  EXPECT_THAT(error_of({.devices = {"128xL4", "1xL4"}}), HasSubstr("at most 128"));
  std::filesystem::create_directories(folder_ / "proc");
  std::ofstream(folder_ / "proc/meminfo") << "MemFree: 5 kB\n";
  EXPECT_THAT(error_of({.proc = folder_ / "proc"}), HasSubstr("proc/meminfo: it does not say"));
}

// A server starts again, one card has gone, another one has come, and a task still runs.
TEST_F(ThisMachineTest, RunningTasksKeepTheirDevices) {
  State state;
  const auto apply = [&](const Event& event) {
    const auto good = state.admissible(event);
    ASSERT_TRUE(good.has_value()) << good.error().text();
    state.apply(event, Instant{static_cast<std::int64_t>(state.version()) + 1});
  };
  const ThisMachine before =
      look({.devices = {"2xT4"}}, card("GPU-a") + card("GPU-b") + card("GPU-c", "mig=1") +
                                      "slice 2 MIG-1 NVIDIA_L4_MIG_1g.5gb 1 5000\n");
  apply(NodeReported{before.node});

  const std::string later = card("GPU-c", "mig=1") + card("GPU-d") + card("GPU-b") +
                            "slice 0 MIG-1 NVIDIA_L4_MIG_1g.5gb 1 5000\n";
  ThisMachine now = look({.devices = {"2xT4"}}, later);
  keep_places(now, state);
  EXPECT_EQ(ids(now), (std::vector<std::string>{"GPU-c", "GPU-d", "GPU-b", "MIG-1", "", ""}))
      << "nothing runs, so nothing binds";

  TaskShape shape{.resources = {{"cpu", 100}}};
  shape.devices = {{.count = 1}};
  RoleSpec role{.name = "r", .alternatives = {shape}};
  JobSpec spec{.name = "job"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  apply(JobSubmitted{JobId(1), std::make_shared<const JobSpec>(spec)});
  Action place{.task = {JobId(1), 0}, .attempt = 1, .shape = {}, .node = NodeIndex(0)};
  place.shape = state.tasks()[state.find(place.task)].shape;
  place.devices.add(1);
  apply(PlanDecided{{place}});

  now = look({.devices = {"2xT4"}}, later);
  keep_places(now, state);
  EXPECT_EQ(ids(now),
            (std::vector<std::string>{"GPU-a", "GPU-b", "GPU-c", "MIG-1", "", "", "GPU-d"}));
  EXPECT_EQ(now.node.devices[0].device.health, Health::failed) << "it is gone";
  EXPECT_EQ(now.node.devices[1].device.health, Health::online);
  EXPECT_EQ(now.node.devices[3].device.parent, 2);
  ASSERT_EQ(now.cards.size(), 3U);
  EXPECT_EQ(now.cards[0].ordinal, 2);
  EXPECT_EQ(now.cards[1].ordinal, 6);
  EXPECT_EQ(now.cards[2].ordinal, 1);
}

}  // namespace tutti::this_machine_test
