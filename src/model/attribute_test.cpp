#include "model/attribute.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tutti::attribute_test {

DeviceType card() {
  return {.model = "A100-80G",
          .vendor = "nvidia",
          .kind = DeviceKind::gpu,
          .memory_mib = 81'920,
          .profile = {},
          .attributes = {{.name = "cores", .number = 2},
                         {.name = "fp16", .number = 1},
                         {.name = "fp16_tflops", .number = 312'500},
                         {.name = "fp8", .number = 0},
                         {.name = "link", .text = "nvlink"},
                         {.name = "offset", .number = -5}}};
}

AttributeExpression parsed(std::string_view text) {
  auto expression = AttributeExpression::parse(text);
  EXPECT_TRUE(expression.has_value()) << text << ": " << expression.error().text();
  return expression ? *std::move(expression) : AttributeExpression();
}

bool matches(std::string_view text) { return parsed(text).matches(card()); }

std::string error_of(std::string_view text) {
  const auto expression = AttributeExpression::parse(text);
  return expression ? "none" : expression.error().where + ": " + expression.error().what;
}

TEST(AttributeTest, TheEmptyExpressionMatchesEverything) {
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches(" \t\n"));
  EXPECT_TRUE(parsed(" ").empty());
  EXPECT_EQ(parsed(" ").text(), "");
  EXPECT_TRUE(AttributeExpression().matches(DeviceType()));
}

TEST(AttributeTest, AndBindsTighterThanOr) {
  EXPECT_TRUE(matches("fp16 || fp8 && fp8"));
  EXPECT_FALSE(matches("(fp16 || fp8) && fp8"));
  EXPECT_TRUE(matches("fp8 && fp8 || fp16"));
  EXPECT_FALSE(matches("fp8 && (fp8 || fp16)"));
  EXPECT_EQ(parsed("a||b&&c").text(), "a || (b && c)");
  EXPECT_EQ(parsed("(a||b)&&c").text(), "(a || b) && c");
}

TEST(AttributeTest, NotBindsTightest) {
  EXPECT_TRUE(matches("!fp8 && fp16"));
  EXPECT_FALSE(matches("!(fp8 || fp16)"));
  EXPECT_TRUE(matches("!!fp16"));
  EXPECT_FALSE(matches("!vendor == nvidia"));
  EXPECT_TRUE(matches("vendor != amd"));
}

TEST(AttributeTest, ComparisonsHoldAtTheirBoundaries) {
  EXPECT_TRUE(matches("cores == 2 && cores >= 2 && cores <= 2"));
  EXPECT_FALSE(matches("cores != 2 || cores < 2 || cores > 2"));
  EXPECT_TRUE(matches("cores > 1.999 && cores < 2.001"));
  EXPECT_FALSE(matches("cores <= 1.5"));
  EXPECT_FALSE(matches("cores == 1.5"));
  EXPECT_TRUE(matches("offset == -5 && offset < 0 && offset > -6"));
}

TEST(AttributeTest, MemoryIsInMebibytesUnlessASuffixSaysBytes) {
  EXPECT_TRUE(matches("memory == 80Gi && memory == 81920 && memory == 81920Mi"));
  EXPECT_TRUE(matches("memory >= 80Gi && memory <= 80Gi"));
  EXPECT_FALSE(matches("memory > 80Gi"));
  EXPECT_TRUE(matches("memory < 86G && memory > 85G"));  // 80 GiB are 85.9 GB.
  EXPECT_FALSE(matches("memory == 85899345921k"));
  EXPECT_FALSE(matches("memory <= 81919.5"));
  EXPECT_TRUE(matches("memory < 7Ei && memory > 1e3 && memory < 1e18"));
}

TEST(AttributeTest, RatesAreKeptInThousandths) {
  EXPECT_TRUE(matches("fp16_tflops == 312.5"));
  EXPECT_TRUE(matches("fp16_tflops > 312 && fp16_tflops < 313"));
  EXPECT_TRUE(in_thousandths("int8_tops"));
  EXPECT_TRUE(in_thousandths("memory_bandwidth_gb_per_s"));
  EXPECT_TRUE(in_thousandths("compute_capability"));
  EXPECT_FALSE(in_thousandths("peak_power_w"));
  EXPECT_FALSE(in_thousandths("tops"));
}

TEST(AttributeTest, HugeNumbersDoNotWrap) {
  DeviceType huge = card();
  huge.memory_mib = std::numeric_limits<std::int64_t>::max();
  huge.attributes = {{.name = "x", .number = std::numeric_limits<std::int64_t>::min()}};
  EXPECT_TRUE(parsed("memory > 1Ei && x < -1").matches(huge));
}

