#include "format/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/limits.h"

namespace tutti::json_test {

std::string read(std::string_view text) {
  const Result<Value> value = parse_json(text);
  return value ? to_json(*value) : value.error().text();
}

std::string repeat(std::string_view piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

TEST(JsonTest, ReadsEveryKind) {
  const std::string text =
      R"({"a":[null,true,false,-0.5e+3,12],"b":{"c":"é\n\"调"},"d":[],"e":{},"":1})";
  EXPECT_EQ(read(text), text);
  EXPECT_EQ(read(" [ 1 ,\r\n\t2 ] \n"), "[1,2]");
  EXPECT_EQ(read("\"\\u00e9\\ud83d\\ude80\""), "\"é🚀\"");
  EXPECT_EQ(read("\xEF\xBB\xBF{}"), "{}");
  EXPECT_EQ(read(" 12 "), "12");
  EXPECT_EQ(read("null"), "null");
  EXPECT_EQ(read("\"x\""), "\"x\"");
}

TEST(JsonTest, BigNumbersKeepTheirDigits) {
  EXPECT_EQ(read("[9223372036854775807,9223372036854775808,1e400,0.1000]"),
            "[9223372036854775807,9223372036854775808,1e400,0.1000]");
  const Value list = parse_json("[1000000000000000000, 9223372036854775808]").value();
  EXPECT_EQ(list.items()[0].integer_value(), 1'000'000'000'000'000'000);
  EXPECT_EQ(list.items()[1].kind(), Kind::decimal);
}

TEST(JsonTest, PlacesCountCharacters) {
  const Value value = parse_json("{\"调度\": [1,\n   {\"x\": \"y\"}]}").value();
  EXPECT_EQ(value.place().text(), "1:1");
  EXPECT_EQ(value.members()[0].place.text(), "1:2");
  const Value& list = *value.find("调度");
  EXPECT_EQ(list.place().text(), "1:8");
  EXPECT_EQ(list.items()[1].place().text(), "2:4");
  EXPECT_EQ(list.items()[1].find("x")->place().text(), "2:10");
  EXPECT_EQ(parse_json("  12", {3, 5}).value().place().text(), "3:7");
  EXPECT_EQ(parse_json("[1]", {3, 5}).value().items()[0].place().text(), "3:6");
}

TEST(JsonTest, RefusesBrokenTextWithItsPlace) {
  const std::string early = ": the document ends too early\nhint:  is the file complete?\n";
  EXPECT_EQ(read(""), "error: 1:1: the document is empty\n");
  EXPECT_EQ(read(" \n "), "error: 2:2: the document is empty\n");
  EXPECT_EQ(read("{\"a\": 1"), "error: 1:8" + early);
  EXPECT_EQ(read("{\"a\": [1, 2"), "error: 1:12" + early);
  EXPECT_EQ(read("{"), "error: 1:2" + early);
  EXPECT_EQ(read("{\"a\": \"xy"), "error: 1:7: text without its closing quote\n");
  EXPECT_EQ(read("[1 2]"), "error: 1:4: unexpected \"2]\"\n");
  EXPECT_EQ(read("[1,]"), "error: 1:4: \"]\" is not JSON\nhint:  text stands in double quotes\n");
  EXPECT_EQ(read("[1] 2"), "error: 1:5: text after the end of the document\n");
  EXPECT_EQ(read("1 2"), "error: 1:3: unexpected \"2]\"\n");
  EXPECT_EQ(read("1,2"), "error: 1:3: more than one value\n");
  EXPECT_EQ(read("{a: 1}"), "error: 1:2: unexpected \"a: 1}\"\n");
  EXPECT_EQ(read("[\n  nul]"),
            "error: 2:3: \"nul\" is not JSON\nhint:  text stands in double quotes\n");
  EXPECT_EQ(read("[\"\\x\"]"), "error: 1:2: text with an invalid escape\n");
  EXPECT_EQ(read("[\"\\ud800\"]"), "error: 1:2: text with an invalid escape\n");
  EXPECT_EQ(read("[\"a\\u0000\"]"), "error: 1:2: text with a NUL character\n");
  EXPECT_EQ(read("[\"a\nb\"]"),
            "error: 1:4: control character 0x0a in text\nhint:  escape it, as in \\n\n");
  EXPECT_EQ(read("[\"caf\xe9\"]"),
            "error: 1:6: byte 0xe9 is not valid UTF-8\nhint:  save the file as UTF-8\n");
}

