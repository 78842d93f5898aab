#include "model/mix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "model/test_state.h"

namespace tutti::test::mix_test {

TEST(MixCounterTest, TasksOfEqualCpuAndDevicesAreOneClass) {
  TaskShape other = shape(1000, 1);
  other.resources.push_back({"memory", 5});
  other.labels.set("app", "x");
  other.devices.front().closeness = {"island", true};
  const TaskShape plain = shape(1000, 1);
  TaskShape share = plain;
  share.devices.front().compute_permille = 500;
  MixCounter counter;
  counter.add(other, 2);
  counter.add(share, 1);
  counter.add(plain, 3);
  const std::vector<MixSet::Entry> expected{{plain, 5}, {share, 1}};
  EXPECT_EQ(counter.ranked(9), expected);
}

TEST(MixCounterTest, RanksByTasksAndThenTheLarger) {
  const TaskShape small = shape(500, 0);
  const TaskShape large = shape(2000, 0);
  const TaskShape frequent = shape(100, 0);
  MixCounter counter;
  counter.add(small, 1);
  counter.add(large, 1);
  counter.add(frequent, 2);
  counter.add(shape(1, 0), 0);
  const std::vector<MixSet::Entry> expected{{frequent, 2}, {large, 1}, {small, 1}};
  EXPECT_EQ(counter.ranked(9), expected);
  EXPECT_EQ(counter.ranked(2).size(), 2U);
  EXPECT_EQ(counter.ranked(2)[1].shape, large);
}

TEST(MixCounterTest, CountsOfAnEntryAreBounded) {
  const TaskShape one = shape();
  MixCounter counter;
  counter.add(one, std::uint64_t{1} << 40);
  EXPECT_EQ(counter.ranked(1)[0].count, std::numeric_limits<std::uint32_t>::max());
}

TEST(MixCounterTest, TheDistanceIsWhatOneHasTooLittleOf) {
  const TaskShape a = shape(1, 0);
  const TaskShape b = shape(2, 0);
  MixCounter none;
  MixCounter half;
  half.add(a, 1);
  half.add(b, 1);
  MixCounter more;
  more.add(a, 300);
  more.add(b, 100);
  MixCounter only;
  only.add(a, 7);
  EXPECT_EQ(none.distance_permille(none), 0U);
  EXPECT_EQ(none.distance_permille(half), 1000U);
  EXPECT_EQ(half.distance_permille(none), 1000U);
  EXPECT_EQ(half.distance_permille(half), 0U);
  EXPECT_EQ(half.distance_permille(more), 250U);
  EXPECT_EQ(more.distance_permille(half), 250U);
  EXPECT_EQ(more.distance_permille(only), 250U);
  EXPECT_EQ(only.distance_permille(half), 500U);
}

}  // namespace tutti::test::mix_test
