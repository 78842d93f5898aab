#include "dialect/environment.h"

#include <gtest/gtest.h>

namespace tutti::environment_test {

TEST(EnvironmentTest, ComesBackAsItWasWritten) {
  const std::vector<Variable> variables{{"A", "1"}, {"EMPTY", ""}, {"B", "x=y\nz"}};
  const std::string text = encode_environment(variables);
  EXPECT_EQ(text, std::string("A=1\0EMPTY=\0B=x=y\nz\0", 19));
  EXPECT_EQ(decode_environment(text), variables);
  EXPECT_EQ(decode_environment(""), std::vector<Variable>{});
}

TEST(EnvironmentTest, RefusesWhatItNeverWrote) {
  for (const std::string_view text : {std::string_view("A=1"), std::string_view("A\0B=1\0", 6),
                                      std::string_view("=1\0", 3), std::string_view("\0", 1)}) {
    EXPECT_FALSE(decode_environment(text).has_value()) << text;
  }
}

}  // namespace tutti::environment_test
