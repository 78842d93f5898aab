#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/tutti.h"
#include "format/json.h"
#include "sim/comparison_text.h"
#include "sim/fleet_view.h"
#include "sim/report_runs.h"

namespace tutti::comparison_test {

using testing::EndsWith;
using testing::HasSubstr;

FleetFile fleet(std::string_view yaml) { return parse_fleet(yaml, "fleet", nullptr).value(); }
Workload work(std::string_view yaml) { return parse_workload(yaml, "work", nullptr).value(); }
PolicyRecipe policy(std::string_view name) { return builtin_policy(name).value(); }

FillResult filled(const FleetFile& fleet, const Workload& work, std::int64_t load_permille = 1300) {
  const auto result =
      fill(fleet, work, policy("bestfit"), {.load_permille = load_permille, .map = true});
  EXPECT_TRUE(result.has_value()) << result.error().text();
  return result.value_or(FillResult{});
}

const FleetFile mixed = fleet(R"(
nodes:
  - {name: "a[0-9]", cpu: 64, memory: 256Gi, gpus: 8xA}
  - {name: "b[0-9]", cpu: 32, memory: 64Gi, gpus: 4xB}
)");
const Workload several = work(R"(
jobs:
  - {name: share, copies: 60, cpu: 3, memory: 6Gi, gpus: 0.4, length: 1h, every: 1min}
  - {name: one, copies: 40, cpu: 5, memory: 8Gi, gpus: 1, length: 2h, every: 2min}
  - {name: eight, copies: 10, cpu: 20, memory: 64Gi, gpus: 8, length: 3h, every: 9min}
  - {name: pair, copies: 5, tasks: 2, cpu: 8, memory: 16Gi, gpus: 4, length: 1h}
)");

TEST(FillTest, ThinsOutOrRepeatsUntilTheLoadIsReached) {
  const FleetFile four = fleet("nodes: [{name: n, cpu: 64, memory: 64Gi, gpus: 4xT4}]");
  EXPECT_EQ(filled(four, work("jobs: [{name: j, copies: 10, gpus: 1}]")).decisions, 5U);
  EXPECT_EQ(filled(four, work("jobs: [{name: j, gpus: 1}]")).decisions, 5U);
  // Three devices and three more are beyond 5.2, but the bound looks at one device of a job.
  EXPECT_EQ(filled(four, work("jobs: [{name: j, gpus: 3}]")).decisions, 2U);
  EXPECT_EQ(filled(four, work("jobs: [{name: j, copies: 3, cpu: 1}]")).decisions, 3U);
}

TEST(FillTest, AMarkThatAJobStepsOverHasTheFiguresBeforeIt) {
  const FleetFile ten = fleet("nodes: [{name: \"n[0-1]\", cpu: 64, memory: 64Gi, gpus: 5xT4}]");
  const FillResult result = filled(ten, work("jobs: [{name: j, gpus: 4}]"));
  ASSERT_GE(result.curve.size(), 131U);
  EXPECT_EQ(result.curve[39].allocated_percent, 0);
  EXPECT_EQ(result.curve[40].allocated_percent, 40);
  EXPECT_EQ(result.curve[79].allocated_percent, 40);
  EXPECT_EQ(result.curve[100].allocated_percent, 80);
  EXPECT_NEAR(result.at_marks[0].unallocated, 60, 1e-9);  // 50 %
  EXPECT_NEAR(result.at_marks[1].unallocated, 20, 1e-9);  // 80 %
  EXPECT_NEAR(result.at_marks[4].unallocated, 20, 1e-9);  // 100 %
  EXPECT_TRUE(result.failed_before_100.empty());
}

TEST(FillTest, CountsTasksThatFindNoPlaceEarly) {
  const FleetFile two = fleet("nodes: [{name: \"n[0-1]\", cpu: 64, memory: 64Gi, gpus: 5xT4}]");
  const FillResult result =
      filled(two, work("jobs: [{name: j, tasks: 3, gpus: 3}]"));  // 3 tasks on 2 nodes.
  EXPECT_EQ(result.failed_before_100, (std::map<std::string, std::uint32_t>{{"3", 3}}));
}

TEST(FillTest, WhatIsLeftAddsUp) {
  const FillResult result = filled(mixed, several);
  double left = 0;
  for (const Report::Left& model : result.left_by_model) left += model.unallocated;
  double free = 0;
  for (const std::uint32_t permille : result.map->device_free_permille) free += permille / 1000.0;
  EXPECT_NEAR(left, free, 1e-6);
  EXPECT_NEAR(result.curve.back().allocated_percent, 100 * (1 - left / 120), 1e-6);
}

TEST(FillTest, JobsOfUnknownQueues) {
  const Workload queued = work("jobs: [{name: j, queue: reserch, gpus: 1}]");
  EXPECT_TRUE(fill(mixed, queued, policy("pack"), {}).has_value());
  const FleetFile declared = fleet("nodes: [{name: n, cpu: 8}]\nqueues: [{name: research}]");
  const auto refused = fill(declared, queued, policy("pack"), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().hint, HasSubstr("research"));
}

Comparison both(Arrivals arrivals, unsigned threads) {
  Comparison comparison;
  comparison.arrivals = arrivals;
  comparison.policies = {policy("default"), policy("bestfit"), policy("random")};
  comparison.workloads = {several, several};
  comparison.workloads[1].name = "again";
  comparison.seeds = {1, 2, 3};
  comparison.maps = true;
  comparison.threads = threads;
  return comparison;
}

class ComparisonTest : public testing::TestWithParam<Arrivals> {};

TEST_P(ComparisonTest, ThreadsAndRepetitionsChangeNothing) {
  std::vector<std::string> seen;
  for (const unsigned threads : {1U, 2U, 5U, 1U}) {
    std::size_t calls = 0;
    auto runs = compare(mixed, both(GetParam(), threads), [&](std::size_t done, std::size_t all) {
      EXPECT_EQ(done, ++calls);
      EXPECT_EQ(all, 18U);
    });
    ASSERT_TRUE(runs.has_value()) << runs.error().text();
    EXPECT_EQ(calls, 18U);
    ASSERT_EQ(runs->size(), 6U);
    for (RunSummary& run : *runs) run.seconds = 0;
    EXPECT_EQ(runs->at(0).state_hash, runs->at(3).state_hash) << "equal workloads differ";
    EXPECT_NE(runs->at(1).state_hash, runs->at(2).state_hash) << "policies do not matter";
    seen.push_back(to_json(*runs) + to_json(report_of(mixed, *runs)));
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[0], seen[3]);
}

INSTANTIATE_TEST_SUITE_P(Arrivals, ComparisonTest,
                         testing::Values(Arrivals::fill, Arrivals::trace));

TEST(ComparisonJsonTest, HasTheDocumentedMembers) {
  Comparison comparison = both(Arrivals::fill, 1);
  comparison.policies.resize(1);
  comparison.workloads.resize(1);
  const auto runs = compare(mixed, comparison, {});
  ASSERT_TRUE(runs.has_value());
  const auto value = parse_json(to_json(*runs));
  ASSERT_TRUE(value.has_value()) << value.error().text();
  const Value& run = value->find("runs")->items()[0];
  EXPECT_EQ(run.find("policy")->text_value(), "default");
  EXPECT_EQ(run.find("seeds")->items().size(), 3U);
  ASSERT_NE(run.find("unallocated_gpu_percent")->find("100"), nullptr);
  EXPECT_NE(run.find("unallocated_gpu_percent")->find("100")->find("sd"), nullptr);
  EXPECT_EQ(run.find("state_hash")->text_value().size(), 16U);
}

RunSummary with(std::string policy, double unallocated, std::string workload = "w") {
  RunSummary run{.policy = std::move(policy), .workload = std::move(workload)};
  run.unallocated_gpu_percent = {{100, {unallocated, 0}}};
  return run;
}

TEST(HeadlineTest, TellsTheGain) {
  EXPECT_EQ(headline({with("a", 10), with("b", 5)}, {6212}),
            "With b, 311 more of your 6 212 GPUs would be in use than with a when work for all of "
            "them has arrived.");
  EXPECT_EQ(headline({with("a", 10), with("b", 5), with("c", 6)}, {1000}),
            "With b, 10 more of your 1 000 GPUs would be in use than with c and 50 more than with "
            "a when work for all of them has arrived.");
  EXPECT_EQ(headline({with("a", 10), with("b", 5), with("c", 10)}, {1000}),
            "With b, 50 more of your 1 000 GPUs would be in use than with any other when work for "
            "all of them has arrived.");
  EXPECT_EQ(headline({with("a", 25)}, {8}),
            "With a, 6 of your 8 GPUs would be in use when work for all of them has arrived.");
  EXPECT_THAT(headline({with("a", 25), with("b", 25)}, {8}), HasSubstr("any of the 2 policies"));
}

TEST(HeadlineTest, AveragesOverWorkloads) {
  EXPECT_THAT(
      headline({with("a", 10, "v"), with("b", 0, "v"), with("a", 20, "w"), with("b", 10, "w")},
               {100}),
      HasSubstr("On the mean of 2 workloads, with b, 10 more"));
}

TEST(HeadlineTest, SaysWhenThereIsNothingToSay) {
  EXPECT_EQ(headline({with("a", 0)}, {0}), "The fleet has no GPUs.");
  EXPECT_EQ(headline({}, {8}), "");
  EXPECT_THAT(headline({RunSummary{.policy = "a"}}, {8}), HasSubstr("Too little work"));
}

TEST(HeadlineTest, ComparesWaits) {
  RunSummary slow{.policy = "slow"};
  slow.trace = Report::Trace{.wait_s = {.mean = 7200}};
  RunSummary quick{.policy = "quick"};
  quick.trace = Report::Trace{.wait_s = {.mean = 600}};
  EXPECT_EQ(headline({slow, quick}, {8}),
            "With quick, jobs wait 10 min on average, 1.8 h less than with slow.");
}

TEST(HeadlineTest, NoMeanOfNothing) {
  RunSummary run{.policy = "default"};
  run.trace = Report::Trace{.jobs = 2};
  run.not_started = 2;
  EXPECT_THAT(headline({run}, {8}), EndsWith("No job started."));
}

TEST(HeadlineTest, SaysFirstWhatDidNotStart) {
  RunSummary run{.policy = "default"};
  run.trace = Report::Trace{.jobs = 4, .wait_s = {.mean = 60}};
  run.not_started = 3;
  NeverStarts never{.workload = "w", .kinds = {{.job = "big", .jobs = 2}}, .jobs = 2};
  never.by_job.resize(4);
  EXPECT_THAT(headline({run}, {8}, {never}),
              testing::StartsWith("2 of 4 jobs can never start on this fleet, and 1 more had not "
                                  "started at the end; they count as waiting until then. With "
                                  "default, jobs wait 60 s"));
  run.not_started = 2;
  EXPECT_THAT(headline({run}, {8}, {never}),
              testing::StartsWith("2 of 4 jobs can never start on this fleet. With default"));
  run.not_started = 0.5;
  EXPECT_THAT(headline({run}, {8}),
              testing::StartsWith("0.5 of 4 jobs had not started at the end"));
  never.by_job.resize(2);
  EXPECT_EQ(headline({run}, {8}, {never}),
            "No: none of the 2 jobs can ever start on this fleet, however empty it is.");
  EXPECT_EQ(headline({with("a", 90)}, {8}, {never}), headline({run}, {8}, {never})) << "a fill";
  never.kinds.front().jobs = never.jobs = 1;
  never.by_job.resize(1);
  EXPECT_EQ(headline({run}, {8}, {never}),
            "No: big can never start on this fleet, however empty it is.");
}

// As the page says it: web/src/words.ts.
TEST(WaitTextTest, RoundsToTheNearest) {
  EXPECT_EQ(wait_text(0), "0 s");
  EXPECT_EQ(wait_text(0.4), "< 1 s");
  EXPECT_EQ(wait_text(89.4), "89 s");
  EXPECT_EQ(wait_text(460), "8 min");
  EXPECT_EQ(wait_text(1013), "17 min");
  EXPECT_EQ(wait_text(6600), "1.8 h");
  EXPECT_EQ(wait_text(2 * 86400), "2.0 d");
}

TEST(FillTableTest, ShowsTheSizesThatFailed) {
  RunSummary run = with("a", 10);
  EXPECT_THAT(to_table({run}), HasSubstr("failed before 100 %"));
  run.failed_before_100 = {{"2", 0.6}, {"16", 1}, {"share", 0.25}, {"8", 0}};
  EXPECT_THAT(to_table({run}),
              HasSubstr("failed before 100 %: share  2 GPUs  16 GPUs  decisions/s"));
}

TEST(HeadlineTest, ComparesWithThePresent) {
  RunSummary now{.policy = "present"};
  now.snapshot = SnapshotResult{.gpus_allocated = 8, .pending = 2, .free_whole_nodes = 0};
  RunSummary then{.policy = "pack"};
  then.snapshot = now.snapshot;
  EXPECT_THAT(headline({now, then}, {16}), HasSubstr("No policy here would do better"));
  then.snapshot->free_whole_nodes = 1;
  EXPECT_THAT(headline({now, then}, {16}), HasSubstr("1 whole node would be free instead of 0"));
  then.snapshot->gpus_allocated = 16;
  then.snapshot->pending_started = 2;
  EXPECT_THAT(headline({now, then}, {16}), HasSubstr("8 more of your 16 GPUs"));
  then.snapshot->running_unplaced = 1;
  EXPECT_THAT(headline({now, then}, {16}), HasSubstr("1 running pod would find no place"));
}

TEST(HeadlineTest, SpeaksOfTheDevicesThatThereAre) {
  EXPECT_THAT(headline({with("a", 25)}, {8, "accelerator"}), HasSubstr("6 of your 8 accelerators"));
  EXPECT_EQ(headline({with("a", 0)}, {0, "accelerator"}), "The fleet has no accelerators.");
  RunSummary now{.policy = "present"};
  now.snapshot = SnapshotResult{.gpus_allocated = 8};
  EXPECT_THAT(headline({now}, {16, "accelerator"}), HasSubstr("8 of your 16 accelerators"));
  const std::string table = to_table({now}, "accelerator");
  EXPECT_THAT(table, HasSubstr("accelerators allocated"));
  EXPECT_THAT(table, testing::Not(HasSubstr("GPU")));
}

TEST(HeadlineTest, WhatSeedsAloneMayMakeIsNoGain) {
  const auto noisy = [](std::string policy, double unallocated, double sd) {
    RunSummary run = with(std::move(policy), unallocated);
    run.seeds = {1, 2, 3, 4};
    run.unallocated_gpu_percent[100].sd = sd;
    return run;
  };
  // The means differ by 3, two standard errors of the difference are 2 * sqrt(2 * 2^2 / 4) = 2.8.
  EXPECT_THAT(headline({noisy("b", 2, 2), noisy("a", 5, 2)}, {100}), HasSubstr("With b, 3 more"));
  EXPECT_THAT(headline({noisy("b", 2, 2.2), noisy("a", 5, 2.2)}, {100}),
              HasSubstr("any of the 2 policies"));
}

TEST(HeadlineTest, NoGainIsMadeLarger) {
  RunSummary now{.policy = "present"};
  now.snapshot = SnapshotResult{.gpus_allocated = 1, .pending = 2};
  RunSummary then{.policy = "pack"};
  then.snapshot = now.snapshot;
  const auto more = [&](double gpus) {
    then.snapshot->gpus_allocated = 1 + gpus;
    const std::string all = headline({now, then}, {99});
    return all.substr(0, all.find(" more of"));
  };
  EXPECT_EQ(more(0.5), "With pack, 0.5");
  EXPECT_EQ(more(0.3), "With pack, 0.3");
  EXPECT_EQ(more(1.99), "With pack, 1.9");
  EXPECT_EQ(more(3), "With pack, 3");
  EXPECT_EQ(more(12.9), "With pack, 12");
  EXPECT_THAT(more(0.09), HasSubstr("No policy here would do better"));
  EXPECT_THAT(headline({with("b", 0), with("a", 0.5)}, {100}), HasSubstr("With b, 0.5 more"));
  EXPECT_THAT(headline({with("b", 0), with("a", 0.05)}, {100}), HasSubstr("any of the 2 policies"));
}

}  // namespace tutti::comparison_test