TEST(AttributeTest, InListsAndNotIn) {
  EXPECT_TRUE(matches("vendor in (amd, nvidia)"));
  EXPECT_FALSE(matches("vendor in (amd)"));
  EXPECT_FALSE(matches("vendor not in (amd, nvidia)"));
  EXPECT_TRUE(matches("vendor not in (amd)"));
  EXPECT_TRUE(matches("cores in (1, 2) && memory in (40Gi, 80Gi)"));
  EXPECT_TRUE(matches("model in (\"A100-80G\") && kind == gpu && link == nvlink"));
  EXPECT_EQ(parsed("in in(in)").text(), "in in (\"in\")");  // The words can be names, too.
  EXPECT_EQ(parsed("int8").text(), "int8");
}

TEST(AttributeTest, MissingAttributesMakeEveryTestFalse) {
  for (const std::string_view test : {"gone", "gone == 1", "gone != 1", "gone < 1", "gone >= 0",
                                      "gone in (a)", "gone not in (a)", "profile != x"}) {
    EXPECT_FALSE(matches(test)) << test;
  }
  EXPECT_TRUE(matches("!(gone != 1)"));
  EXPECT_FALSE(parsed("memory != 5").matches(DeviceType()));  // Unknown memory is missing too.
  EXPECT_FALSE(matches("link > 5"));                          // A word has no order.
  EXPECT_FALSE(matches("cores == two"));
  EXPECT_TRUE(matches("cores != two"));
}

TEST(AttributeTest, QuotesKeepWhatTheyEnclose) {
  DeviceType type = card();
  type.attributes = {{.name = "n", .text = "  a b "}, {.name = "v", .text = "12.2"}};
  EXPECT_TRUE(parsed("n == \"  a b \"").matches(type));
  EXPECT_FALSE(parsed("n == \"a b\"").matches(type));
  EXPECT_TRUE(parsed("v == 12.2").matches(type));
  // A quoted number is the number: canonical text would lose the difference.
  EXPECT_TRUE(matches("cores == \"2\""));
  EXPECT_EQ(parsed("cores == \"2\"").text(), "cores == 2");
}

TEST(AttributeTest, CanonicalTextIsAFixedPoint) {
  for (const std::string_view text :
       {"a", "!a", "!!a", "!(a && b)", "!a == b", "a && b && c", "a && (b && c)", "(a || b) || c",
        "a == \"\"", "a == \"x y\" || b != \"(\"", "memory >= 40Gi", "a not in (b, \"not\", 5)"}) {
    const AttributeExpression first = parsed(text);
    const AttributeExpression second = parsed(first.text());
    EXPECT_EQ(first, second) << text;
    EXPECT_EQ(first.matches(card()), second.matches(card())) << text;
  }
  EXPECT_EQ(parsed(" memory>=40Gi&&vendor in(a,b) ").text(), "memory >= 40Gi && vendor in (a, b)");
  EXPECT_FALSE(parsed("a && (b && c)") == parsed("a && b && c"));
}

TEST(AttributeTest, ErrorsStandAtTheirColumn) {
  EXPECT_EQ(error_of("memory >="), "1:10: expected a value, found the end");
  EXPECT_EQ(error_of("fp8 &&"), "1:7: expected an attribute, found the end");
  EXPECT_EQ(error_of("fp8 & bf16"), "1:5: expected an operator or the end, found \"& bf16\"");
  EXPECT_EQ(error_of("fp8 = 1"), "1:5: expected an operator or the end, found \"= 1\"");
  EXPECT_EQ(error_of("(fp8"), "1:5: expected \")\", found the end");
  EXPECT_EQ(error_of("fp8)"), "1:4: expected an operator or the end, found \")\"");
  EXPECT_EQ(error_of("a in b"), "1:6: expected \"(\", found \"b\"");
  EXPECT_EQ(error_of("a in ()"), "1:7: expected a value, found \")\"");
  EXPECT_EQ(error_of("a in (b c)"), "1:9: expected \",\" or \")\", found \"c)\"");
  EXPECT_EQ(error_of("a not (b)"), "1:7: expected \"in\", found \"(b)\"");
  EXPECT_EQ(error_of("a == \"b"), "1:6: expected text with a closing quote, found \"\\\"b\"");
  EXPECT_EQ(error_of("a == b \x01"), "1:8: expected an operator or the end, found \"\\x01\"");
}

TEST(AttributeTest, NestingIsLimited) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')');
  };
  EXPECT_EQ(error_of(nested(128)), "none");
  EXPECT_TRUE(error_of(nested(129)).starts_with("1:130: expected less nesting"));
  EXPECT_TRUE(error_of(std::string(100'000, '!') + "a").starts_with("1:130: expected less"));
}

}  // namespace tutti::attribute_test
