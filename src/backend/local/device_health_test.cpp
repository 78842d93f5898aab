#include "backend/local/device_health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "backend/local/device_watch.h"
#include "backend/local/test_tasks.h"

namespace tutti::device_health_test {

using testing::HasSubstr;

TEST(DeviceHealthTest, MistakesOfProgramsAreNone) {
  DeviceHealth card;
  for (const unsigned number : {13U, 31U, 43U, 45U, 68U, 109U}) card.hear_xid(number);
  card.hear({});
  EXPECT_EQ(card.health(), Health::online);
}

TEST(DeviceHealthTest, AnErrorOfTheCardStays) {
  DeviceHealth card;
  card.hear_xid(79);
  EXPECT_EQ(card.health(), Health::failed);
  EXPECT_THAT(card.reason(), HasSubstr("XID 79: it fell off"));
  card.hear_xid(94);
  for (int turn = 0; turn < 10; ++turn) card.hear({});
  EXPECT_EQ(card.health(), Health::failed);
  DeviceHealth other;
  other.hear_xid(94);
  EXPECT_EQ(other.health(), Health::degraded);
  other.hear_xid(12345);
  EXPECT_EQ(other.health(), Health::failed) << "nobody knows what that is";
}

TEST(DeviceHealthTest, OneThatComesBackIsTrustedAfterAWhile) {
  DeviceHealth card;
  card.hear({.answers = false});
  EXPECT_EQ(card.health(), Health::failed);
  card.hear({});
  card.hear({});
  EXPECT_EQ(card.health(), Health::failed);
  card.hear({.answers = false});
  card.hear({});
  card.hear({});
  EXPECT_EQ(card.health(), Health::failed) << "it counts anew";
  card.hear({});
  EXPECT_EQ(card.health(), Health::online);
  EXPECT_EQ(card.reason(), "");
}

TEST(DeviceHealthTest, ClocksThatAreHeldDownCountTheSecondTime) {
  DeviceHealth card;
  const CardReading slow{
      .hardware_slow = true, .celsius = 95, .clock_mhz = 300, .clock_max_mhz = 1980};
  card.hear(slow);
  card.hear({});
  card.hear(slow);
  EXPECT_EQ(card.health(), Health::online);
  card.hear(slow);
  EXPECT_EQ(card.health(), Health::degraded);
  EXPECT_THAT(card.reason(), HasSubstr("300 of 1980 MHz"));
  for (unsigned turn = 0; turn < DeviceHealth::well_before; ++turn) card.hear({});
  EXPECT_EQ(card.health(), Health::online);
}

TEST(DeviceHealthTest, MemoryErrorsCountUntilTheNextReset) {
  DeviceHealth card;
  card.hear({.memory_errors = 2});
  EXPECT_EQ(card.health(), Health::degraded);
  EXPECT_THAT(card.reason(), HasSubstr("could not be corrected: 2"));
  for (unsigned turn = 0; turn < DeviceHealth::well_before; ++turn) card.hear({});
  EXPECT_EQ(card.health(), Health::online);
}

TEST(DeviceHealthTest, NoCardGetsBetterThanItWasReported) {
  DeviceHealth card(Health::degraded);
  card.hear({.answers = false});
  for (unsigned turn = 0; turn < 9; ++turn) card.hear({});
  EXPECT_EQ(card.health(), Health::degraded);
}

/// The watch over what tests/fake_nvml plays.
class DeviceWatchTest : public testing::Test {
 protected:
  DeviceWatchTest() { ::setenv("TUTTI_FAKE_NVML", (folder_ / "machine").c_str(), 1); }
  ~DeviceWatchTest() override { ::unsetenv("TUTTI_FAKE_NVML"); }

  /// As a whole, so that no half of it is read.
  void play(const std::string& machine) {
    std::ofstream(folder_ / "next") << machine;
    std::filesystem::rename(folder_ / "next", folder_ / "machine");
  }
  DeviceWatch::Change next(DeviceWatch& watch) {
    pollfd wake{.fd = watch.wake_fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&wake, 1, 20'000), 1) << "nothing is told";
    const auto changes = watch.take();
    EXPECT_EQ(changes.size(), 1U);
    return changes.empty() ? DeviceWatch::Change{} : changes[0];
  }

  test::TempFolder folder_;
};

TEST_F(DeviceWatchTest, TellsOfErrorsAtOnceAndOfReadingsInTheirTime) {
  const std::string two =
      "driver 1 12000\n"
      "card GPU-a 00000000:01:00.0 NVIDIA_L4 23034\n"
      "card GPU-b 00000000:02:00.0 NVIDIA_L4 23034";
  play(two);
  const auto driver = nvml::Library::open(test::fake_nvml());
  ASSERT_TRUE(driver.has_value());
  const FoundGpus found = find_gpus(*driver, nullptr, "");
  std::vector<DeviceWatch::Card> cards{{found.cards[0], 5, Health::online},
                                       {found.cards[1], 2, Health::online}};
  {
    DeviceWatch slow(*driver, cards, {.every = Duration::seconds(1000), .tell = {}});
    play(two + "\nxid 0 13\nxid 1 48\n");
    const DeviceWatch::Change failed = next(slow);
    EXPECT_EQ(failed.ordinal, 2);
    EXPECT_EQ(failed.health, Health::failed);
    EXPECT_THAT(failed.reason, HasSubstr("XID 48"));
  }
  std::vector<std::string> told;
  DeviceWatch quick(
      *driver, cards,
      {.every = Duration::milliseconds(1),
       .tell = [&](const DeviceWatch::Change& each) { told.push_back(each.reason); }});
  play(two + " lost=1\n");
  EXPECT_EQ(next(quick).health, Health::failed);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0], HasSubstr("has lost it"));
  play(two);
  EXPECT_EQ(next(quick).health, Health::online);
}

}  // namespace tutti::device_health_test
