#include "api/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tutti::tokens_test {

using testing::HasSubstr;
using testing::Not;

class TokensTest : public testing::Test {
 protected:
  Tokens::Keep keep() {
    return [this](std::string_view text) -> Result<void> {
      if (full_) return fail(Code::io, "the disk is full");
      kept_ = text;
      return {};
    };
  }
  Tokens::Made make(Token wanted) {
    wanted.created = Instant{1};
    return tokens_.make(std::move(wanted)).value();
  }
  std::string refusal(Token wanted) {
    wanted.created = Instant{1};
    const auto made = tokens_.make(std::move(wanted));
    return made ? "" : made.error().what;
  }

  std::string kept_;
  bool full_ = false;
  Tokens tokens_{keep()};
};

TEST_F(TokensTest, OnlyAHashIsKept) {
  const Tokens::Made made = make({.role = Role::viewer, .queues = {"a/b", "c"}, .user = "root"});
  EXPECT_EQ(made.secret.size(), 6 + 64U);
  EXPECT_THAT(kept_, Not(HasSubstr(made.secret)));
  EXPECT_THAT(kept_, Not(HasSubstr(made.secret.substr(6))));
  EXPECT_EQ(made.token.hash, sha256(made.secret));
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(TokensTest, WhatWasKeptIsReadAgain) {
  const Tokens::Made first = make({.role = Role::user, .user = "root"});
  const Tokens::Made second =
      make({.role = Role::operator_, .queues = {"a"}, .expires = Instant{7}});
  const Tokens again = Tokens::read(kept_, keep()).value();
  ASSERT_EQ(again.all().size(), 2U);
  const Token* const found = again.find(second.secret);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->id, second.token.id);
  EXPECT_EQ(found->role, Role::operator_);
  EXPECT_EQ(found->queues, second.token.queues);
  EXPECT_EQ(found->user, "");
  EXPECT_EQ(found->expires, Instant{7});
  EXPECT_FALSE(found->expired(Instant{6}));
  EXPECT_TRUE(found->expired(Instant{7}));
  EXPECT_EQ(again.find(first.secret)->expires, std::nullopt);
  EXPECT_EQ(again.find("tutti_"), nullptr);
}

// A guess might give somebody more than he had.
TEST_F(TokensTest, WhateverIsDamagedIsRefusedWithItsPlace) {
  make({.role = Role::viewer, .queues = {"a"}});
  const std::string good = kept_;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    const auto read = Tokens::read(bad, keep());
    ASSERT_FALSE(read.has_value()) << at;
    EXPECT_THAT(read.error().where, testing::MatchesRegex("[1-9]+:[0-9]+")) << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(Tokens::read(good.substr(0, size), keep()).has_value()) << size;
  }
  EXPECT_FALSE(Tokens::read(good + good, keep()).has_value());
}

TEST_F(TokensTest, ANewerFormatIsRefused) {
  std::string text = "{\"tokens\":2}\n";
  text += "{\"sha256\":\"" + sha256(text) + "\"}\n";
  const auto read = Tokens::read(text, keep());
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, Code::unsupported);
}

TEST_F(TokensTest, WhatCouldNotBeKeptDidNotHappen) {
  const Tokens::Made made = make({.role = Role::viewer});
  full_ = true;
  EXPECT_EQ(refusal({.role = Role::viewer}), "the disk is full");
  EXPECT_FALSE(tokens_.revoke(made.token.id).has_value());
  EXPECT_EQ(tokens_.all().size(), 1U);
  EXPECT_NE(tokens_.find(made.secret), nullptr);
}

TEST_F(TokensTest, WhatExpiredLongAgoIsForgotten) {
  make({.role = Role::viewer, .expires = Instant{2}});
  make({.role = Role::viewer});
  constexpr std::int64_t month = std::int64_t{30} * 86'400;
  const auto later = [&](std::int64_t seconds) {
    return tokens_.make({.role = Role::viewer, .created = Instant{2} + Duration::seconds(seconds)});
  };
  ASSERT_TRUE(later(month - 1).has_value());
  EXPECT_EQ(tokens_.all().size(), 3U);
  ASSERT_TRUE(later(month).has_value());
  EXPECT_EQ(tokens_.all().size(), 3U);  // One came, one went.
}

TEST_F(TokensTest, WhatMakesNoSenseIsRefused) {
  for (const char* queue : {"", "/a", "a/", "a//b", "a b", "a\x1b[2J", "a\n"}) {
    EXPECT_THAT(refusal({.queues = {queue}}), HasSubstr("is no queue")) << queue;
  }
  EXPECT_THAT(refusal({.role = Role::admin, .queues = {"a"}}), HasSubstr("bound to no queue"));
  EXPECT_THAT(refusal({.user = "no such user"}), HasSubstr("has no user"));
  EXPECT_THAT(refusal({.expires = Instant{1}}), HasSubstr("expired already"));
  EXPECT_THAT(tokens_.revoke("0").error().what, HasSubstr("no token"));
  EXPECT_EQ(kept_, "");
}

}  // namespace tutti::tokens_test
