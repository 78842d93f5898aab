#include "sim/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/tutti.h"

namespace tutti::replay_test {

const FleetFile one_gpu =
    parse_fleet("nodes: [{name: n, cpu: 8, memory: 8Gi, gpus: 1xT4}]", "one", nullptr).value();

ReplayResult replayed(std::string_view jobs, ReplayOptions options = {}) {
  const Workload work = parse_workload(jobs, "work", nullptr).value();
  const auto result = replay(one_gpu, work, builtin_policy("pack").value(), options);
  EXPECT_TRUE(result.has_value()) << result.error().text();
  return result.value_or(ReplayResult{});
}

TEST(ReplayTest, TheSecondJobWaitsForTheFirst) {
  const ReplayResult result = replayed(R"(
jobs:
  - {name: a, gpus: 1, length: 1h}
  - {name: b, gpus: 1, at: 10min, length: 1h}
)");
  EXPECT_EQ(result.trace.jobs, 2U);
  EXPECT_EQ(result.trace.finished, 2U);
  EXPECT_EQ(result.not_started, 0U);
  EXPECT_EQ(result.decisions, 2U);
  EXPECT_DOUBLE_EQ(result.trace.wait_s.mean, 25 * 60);
  EXPECT_DOUBLE_EQ(result.trace.wait_s.p50, 0);
  EXPECT_DOUBLE_EQ(result.trace.wait_s.p99, 50 * 60);
  EXPECT_DOUBLE_EQ(result.trace.wait_s.max, 50 * 60);
  EXPECT_DOUBLE_EQ(result.trace.makespan_s, 7200);
  EXPECT_DOUBLE_EQ(result.trace.utilisation_percent, 100);
  // After the last arrival the first job still runs.
  EXPECT_DOUBLE_EQ(result.left_by_model.at(0).unallocated, 0);
  ASSERT_GE(result.trace.over_time.size(), 3U);
  EXPECT_EQ(result.trace.over_time[1].queued_jobs, 1U);
  EXPECT_DOUBLE_EQ(result.trace.over_time.back().allocated_percent, 0);
}

TEST(ReplayTest, AnEndMakesRoomForAnArrivalOfTheSameInstant) {
  const ReplayResult result = replayed(R"(
jobs:
  - {name: a, gpus: 1, length: 1h}
  - {name: b, gpus: 1, at: 1h, length: 1h}
)");
  EXPECT_DOUBLE_EQ(result.trace.wait_s.max, 0);
}

// However long the last job runs: all policies are looked at for the same time.
TEST(ReplayTest, UtilisationIsThatUntilTheLastArrival) {
  const auto utilisation = [](std::string_view jobs) {
    return replayed(jobs).trace.utilisation_percent;
  };
  EXPECT_DOUBLE_EQ(utilisation("jobs:\n"
                               "  - {name: a, gpus: 1, length: 15min}\n"
                               "  - {name: b, gpus: 1, at: 60min, length: 9h}\n"),
                   25);
  EXPECT_DOUBLE_EQ(utilisation("jobs: [{name: a, gpus: 0.5, length: 9h}]"), 50)
      << "all at once: as long as anything runs";
}

TEST(ReplayTest, KeepsItsEndWhereSomeJobNeverStarted) {
  const std::string_view jobs =
      "jobs:\n"
      "  - {name: a, gpus: 1, length: 1h}\n"
      "  - {name: b, gpus: 2, length: 1h}\n";
  EXPECT_EQ(replayed(jobs).end, nullptr);
  const ReplayResult result = replayed(jobs, {.end = true});
  ASSERT_NE(result.end, nullptr);
  EXPECT_EQ(result.never_started, (std::vector<std::size_t>{1}));
  EXPECT_TRUE(result.end->find(JobId(1)).valid());
  EXPECT_EQ(replayed("jobs: [{name: a, gpus: 1, length: 1h}]", {.end = true}).end, nullptr);
}

TEST(ReplayTest, EndsWhereItIsTold) {
  const ReplayResult result = replayed(R"(
jobs:
  - {name: a, gpus: 1, length: 1h}
  - {name: b, gpus: 1, at: 10min, length: 1h}
  - {name: c, gpus: 1, at: 40min, length: 1h}
)",
                                       {.until = Duration::seconds(1800)});
  EXPECT_EQ(result.trace.jobs, 2U) << "a job that never arrived counts";
  EXPECT_EQ(result.trace.finished, 0U);
  EXPECT_EQ(result.not_started, 1U);
  EXPECT_DOUBLE_EQ(result.trace.wait_s.max, 20 * 60);
  EXPECT_DOUBLE_EQ(result.trace.makespan_s, 1800);
}

TEST(ReplayTest, AJobWithoutLengthStays) {
  const ReplayResult result = replayed(R"(
jobs:
  - {name: a, gpus: 1}
  - {name: b, gpus: 1, at: 10min, length: 1h}
)");
  EXPECT_EQ(result.trace.finished, 0U);
  EXPECT_EQ(result.not_started, 1U);
}

TEST(ReplayTest, AGangStartsWithItsLastTask) {
  const ReplayResult result = replayed(R"(
jobs:
  - {name: a, gpus: 0.5, length: 1h}
  - {name: b, at: 1min, tasks: 2, gpus: 0.5, length: 1h}
)");
  EXPECT_EQ(result.trace.finished, 2U);
  EXPECT_DOUBLE_EQ(result.trace.wait_s.max, 59 * 60);
  EXPECT_EQ(result.decisions, 3U);
}

TEST(ReplayTest, ManyMomentsAreThinnedOut) {
  const ReplayResult result =
      replayed("jobs: [{name: a, copies: 5000, every: 1min, gpus: 1, length: 30s}]");
  EXPECT_EQ(result.trace.finished, 5000U);
  EXPECT_LE(result.trace.over_time.size(), 513U);
  EXPECT_GE(result.trace.over_time.size(), 128U);
  EXPECT_NEAR(result.trace.utilisation_percent, 50, 0.1);
}

TEST(ReplayTest, PeakDemandCountsWhatRunsAtOnce) {
  const Workload work = parse_workload(R"(
jobs:
  - {name: a, copies: 3, every: 1h, gpus: 1, length: 1h}
  - {name: b, at: 90min, gpus: 0.5}
)",
                                       "work", nullptr)
                            .value();
  EXPECT_EQ(peak_demand_milli(work), 1500);
  EXPECT_TRUE(has_lengths(work));
}

}  // namespace tutti::replay_test
