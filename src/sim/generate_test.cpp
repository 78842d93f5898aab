#include "sim/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dialect/tutti.h"

namespace tutti::generate_test {

using testing::HasSubstr;

Distribution named(std::string_view text) { return Distribution::parse(text).value(); }

std::vector<std::int64_t> draws(std::string_view text, std::size_t count) {
  const Distribution distribution = named(text);
  Prng prng(1);
  std::vector<std::int64_t> out;
  for (std::size_t at = 0; at < count; ++at) out.push_back(distribution.draw(prng).us);
  std::ranges::sort(out);
  return out;
}

double mean(const std::vector<std::int64_t>& values) {
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  return sum / static_cast<double>(values.size());
}

TEST(DistributionTest, DrawsHaveTheNamedShape) {
  EXPECT_EQ(draws("90s", 3), (std::vector<std::int64_t>(3, 90'000'000)));
  const auto uniform = draws("uniform:10s..20s", 10'000);
  EXPECT_GE(uniform.front(), 10'000'000);
  EXPECT_LE(uniform.back(), 20'000'000);
  EXPECT_NEAR(mean(uniform), 15e6, 0.1e6);
  const auto exponential = draws("exponential:1000s", 20'000);
  EXPECT_NEAR(mean(exponential), 1000e6, 25e6);
  EXPECT_NEAR(static_cast<double>(exponential[10'000]), 693.1e6, 25e6);
  const auto lognormal = draws("lognormal:1000s:2", 20'000);
  EXPECT_NEAR(static_cast<double>(lognormal[10'000]), 1000e6, 50e6);
  EXPECT_NEAR(static_cast<double>(lognormal[16'827]), 4000e6, 250e6);  // One deviation up.
  EXPECT_NEAR(static_cast<double>(lognormal[3'173]), 250e6, 20e6);
}

TEST(DistributionTest, WrongTextsSayWhatIsRight) {
  EXPECT_THAT(Distribution::parse("lognorml:1h").error().hint, HasSubstr("lognormal"));
  EXPECT_FALSE(Distribution::parse("uniform:2h").has_value());
  EXPECT_FALSE(Distribution::parse("uniform:2h..1h").has_value());
  EXPECT_FALSE(Distribution::parse("lognormal:1h:11").has_value());
  EXPECT_FALSE(Distribution::parse("").has_value());
  EXPECT_FALSE(Distribution::parse("-5s").has_value());
}

TEST(GenerateTest, FleetsAreReadBack) {
  const FleetPlan plan{.nodes = 500, .kinds = {{"8xA100-80G", 3}, {"4xL4", 1}, {"cpu", 1}}};
  const std::string text = generate_fleet(plan).value();
  EXPECT_EQ(text, generate_fleet(plan).value());
  const auto fleet = parse_fleet(text, "made", nullptr);
  ASSERT_TRUE(fleet.has_value()) << fleet.error().text();
  EXPECT_EQ(fleet->nodes.size(), 500U);
  std::size_t eights = 0;
  for (const NodeSpec& node : fleet->nodes) eights += node.devices.size() == 8 ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(eights), 300, 40);
}

TEST(GenerateTest, WorkloadsAreReadBackAndFixed) {
  WorkloadPlan plan{.jobs = 300, .gpus = {{"0", 1}, {"0.5", 2}, {"8xH100-80G", 1}}};
  plan.tasks = {{"1", 9}, {"4", 1}};
  plan.every = named("exponential:30s");
  plan.length = named("lognormal:1h:1.5");
  const std::string text = generate_workload(plan).value();
  const auto work = parse_workload(text, "made", nullptr);
  ASSERT_TRUE(work.has_value()) << work.error().text();
  EXPECT_EQ(work->jobs.size(), 300U);
  EXPECT_NEAR((work->jobs.back().at - work->jobs.front().at).in_seconds(), 9000, 2000);
  plan.seed = 43;
  EXPECT_NE(text, generate_workload(plan).value());
}

TEST(GenerateTest, WrongPlansAreRefused) {
  EXPECT_FALSE(generate_fleet({.nodes = 0, .kinds = {{"cpu", 1}}}).has_value());
  EXPECT_FALSE(generate_fleet({.nodes = 1, .kinds = {}}).has_value());
  EXPECT_FALSE(generate_fleet({.nodes = 1, .kinds = {{"A100", 1}}}).has_value());
  EXPECT_FALSE(generate_fleet({.nodes = 1, .kinds = {{"1.5xA100", 1}}}).has_value());
  EXPECT_FALSE(generate_fleet({.nodes = 1, .kinds = {{"cpu", 0}}}).has_value());
  WorkloadPlan plan{.jobs = 1, .gpus = {{"1", 1}}, .tasks = {{"0", 1}}};
  EXPECT_FALSE(generate_workload(plan).has_value());
  EXPECT_FALSE(parse_weighted("a:b").has_value());
  EXPECT_FALSE(parse_weighted(":3").has_value());
  EXPECT_EQ(parse_weighted("4xL4:7").value().weight, 7U);
}

}  // namespace tutti::generate_test
