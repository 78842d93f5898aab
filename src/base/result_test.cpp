#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tutti::result_test {

Result<int> half(int value) {
  if (value % 2 != 0)
    return fail(Code::invalid, "odd: " + std::to_string(value), "use an even one");
  return value / 2;
}

Result<int> quarter(int value) {
  const int once = TRY(half(value));
  return TRY(half(once));
}

Result<void> require_even(int value) {
  TRY(half(value));
  return {};
}

TEST(ResultTest, TryUnwrapsTheValue) { EXPECT_EQ(quarter(12).value(), 3); }

TEST(ResultTest, TryReturnsTheFirstError) {
  const Result<int> outer = quarter(7);
  ASSERT_FALSE(outer.has_value());
  EXPECT_EQ(outer.error().what, "odd: 7");
  EXPECT_EQ(quarter(6).error().what, "odd: 3");
}

TEST(ResultTest, TryCrossesResultTypes) {
  EXPECT_TRUE(require_even(2).has_value());
  EXPECT_EQ(require_even(3).error().what, "odd: 3");
}

TEST(ResultTest, TryMovesWhatCannotBeCopied) {
  const auto box = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  const auto open = [&]() -> Result<int> {
    const std::unique_ptr<int> inside = TRY(box());
    return *inside;
  };
  EXPECT_EQ(open().value(), 5);
}

TEST(ErrorTest, TextNamesPlaceReasonAndWayOut) {
  const Error error{Code::limit, "too many nodes: 11", "fleet.yaml:3:7", "split the fleet"};
  EXPECT_EQ(error.text(), "error: fleet.yaml:3:7: too many nodes: 11\nhint:  split the fleet\n");
}

TEST(ErrorTest, TextLeavesOutWhatIsEmpty) {
  const Error error{.what = "no jobs"};
  EXPECT_EQ(error.text(), "error: no jobs\n");
}

TEST(ErrorTest, EachLayerPutsItsPlaceInFront) {
  Error error{.what = "bad"};
  error = std::move(error).at("3:7");
  EXPECT_EQ(error.where, "3:7");
  error = std::move(error).at("fleet.yaml");
  EXPECT_EQ(error.where, "fleet.yaml:3:7");
}

TEST(ErrorTest, FailKeepsAWholeError) {
  const Result<int> result = fail(Error{Code::io, "disk full", "journal", "free some"});
  EXPECT_EQ(result.error().code, Code::io);
  EXPECT_EQ(result.error().where, "journal");
}

}  // namespace tutti::result_test
