#include "sim/never_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/tutti.h"

namespace tutti::never_start_test {

using testing::HasSubstr;

NeverStarts of(std::string_view fleet, std::string_view jobs) {
  const auto nodes = parse_fleet(fleet, "fleet", nullptr);
  const auto workload = parse_workload(jobs, "work", nullptr);
  EXPECT_TRUE(nodes.has_value()) << nodes.error().text();
  EXPECT_TRUE(workload.has_value()) << workload.error().text();
  return never_start(*nodes, *workload).value();
}

constexpr std::string_view fleet =
    "nodes:\n"
    "  - {name: 'a[0-1]', cpu: 32, gpus: 4xT4, labels: {zone: east}}\n";

TEST(NeverStartTest, SaysWhichJobsAndWhy) {
  const NeverStarts never = of(fleet,
                               "jobs:\n"
                               "  - {name: fits, gpus: 4}\n"
                               "  - {name: 'typo[0-2]', gpus: 1, nodes: {zone: eats}}\n"
                               "  - {name: large, cpu: 64}\n"
                               "  - {name: gang, gpus: 3, tasks: 3}\n");
  ASSERT_EQ(never.kinds.size(), 3U);
  EXPECT_EQ(never.jobs, 5U);
  EXPECT_EQ(never.kinds[0].job, "typo0");
  EXPECT_EQ(never.kinds[0].jobs, 3U);
  EXPECT_THAT(never.kinds[0].why, HasSubstr("2 nodes  other labels than asked for"));
  EXPECT_THAT(never.kinds[1].why, HasSubstr("lacks 32 cpu"));
  EXPECT_THAT(never.kinds[2].why, HasSubstr("2 of 3 tasks would find places"));
  EXPECT_THAT(to_text(never), HasSubstr("work: 5 jobs can never start on this fleet"));
  EXPECT_THAT(to_text(never), HasSubstr("  typo0 and 2 more like it: never fits"));
}

// What waits for room or for company is no such job.
TEST(NeverStartTest, LeavesOutWhatCouldStart) {
  const NeverStarts never = of(fleet,
                               "jobs:\n"
                               "  - {name: 'many[0-9]', gpus: 4}\n"
                               "  - {name: friend, cpu: 1, labels: {app: db}}\n"
                               "  - name: lonely\n"
                               "    cpu: 1\n"
                               "    affinity: [{tasks: {app: db}, within: host}]\n");
  EXPECT_TRUE(never.kinds.empty()) << to_text(never);
  EXPECT_EQ(to_text(never), "");
}

// However many wait for company only, none of them has to be explained.
TEST(NeverStartTest, WhatWaitsForCompanyOfItsOwnJobOrOfNobodyMayStart) {
  const NeverStarts never = of(fleet,
                               "jobs:\n"
                               "  - name: lonely\n"
                               "    cpu: 1\n"
                               "    affinity: [{tasks: {app: nobody}, within: host}]\n"
                               "  - name: pair\n"
                               "    cpu: 20\n"
                               "    tasks: 2\n"
                               "    labels: {app: pair}\n"
                               "    affinity: [{tasks: {app: pair}, within: host}]\n");
  ASSERT_EQ(never.kinds.size(), 1U) << "one node has no room for both";
  EXPECT_EQ(never.kinds[0].job, "pair");
  EXPECT_EQ(never.by_job, (std::vector{false, true}));
}

TEST(NeverStartTest, WhereNoNodeHasTheLevelNobodyIsNear) {
  const NeverStarts never = of(fleet,
                               "jobs:\n"
                               "  - name: near\n"
                               "    cpu: 1\n"
                               "    affinity: [{tasks: {app: nobody}, within: zone}]\n"
                               "  - name: nowhere\n"
                               "    cpu: 1\n"
                               "    affinity: [{tasks: {app: nobody}, within: rack}]\n");
  ASSERT_EQ(never.kinds.size(), 1U);
  EXPECT_EQ(never.kinds[0].job, "nowhere");
}

TEST(NeverStartTest, WhatARepairWouldLetStartMayStart) {
  const std::string_view broken =
      "nodes:\n"
      "  - {name: a, cpu: 32, gpus: 4xT4, cordoned: true}\n"
      "  - {name: b, cpu: 16}\n";
  const NeverStarts never =
      of(broken, "jobs:\n  - {name: later, gpus: 4}\n  - {name: large, cpu: 33}\n");
  ASSERT_EQ(never.kinds.size(), 1U);
  EXPECT_EQ(never.kinds[0].job, "large");
}

// All are counted and named; only the first few are explained.
TEST(NeverStartTest, ExplainsOnlyTheFirstFew) {
  std::string jobs = "jobs:\n";
  for (int at = 0; at < 8; ++at) {
    const std::string number = std::to_string(at);
    jobs += "  - {name: 'j" + number + "-[0-1]', cpu: " + std::to_string(100 + at) + "}\n";
  }
  const NeverStarts never = of(fleet, jobs);
  ASSERT_EQ(never.kinds.size(), 8U);
  EXPECT_EQ(never.jobs, 16U);
  EXPECT_NE(never.kinds[4].why, "");
  EXPECT_EQ(never.kinds[5].why.find("it would start"), std::string::npos);
  EXPECT_THAT(never.kinds[5].why, HasSubstr("not enough cpu"));
  EXPECT_EQ(never.kinds[7].job, "j7-0");
  EXPECT_THAT(to_text(never), HasSubstr("work: 16 jobs can never start"));
  EXPECT_THAT(to_text(never), HasSubstr("and 3 more kinds (6 jobs); --json says why"));
}

}  // namespace tutti::never_start_test
