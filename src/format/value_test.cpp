#include "format/value.h"

#include <gtest/gtest.h>

#include <string>

#include "base/prng.h"

namespace tutti::value_test {

std::string number(std::string_view text) {
  const std::optional<Value> value = Value::number(text);
  return value ? value->describe() : "no number";
}

Value::Map keys(std::initializer_list<std::string_view> names) {
  Value::Map out;
  std::uint32_t line = 0;
  for (const std::string_view name : names)
    out.push_back({std::string(name), {++line, 1}, Value()});
  return out;
}

TEST(ValueTest, NumbersAreExactOrKeptAsText) {
  EXPECT_EQ(number("0"), "integer 0");
  EXPECT_EQ(number("-0"), "integer 0");
  EXPECT_EQ(number("+17"), "integer 17");
  EXPECT_EQ(number("9223372036854775807"), "integer 9223372036854775807");
  EXPECT_EQ(number("-9223372036854775808"), "integer -9223372036854775808");
  EXPECT_EQ(number("9223372036854775808"), "number 9223372036854775808");
  EXPECT_EQ(number("1.50"), "number 1.50");
  EXPECT_EQ(number("1e3"), "number 1e3");
  EXPECT_EQ(number(".5"), "number .5");
  EXPECT_EQ(number("5."), "number 5.");
  EXPECT_EQ(number("5.e-3"), "number 5.e-3");
  EXPECT_EQ(number("1" + std::string(60, '0')), "number 1" + std::string(39, '0') + "...");
}

TEST(ValueTest, OtherTextIsNoNumber) {
  for (const std::string_view text :
       {"",   "-",     "+",    ".",     "-.",  "e3",  "1e",   "1e+", "1.2.3", "0644",
        "00", "-01.5", "0x1F", "1_000", "8Gi", "nan", ".inf", "1 ",  "--1",   "1-"}) {
    EXPECT_EQ(number(text), "no number") << text;
  }
}

TEST(ValueTest, WrongKindsSayWhatWasFoundAndWhere) {
  const Value text = Value::text("8", {3, 7});
  EXPECT_EQ(text.as_integer().error().text(),
            "error: 3:7: expected an integer, found text \"8\"\nhint:  leave out the quotes\n");
  const Value integer = Value::integer(8, {1, 1});
  EXPECT_EQ(integer.as_text().error().text(),
            "error: 1:1: expected text, found integer 8\nhint:  put it in quotes\n");
  EXPECT_EQ(Value().as_list().error().text(), "error: expected a list, found null\n");
  EXPECT_EQ(Value::boolean(true).as_map().error().what, "expected a map, found boolean true");
  EXPECT_EQ(Value::list({}).as_boolean().error().what, "expected a boolean, found a list of 0");
  EXPECT_EQ(Value::map({}).as_number().error().what, "expected a number, found a map of 0");
}

TEST(ValueTest, AccessorsReturnTheContent) {
  EXPECT_EQ(Value::integer(8).as_integer().value(), 8);
  EXPECT_EQ(Value::integer(8).as_number().value(), "8");
  EXPECT_EQ(Value::number("1.5")->as_number().value(), "1.5");
  EXPECT_EQ(Value::text("x").as_text().value(), "x");
  const Value map = Value::map(keys({"a", "b"}));
  EXPECT_NE(map.find("b"), nullptr);
  EXPECT_EQ(map.find("c"), nullptr);
  EXPECT_EQ(Value().find("a"), nullptr);
  EXPECT_EQ(map.as_map().value().size(), 2U);
}

TEST(ValueTest, EqualityIgnoresPlacesAndQuotesButNotKindsOrOrder) {
  EXPECT_EQ(Value::text("a", {1, 1}, true), Value::text("a", {2, 2}, false));
  EXPECT_FALSE(Value::text("1") == Value::integer(1));
  EXPECT_FALSE(Value::text("1.5") == *Value::number("1.5"));
  EXPECT_FALSE(Value::map(keys({"a", "b"})) == Value::map(keys({"b", "a"})));
  EXPECT_FALSE(Value::list({}) == Value::map({}));
  const Value map = Value::map(keys({"a", "b"}), {4, 2});
  EXPECT_EQ(map.copy(), map);
  EXPECT_EQ(map.copy().place(), (Place{4, 2}));
}

TEST(ValueTest, DuplicateKeysAreFoundInSmallAndInLargeMaps) {
  EXPECT_EQ(duplicate_member(keys({})), std::nullopt);
  EXPECT_EQ(duplicate_member(keys({"a", "b", "a", "b"})), 2U);
  Value::Map large;
  for (int i = 0; i < 1'000; ++i) large.push_back({std::to_string(i * 7919 % 1'000), {}, Value()});
  EXPECT_EQ(duplicate_member(large), std::nullopt);
  large[700].key = large[3].key;
  large[600].key = large[4].key;
  EXPECT_EQ(duplicate_member(large), 600U);
  EXPECT_EQ(map_without_duplicates(keys({"a", "b", "a"}), {1, 1}).error().text(),
            "error: 3:1: duplicate key \"a\"\nhint:  it stands first at 1:1; keep one\n");
}

TEST(PlaceTest, CountsCharactersAndLines) {
  EXPECT_EQ((Place{1, 1}.after("")), (Place{1, 1}));
  EXPECT_EQ((Place{1, 1}.after("调度x")), (Place{1, 4}));
  EXPECT_EQ((Place{2, 5}.after("a\r\nbc")), (Place{3, 3}));
  EXPECT_EQ(Place{}.text(), "");
}

}  // namespace tutti::value_test
