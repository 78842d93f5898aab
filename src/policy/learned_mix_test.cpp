#include "policy/learned_mix.h"

#include <gtest/gtest.h>

#include <vector>

#include "sched/test_fleet.h"

namespace tutti::learned_mix_test {

constexpr std::uint32_t every = 256;

TEST(NextEpochTest, GrowsByAQuarterAndThenEvenly) {
  std::vector<std::uint64_t> epochs;
  for (std::uint64_t at = 0; at < 700;) epochs.push_back(at = next_epoch(at, 64));
  const std::vector<std::uint64_t> expected{1,   2,   3,   4,   5,   6,   7,   8,   10,  12,  15,
                                            18,  22,  27,  33,  41,  51,  63,  78,  97,  121, 151,
                                            188, 235, 293, 357, 421, 485, 549, 613, 677, 741};
  EXPECT_EQ(epochs, expected);
}

TEST(NextEpochTest, IsTheFirstOneBeyondAnyNumber) {
  for (const std::uint32_t step : {1U, 2U, 7U, 64U, 1'000'000U}) {
    std::uint64_t epoch = next_epoch(0, step);
    EXPECT_EQ(epoch, 1U);
    for (std::uint64_t seen = 0; seen < 3000; ++seen) {
      if (seen == epoch) epoch = next_epoch(seen, step);
      ASSERT_EQ(next_epoch(seen, step), epoch) << seen << " by " << step;
      ASSERT_GT(epoch, seen);
      ASSERT_LE(epoch, seen + step);
    }
  }
  const std::uint64_t far = std::uint64_t{1} << 50;
  EXPECT_LE(next_epoch(far, every), far + every);
}

class LearnedMixTest : public testing::Test {
 protected:
  /// What is set, if anything, by one more submission.
  bool learns_from(const TaskShape& shape, unsigned tasks = 1) {
    const std::uint64_t before = world_.state.arrivals().seen();
    world_.submit(test::job(shape, tasks));
    const auto mix = learned_mix(world_.state, before, every);
    if (mix) world_.apply(*mix);
    return mix.has_value();
  }
  std::uint32_t count_of(const TaskShape& shape) const {
    for (const State::MixRow& row : world_.state.mix()) {
      if (world_.state.shape(row.shape).spec == shape) return row.count;
    }
    return 0;
  }

  test::World world_{2};
  TaskShape small_ = test::task(1000, 1, 500);
  TaskShape large_ = test::task(8000, 8);
};

TEST_F(LearnedMixTest, ReplacesAGivenMixAtOnce) {
  world_.apply(MixSet{{{large_, 100}}});
  EXPECT_FALSE(world_.state.mix_learned());
  const auto mix = learned_mix(world_.state, 0, every);
  ASSERT_TRUE(mix.has_value());
  EXPECT_TRUE(mix->learned);
  EXPECT_TRUE(mix->entries.empty());
  world_.apply(*mix);
  EXPECT_TRUE(world_.state.mix_learned());
  EXPECT_FALSE(learned_mix(world_.state, 0, every).has_value()) << "nothing arrived";
}

TEST_F(LearnedMixTest, TheFirstSubmissionIsLearned) {
  world_.apply(*learned_mix(world_.state, 0, every));
  EXPECT_TRUE(learns_from(small_));
  EXPECT_EQ(count_of(small_), 1U);
  EXPECT_TRUE(learns_from(large_, 2));
  EXPECT_EQ(count_of(large_), 2U);
}

TEST_F(LearnedMixTest, WhatStaysTheSameIsNotSetAnew) {
  world_.apply(*learned_mix(world_.state, 0, every));
  EXPECT_TRUE(learns_from(small_, 10));
  for (int at = 0; at < 1000; ++at) ASSERT_FALSE(learns_from(small_));
  EXPECT_EQ(count_of(small_), 10U);
  unsigned tasks = 0;
  while (!learns_from(large_)) ++tasks;
  EXPECT_GE(tasks, 1010 * learned_drift_permille / 1000 - 1) << "before the mix differs";
  EXPECT_LE(tasks, every + 1010 * learned_drift_permille / 950) << "later than one epoch";
}

TEST_F(LearnedMixTest, LooksInEpochsOnly) {
  world_.apply(*learned_mix(world_.state, 0, every));
  learns_from(small_, 41);
  for (std::uint64_t seen = 42; seen < 51; ++seen) {
    ASSERT_FALSE(learns_from(large_)) << seen << " lies between 41 and 51";
  }
  EXPECT_TRUE(learns_from(large_));
  EXPECT_EQ(count_of(large_), 10U);
}

TEST_F(LearnedMixTest, OneStepMayPassSeveralEpochs) {
  world_.apply(*learned_mix(world_.state, 0, every));
  EXPECT_TRUE(learns_from(small_, 500));
  EXPECT_TRUE(learns_from(large_, 500));
  EXPECT_EQ(count_of(large_), 500U);
}

TEST_F(LearnedMixTest, TheRarestOfVeryManyClassesAreLeftOut) {
  for (std::size_t at = 0; at < learned_classes_max + 5; ++at) {
    world_.submit(test::job(test::task(static_cast<std::int64_t>(1000 + at), 0), at < 5 ? 1 : 2));
  }
  const auto mix = learned_mix(world_.state, 0, every);
  ASSERT_TRUE(mix.has_value());
  ASSERT_EQ(mix->entries.size(), learned_classes_max);
  EXPECT_EQ(mix->entries.back().count, 2U);
  world_.apply(*mix);
  EXPECT_FALSE(learned_mix(world_.state, 0, every).has_value()) << "what is left out is no drift";
}

}  // namespace tutti::learned_mix_test
