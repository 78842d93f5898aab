#include "base/prng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace tutti::prng_test {

// Published with the algorithm: seed 42, stream 54.
TEST(PrngTest, GoldenSequence) {
  Prng prng(42, 54);
  const std::array<std::uint32_t, 6> expected = {0xa15c02b7, 0x7b47f409, 0xba1d3330,
                                                 0x83d2f293, 0xbfa4784b, 0xcbed606e};
  for (const std::uint32_t value : expected) EXPECT_EQ(prng.next(), value);
}

TEST(PrngTest, TwoDrawsMakeOneOf64Bits) {
  Prng prng(42, 54);
  EXPECT_EQ(prng.next64(), 0xa15c02b77b47f409ULL);
}

TEST(PrngTest, StreamsDiffer) { EXPECT_NE(Prng(1, 0).next64(), Prng(1, 1).next64()); }

TEST(PrngTest, BelowOneIsZero) {
  Prng prng(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(prng.below(1), 0U);
}

TEST(PrngTest, BelowReachesEveryValueAboutEquallyOften) {
  Prng prng(7);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6000; ++i) ++seen.at(prng.below(6));
  for (const int count : seen) {
    EXPECT_GT(count, 850);
    EXPECT_LT(count, 1150);
  }
}

TEST(PrngTest, BelowTheLargestBound) {
  Prng prng(9);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(prng.below(0xffffffff), 0xffffffff);
}

TEST(PrngTest, BetweenIncludesBothEnds) {
  Prng prng(3);
  std::array<bool, 5> seen{};
  for (int i = 0; i < 200; ++i) seen.at(static_cast<std::size_t>(prng.between(-2, 2) + 2)) = true;
  EXPECT_TRUE(std::ranges::all_of(seen, [](bool hit) { return hit; }));
  EXPECT_EQ(prng.between(5, 5), 5);
}

TEST(PrngTest, BetweenSpansAll32Bits) {
  Prng prng(5);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t value = prng.between(0, 0xffffffff);
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 0xffffffff);
  }
}

TEST(PrngTest, ChanceOfNothingAndOfEverything) {
  Prng prng(3);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(prng.chance(0));
    EXPECT_TRUE(prng.chance(1000));
  }
}

TEST(ShuffleTest, KeepsEveryItem) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  Prng prng(11);
  shuffle(std::span<int>(items), prng);
  EXPECT_FALSE(std::ranges::is_sorted(items));
  std::ranges::sort(items);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(items[static_cast<std::size_t>(i)], i);
}

TEST(ShuffleTest, EveryOrderOfThreeAppears) {
  Prng prng(13);
  std::vector<int> seen(6);
  for (int i = 0; i < 6000; ++i) {
    std::array<int, 3> items = {0, 1, 2};
    shuffle(std::span<int>(items), prng);
    ++seen[static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : seen) EXPECT_GT(count, 850);
}

TEST(ShuffleTest, NothingAndOneItem) {
  Prng prng(1);
  shuffle(std::span<int>(), prng);
  std::array<int, 1> one = {4};
  shuffle(std::span<int>(one), prng);
  EXPECT_EQ(one[0], 4);
}

}  // namespace tutti::prng_test
