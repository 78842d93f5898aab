#include "sim/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/tutti.h"
#include "sim/test_dump.h"

namespace tutti::waiting_test {

using testing::HasSubstr;
using testing::Not;

/// What is said of a dump that is placed anew with pack.
std::vector<Waiting> said_of(const Snapshot& live, std::optional<std::size_t> given = {}) {
  Comparison comparison{.arrivals = Arrivals::snapshot,
                        .policies = {{.name = std::string(present_policy), .scores = {}},
                                     builtin_policy("pack").value()},
                        .seeds = {1},
                        .snapshot = &live,
                        .given = given};
  const auto runs = compare(live.fleet, comparison, nullptr).value();
  return explain_waiting(comparison, runs, {never_start(live.fleet, live.workload).value()})
      .value();
}

TEST(WaitingTest, SaysWhichPodsStartAndWhyTheOthersDoNot) {
  std::vector<std::string> objects{node("n0"), node("n1"), pod("a", 4, "n0", 1),
                                   pod("b", 4, "n1", 2)};
  for (int at = 0; at < 3; ++at)
    objects.push_back(pod("web-" + std::to_string(at), 4, "", 10 + at));
  objects.push_back(pod("large", 8, "", 20));
  objects.push_back(pod("huge", 9, "", 21));
  const std::vector<Waiting> said = said_of(dump(objects));
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0].policy, "present");
  const std::string now = to_text(said[0]);
  EXPECT_THAT(
      now,
      HasSubstr(
          "waiting at present:\n"
          "  web-0 and 2 more like it: there is room for at least one of them; its turn has not"));
  EXPECT_THAT(now, HasSubstr("  large: waits\n    2 nodes  devices in use\n"));
  EXPECT_THAT(now, HasSubstr("it would start if all of these hold\n"));
  EXPECT_THAT(now, HasSubstr("  1 job can never start, see below\n"));
  EXPECT_THAT(now, Not(HasSubstr("huge")));
  const std::string anew = to_text(said[1]);
  EXPECT_THAT(anew, HasSubstr("placed anew with pack:\n"
                              "  web-2 (2 others start): waits\n    2 nodes  devices in use"));
  EXPECT_EQ(said[1].kinds.front().started, 2U);
  EXPECT_EQ(said[1].kinds.front().jobs, 3U);
  EXPECT_TRUE(said[1].kinds.back().never);
}

TEST(WaitingTest, WhatRunsAndFindsNoPlaceIsSaidSo) {
  const Snapshot live = dump({node("n0"), pod("a", 6, "n0", 1), pod("b", 6, "n0", 2)});
  EXPECT_THAT(to_text(said_of(live).back()), HasSubstr("b, which runs at present: waits"));
}

TEST(WaitingTest, JobsOfOnesOwnComeFirst) {
  Snapshot live = dump({node("n0"), pod("a", 4, "n0", 1), pod("w", 2, "", 2)});
  const Workload mine = parse_workload("jobs: [{name: mine, gpus: 3}]", "mine", nullptr).value();
  const std::vector<Waiting> said = said_of(live, add_jobs(live, mine));
  ASSERT_EQ(said.size(), 1U) << "how it is at present is not asked";
  EXPECT_THAT(to_text(said[0]), testing::StartsWith("beside what runs, with pack:\n  mine: waits"));
  EXPECT_THAT(to_text(said[0]), HasSubstr("  x/w: would start\n"));
}

// Many kinds: the first are explained in full, more in short, and all are counted.
TEST(WaitingTest, BoundsWhatItExplains) {
  std::vector<std::string> objects{node("n0"), pod("a", 8, "n0", 1)};
  for (int at = 0; at < 60; ++at) {
    objects.push_back(pod("p" + std::to_string(at), 1, "", 2));
    std::string& text = objects.back();
    text.replace(text.find("\"limits\": {"), 11,
                 "\"limits\": {\"cpu\": \"" + std::to_string(at + 1) + "\", ");
  }
  const Waiting now = said_of(dump(objects)).front();
  ASSERT_EQ(now.kinds.size(), 60U);
  EXPECT_THAT(now.kinds[4].why, HasSubstr("it would start if"));
  EXPECT_THAT(now.kinds[5].why, HasSubstr("waits\n"));
  EXPECT_THAT(now.kinds[5].why, Not(HasSubstr("it would start if")));
  EXPECT_EQ(now.kinds[50].why, "");
  EXPECT_THAT(to_text(now), HasSubstr("  and 55 more kinds (55 jobs) that wait; --json says why"));
}

TEST(WaitingTest, NamesTheJobsOfATraceThatNeverStarted) {
  const auto fleet = parse_fleet("nodes: [{name: n, cpu: 8, gpus: 1xT4}]", "one", nullptr).value();
  Comparison comparison{
      .arrivals = Arrivals::trace,
      .policies = {builtin_policy("pack").value(), builtin_policy("spread").value()},
      .workloads = {parse_workload("jobs:\n"
                                   "  - {name: a, gpus: 1}\n"
                                   "  - {name: 'b[0-2]', gpus: 1, at: 1h}\n"
                                   "  - {name: c, gpus: 2, length: 1h}\n",
                                   "work", nullptr)
                        .value()},
      .seeds = {1, 2}};
  const auto runs = compare(fleet, comparison, nullptr).value();
  const auto said =
      explain_waiting(comparison, runs, {never_start(fleet, comparison.workloads[0]).value()});
  ASSERT_EQ(said->size(), 2U);
  ASSERT_EQ(said->front().kinds.size(), 1U) << "what can never start is said elsewhere";
  EXPECT_THAT(to_text(said->front()), HasSubstr("it would start if"));
  EXPECT_THAT(to_text(said->back()), HasSubstr("work: not started with spread when the run ended:\n"
                                               "  b0 and 2 more like it: waits\n"));
  EXPECT_THAT(to_text(said->back()), Not(HasSubstr("it would start if")));
  EXPECT_THAT(to_text(said->front()),
              testing::StartsWith("work: not started with pack when the run ended:\n"
                                  "  b0 and 2 more like it: waits\n    1 node  devices in use\n"));
}

}  // namespace tutti::waiting_test
