#include "api/access.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "api/tokens.h"

namespace tutti::access_test {

constexpr uid_t owner = 1234;
constexpr Instant now{1'000'000};
const std::string token = "tutti_0123456789abcdef0123456789abcdef";

net::Request local(uid_t uid) {
  net::Request request;
  request.peer =
      std::make_shared<const net::Peer>(net::Peer{.address = "uid", .local = true, .uid = uid});
  return request;
}

net::Request remote(std::string_view authorization) {
  net::Request request;
  request.peer = std::make_shared<const net::Peer>(net::Peer{.address = "127.0.0.1"});
  if (!authorization.empty()) request.headers.add("Authorization", authorization);
  return request;
}

TEST(AccessTest, OverASocketTheKernelSaysWhoItIs) {
  const Access access(token, owner);
  EXPECT_EQ(access.who(local(0), now)->role, Role::admin);
  EXPECT_EQ(access.who(local(owner), now)->role, Role::admin);
  const auto other = access.who(local(4321), now);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->role, Role::user);
  EXPECT_EQ(other->uid, 4321U);
  EXPECT_FALSE(other->is_bound());
  EXPECT_EQ(access.who(local(0), now)->name, "root");
}

TEST(AccessTest, OverTcpATokenDoes) {
  const Access access(token, owner);
  EXPECT_EQ(access.who(remote("Bearer " + token), now)->role, Role::admin);
  for (const std::string& wrong :
       {std::string(), token, "Basic " + token, std::string("Bearer "), "Bearer " + token + "0",
        "Bearer " + token.substr(1), "Bearer x" + token.substr(1)}) {
    const auto who = access.who(remote(wrong), now);
    ASSERT_FALSE(who.has_value()) << wrong;
    EXPECT_EQ(who.error().code, Code::denied);
    EXPECT_EQ(who.error().text().find(token), std::string::npos);
  }
}

TEST(AccessTest, ATokenThatWasGivenAwayIsGoodForWhatItSays) {
  Tokens tokens([](std::string_view) { return Result<void>(); });
  const auto made = tokens.make({.role = Role::operator_,
                                 .queues = {"research"},
                                 .user = "root",
                                 .created = now,
                                 .expires = now + Duration::seconds(60)});
  ASSERT_TRUE(made.has_value()) << made.error().text();
  const Access access(token, owner, &tokens);
  const net::Request request = remote("Bearer " + made->secret);
  const auto who = access.who(request, now + Duration::seconds(59));
  ASSERT_TRUE(who.has_value());
  EXPECT_EQ(who->name, "root");
  EXPECT_EQ(who->role, Role::operator_);  // Not what the user himself would be.
  EXPECT_EQ(who->token, made->token.id);
  EXPECT_TRUE(who->sees("research/vision"));
  EXPECT_FALSE(who->sees("default"));
  const auto late = access.who(request, now + Duration::seconds(60));
  ASSERT_FALSE(late.has_value());
  EXPECT_NE(late.error().what.find("has expired"), std::string::npos);
  ASSERT_TRUE(tokens.revoke(made->token.id).has_value());
  EXPECT_FALSE(access.who(request, now).has_value());
}

TEST(AccessTest, AQueueIsWithinItselfAndThoseAboveIt) {
  EXPECT_TRUE(is_within("a", "a"));
  EXPECT_TRUE(is_within("a/b/c", "a"));
  EXPECT_TRUE(is_within("a/b/c", "a/b"));
  EXPECT_FALSE(is_within("ab", "a"));
  EXPECT_FALSE(is_within("a", "a/b"));
  EXPECT_FALSE(is_within("b/a", "a"));
}

TEST(AccessTest, NobodyOwnsWhatBelongsToNobody) {
  EXPECT_FALSE(User{.token = "1"}.owns(""));
  EXPECT_EQ(User{.token = "1"}.who(), "token 1");
}

TEST(AccessTest, WhoHasNoNameIsCalledByNumber) { EXPECT_EQ(user_name(987'654), "uid 987654"); }

}  // namespace tutti::access_test
