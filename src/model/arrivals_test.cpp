/// What State counts of submissions, and how counts fade.
#include "model/arrivals.h"

#include <gtest/gtest.h>

#include "model/test_state.h"

namespace tutti::test::arrivals_test {

constexpr std::uint32_t window = limits::arrivals_window;

TEST(ArrivalCountsTest, CountsByShape) {
  ArrivalCounts counts;
  EXPECT_EQ(counts.seen(), 0U);
  counts.add(ShapeIndex(2), 3);
  counts.add(ShapeIndex(0), 1);
  counts.add(ShapeIndex(2), 2);
  EXPECT_EQ(counts.counts(), (std::vector<std::uint32_t>{1, 0, 5}));
  EXPECT_EQ(counts.seen(), 6U);
}

TEST(ArrivalCountsTest, FadesBeyondTheWindowAndNotBefore) {
  ArrivalCounts counts;
  counts.add(ShapeIndex(0), window - 1);
  counts.add(ShapeIndex(1), 1);
  EXPECT_EQ(counts.counts(), (std::vector<std::uint32_t>{window - 1, 1}));
  counts.add(ShapeIndex(2), 2);
  EXPECT_EQ(counts.counts(), (std::vector<std::uint32_t>{(window - 1) / 2, 0, 1}));
  EXPECT_EQ(counts.seen(), window + 2U) << "what was seen does not fade";
}

TEST(ArrivalCountsTest, ForgetsWhatComesNoMore) {
  ArrivalCounts counts;
  counts.add(ShapeIndex(0), window);
  for (std::uint32_t at = 0; at < 8 * window; ++at) counts.add(ShapeIndex(1), 1);
  EXPECT_LT(counts.counts()[0], window / 1000);
  EXPECT_LE(counts.counts()[0] + counts.counts()[1], window);
  EXPECT_GE(counts.counts()[1], window / 2 - 1);
}

/// A gang with two groups, of which the first stands three times, twice over.
JobSpec copied_groups() {
  const auto role = [](std::uint32_t tasks, std::int64_t cpu) {
    return RoleSpec{.name = "r", .count = tasks, .min = tasks, .alternatives = {shape(cpu, 0)}};
  };
  JobSpec spec{.name = "job"};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{
      .copies = 2,
      .groups = {{.copies = 3, .roles = {role(1, 10), role(2, 20)}}, {.roles = {role(5, 30)}}}})};
  return spec;
}

std::uint32_t count_of(const State& state, const TaskShape& shape) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < state.arrivals().counts().size(); ++at) {
    if (state.shape(ShapeIndex(at)).spec == shape) sum += state.arrivals().counts()[at];
  }
  return sum;
}

TEST_F(StateTest, EveryCopyOfATaskCountsOnce) {
  submit(copied_groups());
  EXPECT_EQ(count_of(state_, shape(10, 0)), 6U);
  EXPECT_EQ(count_of(state_, shape(20, 0)), 12U);
  EXPECT_EQ(count_of(state_, shape(30, 0)), 10U);
  EXPECT_EQ(state_.arrivals().seen(), 28U);
}

TEST_F(StateTest, OnlyTheFirstAlternativeCounts) {
  JobSpec spec = job(2, shape(10, 0));
  GangSpec gang = *spec.gangs.front();
  gang.groups.front().roles.front().alternatives.push_back(shape(20, 0));
  spec.gangs = {std::make_shared<const GangSpec>(gang)};
  submit(spec);
  EXPECT_EQ(count_of(state_, shape(10, 0)), 2U);
  EXPECT_EQ(count_of(state_, shape(20, 0)), 0U);
}

TEST_F(StateTest, AJobOfVeryManyTasksCountsAsFewerInProportion) {
  constexpr std::uint32_t most = limits::arrivals_of_job;
  submit(job(most, shape(10, 0)));
  EXPECT_EQ(count_of(state_, shape(10, 0)), most);
  JobSpec spec = job(30 * most, shape(20, 0));
  GangSpec gang = *spec.gangs.front();
  gang.groups.front().roles.push_back(
      {.name = "some", .count = 10 * most, .min = 1, .alternatives = {shape(30, 0)}});
  gang.groups.front().roles.push_back(
      {.name = "one", .count = 1, .min = 1, .alternatives = {shape(40, 0)}});
  spec.gangs = {std::make_shared<const GangSpec>(gang)};
  submit(spec);
  EXPECT_NEAR(count_of(state_, shape(20, 0)), 0.75 * most, 1);
  EXPECT_NEAR(count_of(state_, shape(30, 0)), 0.25 * most, 1);
  EXPECT_EQ(count_of(state_, shape(40, 0)), 1U) << "nothing is lost";
}

}  // namespace tutti::test::arrivals_test
