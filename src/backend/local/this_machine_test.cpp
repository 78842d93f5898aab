#include "backend/local/this_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "model/catalog.h"

namespace tutti {
namespace {

TEST(ThisMachineTest, HasWhatTheSystemSaysAndTheDevicesThatItsOwnerNames) {
  const Catalog catalog = Catalog::builtin().value();
  const auto node = this_machine({"2xA100-80G", "1xL4"}, &catalog);
  ASSERT_TRUE(node.has_value()) << node.error().text();
  EXPECT_FALSE(node->name.empty());
  ASSERT_EQ(node->devices.size(), 3U);
  EXPECT_EQ(node->devices[0].type.memory_mib, 81'920);
  EXPECT_EQ(node->devices[2].type.model, "L4");
  for (const NamedAmount& amount : node->capacity) EXPECT_GT(amount.amount, 0) << amount.name;
  EXPECT_EQ(node->capacity.size(), 2U);
}

TEST(ThisMachineTest, SaysWhichDeviceItDoesNotUnderstand) {
  const auto node = this_machine({"twoxA100"}, nullptr);
  ASSERT_FALSE(node.has_value());
  EXPECT_THAT(node.error().text(), testing::HasSubstr("twoxA100"));
}

TEST(ThisMachineTest, SaysWhereNoMemoryIsTold) {
  const std::string folder = testing::TempDir() + "/proc";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/meminfo") << "MemFree: 5 kB\n";
  const auto node = this_machine({}, nullptr, {.proc = folder});
  ASSERT_FALSE(node.has_value());
  EXPECT_THAT(node.error().text(), testing::HasSubstr(folder + "/meminfo: it does not say"));
}

}  // namespace
}  // namespace tutti
