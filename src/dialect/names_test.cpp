#include "dialect/names.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace tutti::names_test {

std::string expanded(std::string_view pattern, std::size_t most = 100) {
  const auto names = expand_names(pattern, most);
  if (!names) return names.error().text();
  std::string out;
  for (const std::string& name : *names) out += (out.empty() ? "" : " ") + name;
  return out;
}

TEST(NamesTest, ExpandsRanges) {
  EXPECT_EQ(expanded("plain"), "plain");
  EXPECT_EQ(expanded("n[0-2]"), "n0 n1 n2");
  EXPECT_EQ(expanded("n[008-010]x"), "n008x n009x n010x");
  EXPECT_EQ(expanded("n[1,3-4]"), "n1 n3 n4");
  EXPECT_EQ(expanded("r[0-1]n[7-8]"), "r0n7 r0n8 r1n7 r1n8");
  EXPECT_EQ(expanded("[5]"), "5");
}

TEST(NamesTest, BoundsThemBeforeTheyExist) {
  EXPECT_EQ(expanded("n[0-99]").substr(0, 8), "n0 n1 n2");
  EXPECT_EQ(expanded("n[0-100]"), "error: the range \"0-100\" is one of more than 100 names\n");
  EXPECT_EQ(expanded("n[0-999999999]"),
            "error: the range \"0-999999999\" is one of more than 100 names\n");
  EXPECT_EQ(expanded("n[0-9][0-9][0-1]"),
            "error: \"n[0-9][0-9][0-1]\" stands for 200 names; at most 100 are allowed here\n");
  EXPECT_EQ(expanded("n[0-3]", 0), "error: the range \"0-3\" is one of more than 0 names\n");
}

TEST(NamesTest, RefusesBrokenOnes) {
  EXPECT_EQ(expanded("n[0-1"),
            "error: \"n[0-1\" opens a range with \"[\" that never ends\n"
            "hint:  a range looks like [0-15] or [0-7,9]\n");
  EXPECT_EQ(expanded("n[5-4]"), "error: the range \"5-4\" runs backwards\n");
  EXPECT_EQ(expanded("n[]"),
            "error: \"\" is no number of at most 9 digits\n"
            "hint:  a range looks like [0-15] or [0-7,9]\n");
  EXPECT_EQ(expanded("n[-1]").substr(0, 12), "error: \"\" is");
  EXPECT_EQ(expanded("n[0-9999999999]").substr(0, 22), "error: \"9999999999\" is");
  EXPECT_EQ(expanded(""), "error: a name has 1 to 253 characters, this one 0\n");
  EXPECT_EQ(expanded("a b"), "error: \"a b\" has a blank, a bracket or a control character\n");
  EXPECT_EQ(expanded("a]"), "error: \"a]\" has a blank, a bracket or a control character\n");
}

TEST(NamesTest, BoundsTheLength) {
  EXPECT_TRUE(check_name(std::string(limits::name_length, 'x')).has_value());
  EXPECT_FALSE(check_name(std::string(limits::name_length + 1, 'x')).has_value());
}

}  // namespace tutti::names_test
