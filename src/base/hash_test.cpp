#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace tutti::hash_test {

std::uint64_t hash_of(std::string_view text) { return Hash{}.add(text).value(); }

TEST(HashTest, OrderMatters) {
  EXPECT_NE(Hash{}.add(1).add(2).value(), Hash{}.add(2).add(1).value());
}

TEST(HashTest, ConcatenationDoesNotCollide) {
  EXPECT_NE(Hash{}.add("ab").add("c").value(), Hash{}.add("a").add("bc").value());
  EXPECT_NE(Hash{}.add("").add("abc").value(), Hash{}.add("abc").add("").value());
}

TEST(HashTest, LengthsAroundAWordDiffer) {
  std::set<std::uint64_t> seen;
  for (std::size_t length = 0; length <= 17; ++length) {
    seen.insert(hash_of(std::string(length, '\0')));
    seen.insert(hash_of(std::string(length, 'x')));
  }
  EXPECT_EQ(seen.size(), 18U + 17U);  // The two empty texts are one.
}

TEST(HashTest, ZeroIsAValue) { EXPECT_NE(Hash{}.add(std::uint64_t{0}).value(), Hash{}.value()); }

TEST(HashTest, HighBytesAreNotSignExtended) { EXPECT_NE(hash_of("\xff"), hash_of("\xff\xff")); }

// Stored fingerprints (journals, golden files) rest on these: they may never change.
TEST(HashTest, GoldenValues) {
  EXPECT_EQ(mix(1), 0xb456bcfc34c2cb2cULL);
  EXPECT_EQ(Hash{}.value(), 0U);
  EXPECT_EQ(Hash{}.add(std::uint64_t{7}).value(), 0x12b56a2136f84755ULL);
  EXPECT_EQ(hash_of("tutti, all together"), 0x3c64edc029321eb8ULL);
}

TEST(MixTest, OneInputBitTurnsAboutHalfOfTheOutput) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    const int turned = std::popcount(mix(12345) ^ mix(12345 ^ (std::uint64_t{1} << bit)));
    EXPECT_GT(turned, 14) << bit;
    EXPECT_LT(turned, 50) << bit;
  }
}

}  // namespace tutti::hash_test
