#include "format/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "base/prng.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti::yaml_test {

/// All documents as JSON, one per line, or the error's text.
std::string read(std::string_view text) {
  const Result<std::vector<Value>> documents = parse_yaml(text);
  if (!documents) return documents.error().text();
  std::string out;
  for (const Value& document : *documents) out += to_json(document) + "\n";
  return out;
}

std::string repeat(std::string_view piece, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += piece;
  return out;
}

TEST(YamlTest, ResolvesOnlyPlainScalars) {
  EXPECT_EQ(read("[null, ~, NULL, true, False, 12, -3, +4, 1.5, 1e3, 9223372036854775808]"),
            "[null,null,null,true,false,12,-3,4,1.5,1e3,9223372036854775808]\n");
  EXPECT_EQ(read("[no, yes, on, off, y, 8Gi, 0644, 0x1F, 1_000, .inf, .nan, 2024-01-01, nULL]"),
            "[\"no\",\"yes\",\"on\",\"off\",\"y\",\"8Gi\",\"0644\",\"0x1F\",\"1_000\",\".inf\","
            "\".nan\",\"2024-01-01\",\"nULL\"]\n");
  EXPECT_EQ(read("['true', \"8\", 'null', \"\"]"), "[\"true\",\"8\",\"null\",\"\"]\n");
  EXPECT_EQ(read("a:\nb: ~"), "{\"a\":null,\"b\":null}\n");
}

TEST(YamlTest, ReadsNestedBlocksAndSeveralDocuments) {
  EXPECT_EQ(read("kind: Job\nspec:\n  - a: 1\n    b: [x, 'y']\n---\n- 2\n--- \n...\n"),
            "{\"kind\":\"Job\",\"spec\":[{\"a\":1,\"b\":[\"x\",\"y\"]}]}\n[2]\nnull\n");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read("# only a comment\n"), "");
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a: 1\r\nb: 2\r\n"),
            "{\"a\":1,\"b\":2}\n");
  EXPECT_EQ(read("a: |\n  one\n  two\nb: >-\n  three\n  four\n"),
            "{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\"}\n");
}

TEST(YamlTest, PlacesCountCharacters) {
  const auto documents = parse_yaml("调度: {x: 1,\n  y: [2, \"3\"]}").value();
  const Value* inner = documents[0].find("调度");
  EXPECT_EQ(inner->place().text(), "1:5");
  EXPECT_EQ(inner->members()[1].place.text(), "2:3");
  EXPECT_EQ(inner->find("y")->items()[1].place().text(), "2:10");
  EXPECT_TRUE(inner->find("y")->items()[1].quoted());
}

TEST(YamlTest, CopiesAliases) {
  EXPECT_EQ(read("a: &x {k: [1]}\nb: *x\nc: &y text\nd: *y"),
            "{\"a\":{\"k\":[1]},\"b\":{\"k\":[1]},\"c\":\"text\",\"d\":\"text\"}\n");
  EXPECT_EQ(read("a: *nobody"), "error: 1:4: alias \"nobody\" has no anchor before it\n");
  EXPECT_EQ(read("a: &x [*x]"), "error: 1:8: alias \"x\" has no anchor before it\n");
  EXPECT_EQ(read("--- &x 1\n--- *x"), "error: 2:5: alias \"x\" has no anchor before it\n");
}

TEST(YamlTest, RefusesBillionLaughs) {
  std::string text = "a: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string alias = "*a" + std::to_string(i - 1);
    text += "k" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + alias +
            repeat(", " + alias, 8) + "]\n";
  }
  const Result<std::vector<Value>> laughs = parse_yaml(text);
  ASSERT_FALSE(laughs.has_value());
  EXPECT_EQ(laughs.error().code, Code::limit);
  EXPECT_EQ(laughs.error().what, "anchors and aliases expand to more than 16777216 bytes");
  const std::string long_text =
      "a: &a " + std::string(1'000'000, 'x') + "\nb: [" + repeat("*a, ", 100) + "]";
  EXPECT_EQ(parse_yaml(long_text).error().code, Code::limit);
}

