#include "format/text.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tutti::text_test {

TEST(Utf8Test, FindsTheFirstInvalidByte) {
  EXPECT_EQ(first_invalid_utf8(""), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("plain ascii of some length"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("调度 é 🚀 end"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("ok\x80"), 2U);               // A continuation alone.
  EXPECT_EQ(first_invalid_utf8("0123456789\xC0\x80"), 10U);  // Overlong NUL.
  EXPECT_EQ(first_invalid_utf8("\xE0\x80\x80"), 0U);         // Overlong in three bytes.
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0U);         // A surrogate.
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0U);     // Above U+10FFFF.
  EXPECT_EQ(first_invalid_utf8("a\xE8\xB0"), 1U);            // Truncated.
}

TEST(Utf8Test, EncodesEachLengthAsItDecodes) {
  for (const char32_t value : {0x41U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
    std::string text;
    append_utf8(text, value);
    const CodePoint point = decode_utf8(text, 0);
    EXPECT_EQ(point.value, value);
    EXPECT_EQ(point.length, text.size());
  }
}

TEST(QuoteTest, DisarmsControlCharactersAndShortens) {
  EXPECT_EQ(quote("8Gi"), R"("8Gi")");
  EXPECT_EQ(quote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quote("\x1b[31m\n\xff"), R"("\x1b[31m\x0a\xff")");
  EXPECT_EQ(quote("\u202e調"), "\"\\u202e調\"");  // An override of the writing direction.
  EXPECT_EQ(quote(std::string(100, 'x')), '"' + std::string(60, 'x') + "...\"");
}

TEST(EditDistanceTest, CountsChangesAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("cuont", "count"), 1U);  // Two neighbours swapped.
  EXPECT_EQ(edit_distance(std::string(65, 'a'), "a"), 65U);
  EXPECT_EQ(edit_distance(std::string(65, 'a'), std::string(65, 'a')), 0U);
}

TEST(ClosestTest, FindsTypingErrorsOnly) {
  constexpr std::array<std::string_view, 3> names = {"count", "cpu", "memory"};
  EXPECT_EQ(closest("cuont", names), "count");
  EXPECT_EQ(closest("Memory", names), "memory");
  EXPECT_EQ(closest("gpu", names), "cpu");
  EXPECT_EQ(closest("gpu", std::vector<std::string_view>{"cpu", "gpus"}), "gpus");
  EXPECT_EQ(closest("h100-80gg", std::vector<std::string_view>{"L100-80G", "H100-80G"}),
            "H100-80G");
  EXPECT_EQ(closest("mem", std::vector<std::string_view>{"cpu", "memory"}), "memory");
  EXPECT_EQ(closest("mem", std::vector<std::string_view>{"memory", "members"}), std::nullopt);
  EXPECT_EQ(closest("me", std::vector<std::string_view>{"memory"}), std::nullopt);
  EXPECT_EQ(closest("topology", names), std::nullopt);
  EXPECT_EQ(closest("x", names), std::nullopt);
  EXPECT_EQ(closest("", names), std::nullopt);
}

TEST(ClosestTest, HintsNameTheNearestOrAll) {
  constexpr std::array<std::string_view, 3> names = {"count", "cpu", "memory"};
  EXPECT_EQ(did_you_mean("memroy", names), "did you mean \"memory\"?");
  EXPECT_EQ(did_you_mean("topology", names), "known: count, cpu, memory");
  EXPECT_EQ(did_you_mean("x", {}), "");
  EXPECT_EQ(join_names(names, 2), "count and 2 more");
  EXPECT_EQ(join_names(names, 3), "count, cpu, memory");
  EXPECT_EQ(join_names(names, 1), "3 more");
}

TEST(WidthTest, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("调度"), 4U);
  EXPECT_EQ(display_width("é"), 1U);
  EXPECT_EQ(display_width("e\u0301"), 1U);  // With a combining accent.
  EXPECT_EQ(display_width("🚀"), 2U);
  EXPECT_EQ(display_width("\xff"), 1U);
}

TEST(TableTest, AlignsNumbersRightAndWideTextByColumns) {
  Table table({"NODE", "GPU", "NOTE"});
  table.add({"n0", "8", ""});
  table.add({"调度", "128", "drained"});
  table.add({"n2", "-", "x"});
  EXPECT_EQ(table.text(),
            "NODE  GPU  NOTE\n"
            "n0      8\n"
            "调度  128  drained\n"
            "n2      -  x\n");
}

TEST(TableTest, HeaderAloneIsALine) { EXPECT_EQ(Table({"A", "B"}).text(), "A  B\n"); }

}  // namespace tutti::text_test
