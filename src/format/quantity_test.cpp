#include "format/quantity.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/prng.h"

namespace tutti::quantity_test {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

/// The number, or the error's text.
std::string shown(const Result<std::int64_t>& result) {
  return result ? std::to_string(*result) : result.error().what;
}
std::string units(std::string_view text) { return shown(parse_quantity(text)); }
std::string milli(std::string_view text) { return shown(parse_quantity_milli(text)); }
std::string us(std::string_view text) {
  const Result<Duration> result = parse_duration(text);
  return result ? std::to_string(result->us) : result.error().what;
}

TEST(QuantityTest, ReadsEverySuffix) {
  EXPECT_EQ(units("0"), "0");
  EXPECT_EQ(units("80Gi"), "85899345920");
  EXPECT_EQ(units("1Ki"), "1024");
  EXPECT_EQ(units("1Mi"), "1048576");
  EXPECT_EQ(units("1Ti"), "1099511627776");
  EXPECT_EQ(units("1Pi"), "1125899906842624");
  EXPECT_EQ(units("7Ei"), "8070450532247928832");
  EXPECT_EQ(units("1k"), "1000");
  EXPECT_EQ(units("3M"), "3000000");
  EXPECT_EQ(units("3G"), "3000000000");
  EXPECT_EQ(units("3T"), "3000000000000");
  EXPECT_EQ(units("3P"), "3000000000000000");
  EXPECT_EQ(units("9E"), "9000000000000000000");
  EXPECT_EQ(units("1e3"), "1000");
  EXPECT_EQ(units("1E3"), "1000");
  EXPECT_EQ(units("12e-1"), "2");
  EXPECT_EQ(units("+5"), "5");
  EXPECT_EQ(units("1."), "1");
  EXPECT_EQ(units(".5Ki"), "512");
  EXPECT_EQ(units("0.1Gi"), "107374183");
}

TEST(QuantityTest, RoundsFractionsUp) {
  EXPECT_EQ(units("1n"), "1");
  EXPECT_EQ(units("500m"), "1");
  EXPECT_EQ(units("1500m"), "2");
  EXPECT_EQ(units("1000u"), "1");
  EXPECT_EQ(units("1.000000000000000000000000001"), "2");
  EXPECT_EQ(units("1e-60"), "1");
  EXPECT_EQ(milli("0.0001m"), "1");
  EXPECT_EQ(milli("100m"), "100");
  EXPECT_EQ(milli("2"), "2000");
  EXPECT_EQ(milli("0.5"), "500");
  EXPECT_EQ(milli("1n"), "1");
  EXPECT_EQ(milli("0"), "0");
  EXPECT_EQ(milli("0e99"), "0");
}

TEST(QuantityTest, IsExactAtTheLimits) {
  EXPECT_EQ(units("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(units("9223372036854775807000m"), "9223372036854775807");
  EXPECT_EQ(units("9223372036854775807.000"), "9223372036854775807");
  EXPECT_EQ(units("1000000000000000000"), "1000000000000000000");
  EXPECT_EQ(milli("9223372036854775.807"), "9223372036854775807");
  EXPECT_EQ(units("7.99999999999999999Ei"), "9223372036854775797");  // ceil(2^63 - 11.5...)
  EXPECT_EQ(units("9223372036854775808"),
            "\"9223372036854775808\" is more than 9223372036854775807");
  EXPECT_EQ(units("9223372036854775807.1"),
            "\"9223372036854775807.1\" is more than 9223372036854775807");
  EXPECT_EQ(units("8Ei"), "\"8Ei\" is more than 9223372036854775807");
  EXPECT_EQ(units("1e30"), "\"1e30\" is more than 9223372036854775807");
  EXPECT_EQ(units("1e99999999999999"), "\"1e99999999999999\" is more than 9223372036854775807");
  EXPECT_EQ(milli("9223372036854775.808"),
            "\"9223372036854775.808\" is more than 9223372036854775807 thousandths");
  EXPECT_EQ(units("1.234567890123456789012345678901234567"),
            "\"1.234567890123456789012345678901234567\" has more than 36 digits");
}

TEST(QuantityTest, RefusesEverythingElse) {
  for (const std::string_view text :
       {"",   " ",     "NaN", "inf", "abc",  "-",     "+",    ".",     "1 Gi", "1gi", "1kk",
        "1e", "1e3Gi", "1e+", "--1", "1..2", "1.2.3", "0x10", "1_000", "Gi",   "1\n", "\xff"}) {
    EXPECT_EQ(parse_quantity(text).has_value(), false) << text;
    EXPECT_EQ(parse_quantity(text).error().code, Code::invalid) << text;
  }
  EXPECT_EQ(units("1K"), "\"1K\" is not a quantity");
  EXPECT_EQ(parse_quantity("1K").error().hint, "use k (1000) or Ki (1024)");
  EXPECT_EQ(parse_quantity("80GB").error().hint, "use G (decimal) or Gi (binary), without B");
  EXPECT_EQ(units("-5"), "\"-5\" is negative");
  EXPECT_EQ(units("-0"), "0");
}

TEST(QuantityTest, NegativesWhenAskedForRoundAwayFromZero) {
  EXPECT_EQ(shown(parse_quantity("-5", Sign::any)), "-5");
  EXPECT_EQ(shown(parse_quantity("-1500m", Sign::any)), "-2");
  EXPECT_EQ(shown(parse_quantity_milli("-0.1m", Sign::any)), "-1");
}

TEST(FixedTest, RoundsHalfAwayFromZero) {
  EXPECT_EQ(shown(parse_fixed("1.5", 3)), "1500");
  EXPECT_EQ(shown(parse_fixed("1.2344", 3)), "1234");
  EXPECT_EQ(shown(parse_fixed("1.2345", 3)), "1235");
  EXPECT_EQ(shown(parse_fixed("-1.2345", 3, Sign::any)), "-1235");
  EXPECT_EQ(shown(parse_fixed("0.0004999999", 3)), "0");
  EXPECT_EQ(shown(parse_fixed("1e-60", 3)), "0");
  EXPECT_EQ(shown(parse_fixed("12", 0)), "12");
  EXPECT_EQ(shown(parse_permille("0.1429", 3)), "142");
  EXPECT_EQ(shown(parse_permille("16.67", 1)), "166");
  EXPECT_EQ(shown(parse_permille("0.999", 3)), "999");
  EXPECT_EQ(shown(parse_permille("1", 3)), "1000");
  EXPECT_EQ(shown(parse_permille("half", 3)), "\"half\" is not a number");
  EXPECT_EQ(shown(parse_fixed("9", 18)), "9000000000000000000");
  EXPECT_EQ(shown(parse_fixed("10", 18)), "\"10\" is more than 9223372036854775807 / 10^18");
  EXPECT_EQ(shown(parse_fixed("1k", 3)), "\"1k\" is not a number");
  EXPECT_EQ(shown(parse_fixed("", 3)), "\"\" is not a number");
  EXPECT_EQ(shown(parse_fixed("-1", 3)), "\"-1\" is negative");
}

TEST(DurationTest, ReadsUnitsFromLargeToSmall) {
  EXPECT_EQ(us("1h30m"), "5400000000");
  EXPECT_EQ(us("90s"), "90000000");
  EXPECT_EQ(us("250ms"), "250000");
  EXPECT_EQ(us("7us"), "7");
  EXPECT_EQ(us("2d"), "172800000000");
  EXPECT_EQ(us("1w"), "604800000000");
  EXPECT_EQ(us("90"), "90000000");
  EXPECT_EQ(us("0.25"), "250000");
  EXPECT_EQ(us("1e3"), "1000000000");
  EXPECT_EQ(us("1.5h"), "5400000000");
  EXPECT_EQ(us("5min"), "300000000");
  EXPECT_EQ(us("1m30s"), "90000000");
  EXPECT_EQ(us("0"), "0");
}

TEST(DurationTest, RefusesWhatCouldBeATypingError) {
  for (const std::string_view text : {"", "h", "1x", "30m1h", "1h1h", "1h30", "1 h", "1h-30m",
                                      "1h+30m", "1H", "nan", ".", "1h ", "s"}) {
    EXPECT_EQ(parse_duration(text).has_value(), false) << text;
  }
  EXPECT_EQ(us("-5s"), "\"-5s\" is negative");
  EXPECT_EQ(us("0.1us"), "\"0.1us\" is finer than a microsecond");
  EXPECT_EQ(us("300000000w"), "\"300000000w\" is more than 9223372036854775807 microseconds");
  EXPECT_EQ(us("9223372036854s1000000ms"),
            "\"9223372036854s1000000ms\" is more than 9223372036854775807 microseconds");
  EXPECT_EQ(us("1e30"), "\"1e30\" is more than 9223372036854775807 microseconds");
  EXPECT_EQ(us("12345678901234567890123456789012345d"),
            "\"12345678901234567890123456789012345d\" has too many digits");
}

// Each writer's text is read back as the same number, over the whole range.
TEST(QuantityTest, TextIsReadBackExactly) {
  Prng prng(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = static_cast<std::int64_t>(prng.next64() >> (1 + prng.below(62)));
    const std::int64_t round = value - value % (std::int64_t{1} << prng.below(40));
    EXPECT_EQ(parse_quantity(quantity_text(value)).value(), value);
    EXPECT_EQ(parse_quantity(quantity_text(round)).value(), round);
    EXPECT_EQ(parse_quantity_milli(quantity_milli_text(value)).value(), value);
    EXPECT_EQ(parse_duration(duration_text({value})).value().us, value);
  }
  EXPECT_EQ(quantity_text(largest), "9223372036854775807");
  EXPECT_EQ(quantity_text(85899345920), "80Gi");
  EXPECT_EQ(quantity_text(1610612736), "1536Mi");
  EXPECT_EQ(quantity_text(1000), "1k");
  EXPECT_EQ(quantity_text(0), "0");
  EXPECT_EQ(quantity_text(-2048), "-2Ki");
  EXPECT_EQ(quantity_milli_text(500), "500m");
  EXPECT_EQ(quantity_milli_text(2000), "2");
  EXPECT_EQ(duration_text(Duration::seconds(90)), "1m30s");
  EXPECT_EQ(duration_text(Duration::seconds(1'209'600)), "14d");
  EXPECT_EQ(duration_text({0}), "0s");
}

TEST(HumanTextTest, BytesHaveOneDecimal) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1023), "1023");
  EXPECT_EQ(bytes_text(1024), "1Ki");
  EXPECT_EQ(bytes_text(1536), "1.5Ki");
  EXPECT_EQ(bytes_text(85041352704), "79.2Gi");
  EXPECT_EQ(bytes_text((std::int64_t{1} << 30) - 1), "1Gi");  // Not 1024Mi.
  EXPECT_EQ(bytes_text(largest), "8Ei");
  EXPECT_EQ(bytes_text(-1024), "-1Ki");
  EXPECT_EQ(bytes_text(std::numeric_limits<std::int64_t>::min()), "-8Ei");
}

TEST(HumanTextTest, DurationsHaveTwoUnitsAtMost) {
  EXPECT_EQ(to_text(Duration{0}), "0 s");
  EXPECT_EQ(to_text(Duration{999}), "999 us");
  EXPECT_EQ(to_text(Duration{250'000}), "250 ms");
  EXPECT_EQ(to_text(Duration::seconds(59)), "59 s");
  EXPECT_EQ(to_text(Duration::seconds(260)), "4 min");
  EXPECT_EQ(to_text(Duration::seconds(5400)), "1h30m");
  EXPECT_EQ(to_text(Duration::seconds(7200)), "2h");
  EXPECT_EQ(to_text(Duration::seconds(187'200)), "2d4h");
  EXPECT_EQ(to_text(Duration::seconds(-260)), "-4 min");
  EXPECT_EQ(to_text(Duration{std::numeric_limits<std::int64_t>::min()}), "-106751991d4h");
}

}  // namespace tutti::quantity_test
