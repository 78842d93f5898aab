#include "format/base64.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace tutti::base64_test {

TEST(Base64Test, WritesAndReadsWhatTheStandardShows) {
  const std::array<std::pair<std::string, std::string>, 7> rows{{{"", ""},
                                                                 {"f", "Zg=="},
                                                                 {"fo", "Zm8="},
                                                                 {"foo", "Zm9v"},
                                                                 {"foob", "Zm9vYg=="},
                                                                 {"fooba", "Zm9vYmE="},
                                                                 {"foobar", "Zm9vYmFy"}}};
  for (const auto& [bytes, text] : rows) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(parse_base64(text).value(), bytes);
  }
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(parse_base64(to_base64(all)).value(), all);
  EXPECT_EQ(parse_base64("Zm9v\nYg==\r\n").value(), "foob") << "line ends do not count";
}

TEST(Base64Test, RefusesAnythingElseWithoutShowingIt) {
  for (const char* bad : {"Zg", "Zg=", "Zg===", "=Zg=", "Z===", "Zg==Zg==", "Zm9v!", "Zm 9v",
                          "Zg=A", "====", "Zm9v="}) {
    const auto got = parse_base64(bad);
    ASSERT_FALSE(got.has_value()) << bad;
    EXPECT_EQ(got.error().text(), "error: this is no base64\n");
  }
}

}  // namespace tutti::base64_test