TEST(JsonTest, RefusesNumbersThatAreNotJson) {
  for (const std::string_view text :
       {"[+1]", "[01]", "[.5]", "[5.]", "[1e]", "[-]", "[0x1]", "[NaN]", "[Infinity]", "[1_000]",
        "[5.e3]", "[-.5]", "[1.]"}) {
    EXPECT_FALSE(parse_json(text).has_value()) << text;
  }
}

TEST(JsonTest, RefusesDuplicateKeys) {
  EXPECT_EQ(read("{\"a\": 1, \"b\": {\"x\": 1, \"\\u0078\": 2}}"),
            "error: 1:24: duplicate key \"x\"\nhint:  it stands first at 1:16; keep one\n");
}

TEST(JsonTest, RefusesDeepNesting) {
  const auto nested = [](unsigned n) { return repeat("[", n) + repeat("]", n); };
  EXPECT_TRUE(parse_json(nested(limits::input_depth)).has_value());
  EXPECT_EQ(read(nested(limits::input_depth + 1)), "error: 1:129: nested deeper than 128 levels\n");
  EXPECT_FALSE(parse_json(nested(100'000)).has_value());
  EXPECT_FALSE(parse_json(repeat("[", 100'000)).has_value());
  EXPECT_FALSE(parse_json(repeat("{\"a\":", 100'000)).has_value());
}

TEST(JsonWriterTest, WritesCompactAndIndented) {
  const auto write = [](JsonStyle style) {
    std::string out;
    JsonWriter json(out, style);
    json.begin_object().member("name", "n0").member("gpu", 8).key("list").begin_list();
    json.value(1.5).null().value(true).begin_list().end_list().end_list();
    json.key("empty").begin_object().end_object().end_object();
    EXPECT_TRUE(json.complete());
    return out;
  };
  EXPECT_EQ(write(JsonStyle::compact),
            R"({"name":"n0","gpu":8,"list":[1.5,null,true,[]],"empty":{}})");
  EXPECT_EQ(write(JsonStyle::indented),
            "{\n  \"name\": \"n0\",\n  \"gpu\": 8,\n  \"list\": [\n    1.5,\n    null,\n    true,\n"
            "    []\n  ],\n  \"empty\": {}\n}");
}

TEST(JsonWriterTest, NumbersReadBackAsTheSame) {
  std::string out;
  JsonWriter json(out);
  json.begin_list().value(0.1).value(-0.0).value(1e300).value(5e-324).value(3.0);
  json.value(std::numeric_limits<double>::quiet_NaN());
  json.value(std::numeric_limits<double>::infinity());
  json.value(std::numeric_limits<std::int64_t>::min());
  json.value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::uint8_t{7}).value(static_cast<short>(-7)).end_list();
  EXPECT_EQ(out,
            "[0.1,-0,1e+300,5e-324,3,null,null,-9223372036854775808,18446744073709551615,7,-7]");
}

TEST(JsonWriterTest, EscapesAndRepairsText) {
  std::string out;
  JsonWriter(out).value("a\"\\\n\r\t\b\f\x01\x7f/é\xff\xed\xa0\x80");
  EXPECT_EQ(out, "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0001\\u007f/é\uFFFD\uFFFD\uFFFD\uFFFD\"");
  EXPECT_TRUE(parse_json(out).has_value());
}

TEST(JsonWriterTest, DecimalsFromYamlBecomeJson) {
  EXPECT_EQ(to_json(*Value::number("+.5")), "0.5");
  EXPECT_EQ(to_json(*Value::number("-5.")), "-5.0");
  EXPECT_EQ(to_json(*Value::number("5.e3")), "5.0e3");
}

TEST(JsonWriterDeathTest, MisuseIsABug) {
  std::string out;
  EXPECT_DEATH(JsonWriter(out).begin_object().value(1), "CHECK failed");
  EXPECT_DEATH(JsonWriter(out).begin_list().key("a"), "CHECK failed");
  EXPECT_DEATH(JsonWriter(out).begin_list().end_object(), "CHECK failed");
  EXPECT_DEATH(JsonWriter(out).value(1).value(2), "CHECK failed");
}

}  // namespace tutti::json_test
