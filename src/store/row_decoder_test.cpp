#include "store/row_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/codec.h"
#include "store/test_store.h"

namespace tutti::row_decoder_test {

using test::numbered;
using test::time_of;

/// Lines `first` to `last`; row `broken` is none, and row `missing` an error of the disk.
RowDecoder::Read rows(std::uint64_t first, std::uint64_t last, std::uint64_t broken = 0,
                      std::uint64_t missing = 0) {
  return [=](const RowDecoder::VisitLine& visit) -> Result<void> {
    for (std::uint64_t row = first; row <= last; ++row) {
      if (row == missing) return fail(Code::io, "the disk");
      TRY(visit(row, row == broken ? "{" : encode(numbered(row), time_of(row))));
    }
    return {};
  };
}

/// Visits until row `enough`; says what ended it, and which row came last.
std::pair<std::string, std::uint64_t> run(const RowDecoder::Read& read,
                                          std::uint64_t enough = UINT64_MAX) {
  std::uint64_t newest = 0;
  const auto done = RowDecoder::run(
      "j", read, [&](std::uint64_t row, const Event& event, Instant at) -> Result<void> {
        EXPECT_TRUE(newest == 0 || row == newest + 1) << row;
        EXPECT_EQ(encode(event, at), encode(numbered(row), time_of(row)));
        newest = row;
        if (row == enough) return fail(Code::conflict, "enough");
        return {};
      });
  return {done ? "" : done.error().where + done.error().what, newest};
}

TEST(RowDecoderTest, HandsOverAllRowsInOrder) {
  EXPECT_EQ(run(rows(1, 0)), (std::pair<std::string, std::uint64_t>("", 0)));
  EXPECT_EQ(run(rows(5, 5)).second, 5U);
  EXPECT_EQ(run(rows(7, 40'006)), (std::pair<std::string, std::uint64_t>("", 40'006)));
}

TEST(RowDecoderTest, TheFirstErrorEndsItBehindTheRowsBeforeIt) {
  const auto broken = run(rows(1, 30'000, 20'000));
  EXPECT_THAT(broken.first, ::testing::StartsWith("j: row 20000:1:"));
  EXPECT_EQ(broken.second, 19'999U);
  EXPECT_EQ(run(rows(1, 30'000, 0, 10'001)),
            (std::pair<std::string, std::uint64_t>("the disk", 10'000)));
  const auto first = run(rows(1, 30'000, 900, 1'000));
  EXPECT_EQ(first.second, 899U) << "what is wrong with an earlier row is said first";
}

TEST(RowDecoderTest, WhoHasEnoughGetsNoMore) {
  EXPECT_EQ(run(rows(1, 100'000), 3), (std::pair<std::string, std::uint64_t>("enough", 3)));
}

}  // namespace tutti::row_decoder_test
