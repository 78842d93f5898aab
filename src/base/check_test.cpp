#include "base/check.h"

#include <gtest/gtest.h>

#include "base/id.h"

namespace tutti::check_test {

using RowIndex = Index<struct RowTag>;

TEST(CheckTest, HoldsWithoutLookingAtTheValues) {
  int looked = 0;
  const auto look = [&] { return ++looked; };
  CHECK(looked == 0, look());
  EXPECT_EQ(looked, 0);
}

TEST(CheckDeathTest, PrintsConditionPlaceAndValues) {
  const int free = -4;
  EXPECT_DEATH(CHECK(free >= 0, free, "node n7", RowIndex(3)),
               "CHECK failed: free >= 0\n  at .*check_test.cpp:[0-9]+\n  values: -4, node n7, 3");
}

TEST(CheckDeathTest, NeedsNoValues) { EXPECT_DEATH(CHECK(1 + 1 == 3), "CHECK failed: 1 . 1 == 3"); }

TEST(CheckDeathTest, BindsLikeOneStatement) {
  const bool ask = false;
  if (ask)
    CHECK(false);
  else
    SUCCEED();
}

}  // namespace tutti::check_test
