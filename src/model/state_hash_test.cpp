/// The fingerprint of State: equal for equal histories, another one for every difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "model/test_state.h"

namespace tutti::test::state_hash_test {

std::vector<Event> history() {
  NodeSpec spec = node("n0");
  spec.labels.set("rack", "r1");
  return {NodeReported{spec}, TreesDeclared{{{.name = "fabric", .levels = {"rack"}}}},
          QueueSet{{.name = "q", .limit = {{"cpu", 5}}}}, MixSet{{{.shape = shape(), .count = 2}}},
          JobSubmitted{JobId(0), std::make_shared<const JobSpec>(job())}};
}

std::uint64_t hash_after(const std::vector<Event>& events) {
  State state;
  Instant now;
  for (const Event& event : events) state.apply(event, now = now + Duration::seconds(1));
  return state.hash();
}

TEST(StateHashTest, EqualHistoriesHaveEqualHashes) {
  EXPECT_EQ(hash_after(history()), hash_after(history()));
}

TEST(StateHashTest, EveryPartOfAHistoryCounts) {
  const auto spec_of = [](std::vector<Event>& events) -> JobSpec {
    return *std::get<JobSubmitted>(events[4]).spec;
  };
  const auto with_spec = [](std::vector<Event>& events, JobSpec spec) {
    std::get<JobSubmitted>(events[4]).spec = std::make_shared<const JobSpec>(std::move(spec));
  };
  const std::vector<std::function<void(std::vector<Event>&)>> changes{
      [](auto& events) { std::get<NodeReported>(events[0]).node.labels.set("rack", "r2"); },
      [](auto& events) { std::get<NodeReported>(events[0]).node.pool = "other"; },
      [](auto& events) { std::get<NodeReported>(events[0]).node.taints = {{.key = "t"}}; },
      [](auto& events) { std::get<NodeReported>(events[0]).node.stack = {{"cuda", "12"}}; },
      [](auto& events) { std::get<NodeReported>(events[0]).node.devices[0].type.vendor = "v"; },
      [](auto& events) { std::get<NodeReported>(events[0]).node.devices[0].device.island = 1; },
      [](auto& events) { std::get<NodeReported>(events[0]).node.devices[0].device.id = "u"; },
      [](auto& events) { std::get<NodeReported>(events[0]).node.cordoned = true; },
      [](auto& events) { std::get<TreesDeclared>(events[1]).trees[0].levels = {"block"}; },
      [](auto& events) { std::get<QueueSet>(events[2]).queue.limit[0].amount = 6; },
      [](auto& events) { std::get<QueueSet>(events[2]).queue.weight = 2; },
      [](auto& events) { std::get<MixSet>(events[3]).entries[0].count = 3; },
      [](auto& events) { std::get<MixSet>(events[3]).entries[0].shape.space = "s"; },
      [](auto& events) { std::get<MixSet>(events[3]).learned = true; },
      [](auto& events) { std::get<JobSubmitted>(events[4]).id = JobId(1); },
      [&](auto& events) {
        JobSpec spec = spec_of(events);
        spec.priority = 7;
        with_spec(events, spec);
      },
      [&](auto& events) {
        JobSpec spec = spec_of(events);
        spec.labels.set("a", "b");
        with_spec(events, spec);
      },
      [&](auto& events) { with_spec(events, job(2, shape(1001))); },
      [&](auto& events) { with_spec(events, job(3)); },
      [](auto& events) { events.push_back(events[1]); },
      [](auto& events) { events.emplace_back(NodeLost{"n0"}); }};
  std::vector<std::uint64_t> seen{hash_after(history())};
  for (const auto& change : changes) {
    std::vector<Event> events = history();
    change(events);
    const std::uint64_t hash = hash_after(events);
    EXPECT_EQ(std::ranges::count(seen, hash), 0) << seen.size() - 1;
    seen.push_back(hash);
  }
}

// Arrivals are remembered when their jobs are over, and count where the mix follows from them.
TEST(StateHashTest, ArrivalsCountWhereTheMixIsLearned) {
  const auto hash = [](bool learned, const std::vector<std::int64_t>& cpus) {
    std::vector<Event> events = history();
    std::get<MixSet>(events[3]).learned = learned;
    std::uint64_t next = 1;
    for (const std::int64_t cpu : cpus) {
      const JobId id(next++);
      events.emplace_back(JobSubmitted{id, std::make_shared<const JobSpec>(job(1, shape(cpu)))});
      events.emplace_back(JobCancelled{id});
    }
    return hash_after(events);
  };
  EXPECT_NE(hash(true, {1, 2, 1}), hash(true, {1, 2, 2}));
  EXPECT_EQ(hash(false, {1, 2, 1}), hash(false, {1, 2, 2}));
}

}  // namespace tutti::test::state_hash_test
