#include "sched/screen.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sched/fit.h"
#include "sched/test_fleet.h"

namespace tutti::screen_test {

bool has(const Screen::Mask& mask, unsigned number) {
  return (mask[number / 64] >> number % 64 & 1) != 0;
}

/// A row with nothing but what the screen reads.
ShapeRow needs(std::int64_t cpu, std::int64_t memory, std::uint16_t open, std::uint16_t whole) {
  ShapeRow row;
  if (cpu > 0) row.request.push_back({lane::cpu, cpu});
  if (memory > 0) row.request.push_back({lane::memory, memory});
  row.needs_open = open;
  row.needs_whole = whole;
  return row;
}

TEST(ScreenTest, AnEmptyScreenLetsNothingThrough) {
  const test::World world(1);
  Screen screen;
  EXPECT_EQ(screen.may_fit(world.state.usage(), NodeIndex(0)), Screen::Mask{});
  screen.set(255, needs(0, 0, 0, 0));
  EXPECT_EQ(screen.may_fit(world.state.usage(), NodeIndex(0)), (Screen::Mask{0, 0, 0, 1UL << 63}));
  screen.unset(255);
  EXPECT_EQ(screen.may_fit(world.state.usage(), NodeIndex(0)), Screen::Mask{});
}

TEST(ScreenTest, ALaterLargeNeedKeepsTheSmallOnes) {
  const test::World world(1, {.cpu = 1000});
  Screen screen;
  screen.set(0, needs(1000, 0, 0, 0));
  screen.set(1, needs(1001, 0, 0, 0));
  EXPECT_TRUE(has(screen.may_fit(world.state.usage(), NodeIndex(0)), 0));
  EXPECT_FALSE(has(screen.may_fit(world.state.usage(), NodeIndex(0)), 1));
  screen.set(2, needs(limits::amount, 0, 0, 0));  // From now on, cpu is compared very coarsely.
  EXPECT_TRUE(has(screen.may_fit(world.state.usage(), NodeIndex(0)), 0));
  EXPECT_FALSE(has(screen.may_fit(world.state.usage(), NodeIndex(0)), 2));
}

// It may let through what does not fit, but never the other way round.
TEST(ScreenTest, WhatFitsPasses) {
  Prng prng(7);
  test::World world(0);
  for (int at = 0; at < 40; ++at) {
    world.apply(NodeReported{
        test::node("n" + std::to_string(at), {.cpu = prng.between(0, 200'000),
                                              .memory = prng.between(0, std::int64_t{1} << 41),
                                              .gpus = prng.below(9)})});
  }
  Screen screen;
  std::vector<ShapeRow> rows;
  for (unsigned number = 0; number < Screen::width; ++number) {
    rows.push_back(needs(prng.between(0, 100'000), prng.between(0, std::int64_t{1} << 40),
                         static_cast<std::uint16_t>(prng.below(1001)),
                         static_cast<std::uint16_t>(prng.below(8))));
    screen.set(number, rows.back());
  }
  unsigned passed = 0;
  unsigned fitting = 0;
  for (std::size_t at = 0; at < world.state.fleet().size(); ++at) {
    const Screen::Mask mask = screen.may_fit(world.state.usage(), NodeIndex(at));
    for (unsigned number = 0; number < Screen::width; ++number) {
      const bool fits = may_fit(rows[number], world.state.usage(), NodeIndex(at));
      EXPECT_TRUE(has(mask, number) || !fits) << "node " << at << ", class " << number;
      passed += has(mask, number) ? 1 : 0;
      fitting += fits ? 1 : 0;
    }
  }
  EXPECT_GT(fitting, 500U);
  EXPECT_LT(passed, fitting * 101 / 100);  // And it is of use.
}

}  // namespace tutti::screen_test
