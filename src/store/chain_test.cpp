#include "store/chain.h"

#include <gtest/gtest.h>

namespace tutti::chain_test {

TEST(ChainTest, HashIsThatOfTheDocumentedText) {
  // printf '%s\n%s\n%s' "$(printf '0%.0s' {1..64})" 1 '{"tag":8}' | sha256sum
  EXPECT_EQ(Chain().hash(chain_origin(), 1, R"({"tag":8})"),
            "341e19c6df856d35a7649bc914ca2a2d89dfd60bcf1d6b60205e1897d0ee2b6b");
}

TEST(ChainTest, EveryPartCounts) {
  Chain chain;
  const std::string one = chain.hash(chain_origin(), 1, "line");
  EXPECT_EQ(chain.hash(chain_origin(), 1, "line"), one);  // Nothing is left over from a call.
  EXPECT_NE(chain.hash(one, 1, "line"), one);
  EXPECT_NE(chain.hash(chain_origin(), 2, "line"), one);
  EXPECT_NE(chain.hash(chain_origin(), 1, "lime"), one);
  EXPECT_NE(chain.hash(chain_origin(), 1, std::string_view("line\0", 5)), one);
  EXPECT_NE(chain.hash(chain_origin(), 1, ""), one);
}

TEST(ChainTest, ATextAloneHasItsSha256) {
  EXPECT_EQ(Chain().hash("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(ChainTest, LargestRowNumber) {
  EXPECT_TRUE(is_chain_hash(Chain().hash(chain_origin(), UINT64_MAX, "")));
}

TEST(ChainTest, HashesHave64LowerCaseHexadecimalDigits) {
  EXPECT_TRUE(is_chain_hash(chain_origin()));
  EXPECT_FALSE(is_chain_hash(""));
  EXPECT_FALSE(is_chain_hash(std::string(63, '0')));
  EXPECT_FALSE(is_chain_hash(std::string(65, '0')));
  EXPECT_FALSE(is_chain_hash(std::string(64, 'A')));
  EXPECT_FALSE(is_chain_hash(std::string(63, 'a') + "g"));
}

}  // namespace tutti::chain_test
