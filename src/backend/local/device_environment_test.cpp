#include "backend/local/device_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tutti::device_environment_test {

using testing::ElementsAre;

DeviceSpec device(const std::string& vendor, const std::string& id = "",
                  DeviceKind kind = DeviceKind::gpu) {
  return {.type = {.model = "m", .vendor = vendor, .kind = kind}, .device = {.id = id}};
}

std::vector<std::string> environment(const std::vector<DeviceSpec>& devices,
                                     const std::vector<unsigned>& mine) {
  Fleet fleet;
  const NodeIndex node = fleet.upsert({.name = "n", .devices = devices}).node;
  DeviceSet set;
  for (const unsigned each : mine) set.add(each);
  return device_environment(fleet, node, set);
}

TEST(DeviceEnvironmentTest, CardsAreCountedAmongTheirVendors) {
  const std::vector<DeviceSpec> mixed{device("nvidia", "", DeviceKind::nic),
                                      device("nvidia"),
                                      device("amd"),
                                      device("nvidia"),
                                      device("amd"),
                                      device("huawei", "", DeviceKind::npu),
                                      device("acme")};
  EXPECT_THAT(environment(mixed, {0, 3, 4, 5, 6}),
              ElementsAre("CUDA_VISIBLE_DEVICES=1", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                          "NVIDIA_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=1",
                          "HIP_VISIBLE_DEVICES=0", "ASCEND_RT_VISIBLE_DEVICES=0"));
}

TEST(DeviceEnvironmentTest, WhoHasNoCardSeesNone) {
  EXPECT_THAT(
      environment({device("nvidia"), device("amd"), device("huawei")}, {}),
      ElementsAre("CUDA_VISIBLE_DEVICES=", "NVIDIA_VISIBLE_DEVICES=void", "ROCR_VISIBLE_DEVICES=-1",
                  "HIP_VISIBLE_DEVICES=-1", "ASCEND_RT_VISIBLE_DEVICES="));
  EXPECT_THAT(environment({}, {}), ElementsAre());
}

TEST(DeviceEnvironmentTest, UuidsAreBetterThanNumbers) {
  const std::vector<DeviceSpec> known{device("nvidia", "GPU-a"), device("nvidia", "MIG-b"),
                                      device("nvidia", "card 3")};
  EXPECT_THAT(environment(known, {0, 1}), ElementsAre("CUDA_VISIBLE_DEVICES=GPU-a,MIG-b",
                                                      "NVIDIA_VISIBLE_DEVICES=GPU-a,MIG-b"));
  EXPECT_THAT(environment(known, {0, 2}),
              ElementsAre("CUDA_VISIBLE_DEVICES=0,2", "CUDA_DEVICE_ORDER=PCI_BUS_ID",
                          "NVIDIA_VISIBLE_DEVICES=0,2"));
}

}  // namespace tutti::device_environment_test