TEST(YamlTest, RefusesDeepNestingAlsoByAliases) {
  const auto nested = [](unsigned n) { return repeat("[", n) + repeat("]", n); };
  EXPECT_TRUE(parse_yaml(nested(limits::input_depth)).has_value());
  EXPECT_EQ(read(nested(limits::input_depth + 1)), "error: 1:129: nested deeper than 128 levels\n");
  EXPECT_EQ(parse_yaml(repeat("[", 100'000)).error().code, Code::limit);
  EXPECT_EQ(parse_yaml(repeat("{a: ", 100'000)).error().code, Code::limit);
  EXPECT_EQ(parse_yaml(repeat("- ", 100'000)).error().code, Code::limit);
  const std::string half = "- &a " + nested(100) + "\n- ";
  EXPECT_TRUE(parse_yaml(half + repeat("[", 27) + "*a" + repeat("]", 27)).has_value());
  EXPECT_EQ(parse_yaml(half + repeat("[", 28) + "*a" + repeat("]", 28)).error().code, Code::limit);
}

TEST(YamlTest, RefusesWhatIsAmbiguous) {
  EXPECT_EQ(read("a: 1\nb: 2\na: 3"),
            "error: 3:1: duplicate key \"a\"\nhint:  it stands first at 1:1; keep one\n");
  EXPECT_EQ(read("{a: 1, \"a\": 2}"),
            "error: 1:8: duplicate key \"a\"\nhint:  it stands first at 1:2; keep one\n");
  EXPECT_EQ(read("[a]: 1"),
            "error: 1:1: a key that is not plain or quoted text\nhint:  write the key as a word\n");
  EXPECT_EQ(read("- &a x\n- *a : 1"),
            "error: 2:3: a key that is not plain or quoted text\nhint:  write the key as a word\n");
  EXPECT_EQ(read("?\n: 1"), "error: 1:2: a key is missing before \":\"\n");
  EXPECT_EQ(read("a: !!str 1"),
            "error: 1:4: tag \"tag:yaml.org,2002:str\" is not supported\n"
            "hint:  leave out the tag; put text in quotes\n");
  EXPECT_EQ(read("b: &b {x: 1}\na:\n  <<: *b"),
            "error: 3:3: merge keys (\"<<\") are not supported\nhint:  write the fields out\n");
}

TEST(YamlTest, RefusesBrokenTextWithItsPlace) {
  EXPECT_EQ(read("a: 1\nb: [1, 2\nc: 3"),
            "error: 3:2: did not find expected ',' or ']' (while parsing a flow sequence)\n"
            "hint:  within [ ] and { } put text in quotes that has brackets, braces or commas: "
            "\"n-[0-3]\"\n");
  EXPECT_EQ(read("a: 1\n b: 2"),
            "error: 2:3: mapping values are not allowed in this context\n"
            "hint:  put text in quotes that has a colon and a blank; is the indentation right?\n");
  EXPECT_EQ(
      read("\tx: 1"),
      "error: 1:1: found character that cannot start any token "
      "(while scanning for the next token)\n"
      "hint:  indent with blanks, not tabs, and put text in quotes that starts with @ or `\n");
  EXPECT_EQ(read("a: \"open"),
            "error: 1:9: found unexpected end of stream (while scanning a quoted scalar)\n");
  EXPECT_EQ(read("a: caf\xe9"),
            "error: 1:7: byte 0xe9 is not valid UTF-8\nhint:  save the file as UTF-8\n");
  EXPECT_EQ(read(std::string_view("a: \0b", 5)),
            "error: 1:4: character U+0000 is not allowed in YAML\n");
  EXPECT_EQ(read("x: 1\na: \"\\0\""), "error: 2:4: text with a NUL character\n");
  EXPECT_EQ(read("\xFF\xFE"
                 "a"),
            "error: 1:1: byte 0xff is not valid UTF-8\nhint:  save the file as UTF-8\n");
}

TEST(YamlWriteTest, WritesBlocksWithQuotesWhereNeeded) {
  const std::string text =
      "name: n0\n"
      "image: nvcr.io/nvidia/pytorch:24.05\n"
      "count: 8\n"
      "ratio: 1.50\n"
      "big: 9223372036854775808\n"
      "words: [yes, \"no\", 'on', y, ~, \"null\", \"8\", 8Gi, \"1e3\", \"0644\", 12:30:00]\n"
      "empty: [[], {}, \"\"]\n"
      "nested: [[1, [2]], {a: {b: c}}]\n"
      "script: \"set -e\\ntrain\\n\"\n"
      "tail: \"a\\nb\"\n"
      "odd: [\" a\", \"a \", \"a: b\", \"a #b\", \"- x\", \"\\e[1m\", \"调度\", \"a\\tb\"]\n";
  const std::string written =
      "name: n0\n"
      "image: nvcr.io/nvidia/pytorch:24.05\n"
      "count: 8\n"
      "ratio: 1.50\n"
      "big: 9223372036854775808\n"
      "words:\n"
      "  - \"yes\"\n"
      "  - \"no\"\n"
      "  - \"on\"\n"
      "  - \"y\"\n"
      "  - null\n"
      "  - \"null\"\n"
      "  - \"8\"\n"
      "  - 8Gi\n"
      "  - \"1e3\"\n"
      "  - \"0644\"\n"
      "  - \"12:30:00\"\n"
      "empty:\n"
      "  - []\n"
      "  - {}\n"
      "  - \"\"\n"
      "nested:\n"
      "  - - 1\n"
      "    - - 2\n"
      "  - a:\n"
      "      b: c\n"
      "script: |\n"
      "  set -e\n"
      "  train\n"
      "tail: |-\n"
      "  a\n"
      "  b\n"
      "odd:\n"
      "  - \" a\"\n"
      "  - \"a \"\n"
      "  - \"a: b\"\n"
      "  - \"a #b\"\n"
      "  - \"- x\"\n"
      "  - \"\\x1B[1m\"\n"
      "  - 调度\n"
      "  - \"a\\tb\"\n";
  const auto documents = parse_yaml(text).value();
  EXPECT_EQ(to_yaml(documents[0]), written);
  EXPECT_EQ(parse_yaml(written).value()[0], documents[0]);
}

TEST(YamlWriteTest, TextLikeADocumentMarkerIsQuoted) {
  EXPECT_EQ(to_yaml(Value::text("... x")), "\"... x\"\n");
  EXPECT_EQ(to_yaml(Value::text("--- x")), "\"--- x\"\n");
  EXPECT_EQ(to_yaml(Value::text("...\nx")), "|-\n  ...\n  x\n");
  EXPECT_EQ(parse_yaml("|-\n  ...\n  x\n").value()[0], Value::text("...\nx"));
}

TEST(YamlWriteTest, BytesThatAreNotUtf8BecomeReplacements) {
  EXPECT_EQ(to_yaml(Value::text("a\xff")), "\"a\\uFFFD\"\n");
}

/// A random tree with awkward text in it.
Value random_value(Prng& prng, unsigned depth) {
  static constexpr std::string_view pieces[] = {
      "a", "yes", "null", " ",  ":",  "#",   "\n", "\n\n",   "-",     "?",
      "|", "'",   "\"",   "\\", "\t", "8Gi", "0",  "é",      "调",    "{",
      "[", ",",   "&x",   "*x", "!",  "%",   "@",  "\u2028", "\u0085"};
  const auto text = [&] {
    std::string out;
    for (std::uint32_t n = prng.below(6); n > 0; --n) out += pieces[prng.below(std::size(pieces))];
    return out;
  };
  const std::uint32_t kind = prng.below(depth > 4 ? 4 : 6);
  if (kind == 0) return Value::integer(static_cast<std::int64_t>(prng.next64()));
  if (kind == 1) return *Value::number("-1." + std::to_string(prng.next()) + "e9");
  if (kind < 4) return Value::text(text());
  if (kind == 4) {
    Value::List items;
    for (std::uint32_t n = prng.below(4); n > 0; --n)
      items.push_back(random_value(prng, depth + 1));
    return Value::list(std::move(items));
  }
  Value::Map members;
  for (std::uint32_t n = prng.below(4); n > 0; --n) {
    std::string key = std::to_string(n) + text() + std::string(prng.chance(50) ? 1'500 : 0, 'k');
    members.push_back({std::move(key), {}, random_value(prng, depth + 1)});
  }
  return Value::map(std::move(members));
}

TEST(YamlWriteTest, RandomTreesAreReadBackEqual) {
  Prng prng(11);
  for (int i = 0; i < 3'000; ++i) {
    const Value value = random_value(prng, 0);
    const std::string text = to_yaml(value);
    const Result<std::vector<Value>> back = parse_yaml(text);
    ASSERT_TRUE(back.has_value()) << back.error().text() << text;
    ASSERT_EQ(back->size(), 1U) << text;
    ASSERT_EQ(back->at(0), value) << text;
    ASSERT_EQ(to_yaml(back->at(0)), text);
    ASSERT_EQ(parse_json(to_json(value)).value(), value);
  }
}

}  // namespace tutti::yaml_test
