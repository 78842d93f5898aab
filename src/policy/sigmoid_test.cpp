#include "policy/sigmoid.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti::sigmoid_test {

// Every integer x gives the integer part of the real sigmoid, on the edges of each level too.
TEST(SigmoidTest, IsTheIntegerPartOfTheRealOne) {
  for (const std::int64_t scale : {1L, 7L, 1000L, 3000L}) {
    const SigmoidLevels levels(scale);
    for (std::int64_t x = -6 * scale; x <= 6 * scale; ++x) {
      const double exact =
          100.0 / (1.0 + std::exp(-static_cast<double>(x) / static_cast<double>(scale)));
      // 100 itself is never reached; the last level ends it.
      const auto level = static_cast<unsigned>(std::min(exact, 99.0));
      ASSERT_EQ(levels.of(x), level) << "x = " << x << ", scale " << scale;
    }
  }
}

TEST(SigmoidTest, EndsAtItsFirstAndLastLevel) {
  const SigmoidLevels levels(1000);
  EXPECT_EQ(levels.of(INT64_MIN), 0U);
  EXPECT_EQ(levels.of(INT64_MAX), 99U);
  EXPECT_EQ(levels.of(0), 50U);
  EXPECT_EQ(levels.of(-1), 49U);
}

}  // namespace tutti::sigmoid_test
