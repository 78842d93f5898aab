/// Cards as a driver tells of them: tests/fake_nvml plays it.
#include "backend/local/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "backend/local/test_tasks.h"
#include "model/catalog.h"

namespace tutti::gpus_test {

class GpusTest : public testing::Test {
 protected:
  GpusTest() { ::setenv("TUTTI_FAKE_NVML", (folder_ / "machine").c_str(), 1); }
  ~GpusTest() override { ::unsetenv("TUTTI_FAKE_NVML"); }

  FoundGpus find(const std::string& machine) {
    std::ofstream(folder_ / "machine") << machine;
    auto driver = nvml::Library::open(test::fake_nvml());
    EXPECT_TRUE(driver.has_value()) << driver.error().text();
    return driver ? find_gpus(*driver, &catalog_, folder_ / "sys") : FoundGpus{};
  }
  void put_on_numa(const std::string& bus, int node) {
    const std::string path = folder_ / "sys/bus/pci/devices/" + bus;
    std::filesystem::create_directories(path);
    std::ofstream(path + "/numa_node") << node << "\n";
  }

  test::TempFolder folder_;
  Catalog catalog_ = Catalog::builtin().value();
};

TEST_F(GpusTest, CardsHaveTheirModelTheirPlaceAndTheirLinks) {
  put_on_numa("0000:18:00.0", 0);
  put_on_numa("0000:9a:00.0", 1);
  put_on_numa("0000:9b:00.0", -1);
  const FoundGpus found = find(R"(driver 550.54.15 12040
card GPU-a 00000000:18:00.0 NVIDIA_H100_80GB_HBM3 81559 links=00000000:05:00.0,00000000:06:00.0
card GPU-b 00000000:9A:00.0 NVIDIA_H100_80GB_HBM3 81559 links=00000000:06:00.0
card GPU-c 00000000:9B:00.0 Strange_Card_9000 12345
)");
  ASSERT_EQ(found.devices.size(), 3U);
  EXPECT_EQ(found.devices[0].type, *catalog_.find("H100-80G"));
  EXPECT_EQ(found.devices[0].device.id, "GPU-a");
  EXPECT_EQ(found.devices[0].device.numa, 0);
  EXPECT_EQ(found.devices[1].device.numa, 1);
  EXPECT_EQ(found.devices[2].device.numa, 0) << "the kernel says -1";
  EXPECT_EQ(found.devices[1].device.island, found.devices[0].device.island) << "by a switch";
  EXPECT_NE(found.devices[2].device.island, found.devices[0].device.island);
  EXPECT_EQ(found.devices[2].type.model, "Strange Card 9000");
  EXPECT_EQ(found.devices[2].type.vendor, "nvidia");
  EXPECT_EQ(found.devices[2].type.memory_mib, 12'345);
  EXPECT_EQ(found.stack,
            (std::vector<StackVersion>{{"cuda", "12.4"}, {"nvidia_driver", "550.54.15"}}));
}

TEST_F(GpusTest, LinksOfCardToCardJoinChainsToo) {
  const FoundGpus found = find(R"(driver 1 12000
card GPU-a 00000000:01:00.0 Tesla_V100-SXM2-32GB 32768 links=00000000:04:00.0
card GPU-b 00000000:02:00.0 Tesla_V100-SXM2-32GB 32768 links=00000000:03:00.0
card GPU-c 00000000:03:00.0 Tesla_V100-SXM2-32GB 32768
card GPU-d 00000000:04:00.0 Tesla_V100-SXM2-32GB 32768 links=00000000:02:00.0
card GPU-e 00000000:05:00.0 Tesla_V100-SXM2-32GB 32768
)");
  ASSERT_EQ(found.devices.size(), 5U);
  for (const std::size_t card : {1U, 2U, 3U}) EXPECT_EQ(found.devices[card].device.island, 0);
  EXPECT_EQ(found.devices[4].device.island, 4);
}

TEST_F(GpusTest, SlicesAreDevicesOfTheirOwnBehindTheCards) {
  const FoundGpus found = find(R"(driver 535.1 12020
card GPU-a 00000000:01:00.0 NVIDIA_A100-SXM4-80GB 81920 mig=1
card GPU-b 00000000:02:00.0 NVIDIA_A100-SXM4-80GB 81920
card GPU-c 00000000:03:00.0 NVIDIA_A100-SXM4-80GB 81920 mig=1
slice 0 MIG-1 NVIDIA_A100-SXM4-80GB_MIG_3g.40gb 3 40192
slice 0 MIG-2 NVIDIA_A100-SXM4-80GB_MIG_1g.10gb+me 1 9856
slice 0 MIG-3 no_profile_in_it 2 19968
)");
  ASSERT_EQ(found.devices.size(), 6U);
  EXPECT_EQ(found.cards.size(), 3U);
  EXPECT_EQ(found.devices[0].device.mode, DeviceMode::mig);
  EXPECT_EQ(found.devices[0].device.health, Health::online);
  EXPECT_EQ(found.devices[1].device.mode, DeviceMode::whole);
  EXPECT_EQ(found.devices[2].device.health, Health::degraded) << "nothing can use it";
  for (const std::size_t slice : {3U, 4U, 5U}) {
    EXPECT_EQ(found.devices[slice].device.parent, 0);
    EXPECT_EQ(found.devices[slice].device.health, Health::online);
  }
  EXPECT_EQ(found.devices[3].type.profile, "3g.40gb");
  EXPECT_EQ(found.devices[3].device.id, "MIG-1");
  EXPECT_EQ(found.devices[4].type.memory_mib, 9856);
  EXPECT_EQ(found.devices[5].type.profile, "2g.20gb");
}

TEST_F(GpusTest, ACardThatIsLostIsNotThere) {
  const FoundGpus found = find(R"(driver 1 12000
card GPU-a 00000000:01:00.0 NVIDIA_L4 23034 lost=1
card GPU-b 00000000:02:00.0 NVIDIA_L4 23034
)");
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].device.id, "GPU-b");
}

TEST_F(GpusTest, WithoutADriverThereIsAReason) {
  EXPECT_THAT(nvml::Library::open("libnot-there.so.9").error().what,
              testing::HasSubstr("libnot-there.so.9"));
  EXPECT_THAT(nvml::Library::open("libc.so.6").error().what, testing::HasSubstr("is no NVML"));
  ::unsetenv("TUTTI_FAKE_NVML");
  EXPECT_THAT(nvml::Library::open(test::fake_nvml()).error().what,
              testing::HasSubstr("does not start: Driver Not Loaded"));
}

}  // namespace tutti::gpus_test
