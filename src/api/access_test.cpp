#include "api/access.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tutti::access_test {

constexpr uid_t owner = 1234;
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
  EXPECT_EQ(access.who(local(0))->role, Role::admin);
  EXPECT_EQ(access.who(local(owner))->role, Role::admin);
  const auto other = access.who(local(4321));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->role, Role::user);
  EXPECT_EQ(other->uid, 4321U);
  EXPECT_EQ(access.who(local(0))->name, "root");
}

TEST(AccessTest, OverTcpATokenDoes) {
  const Access access(token, owner);
  EXPECT_EQ(access.who(remote("Bearer " + token))->role, Role::admin);
  for (const std::string& wrong :
       {std::string(), token, "Basic " + token, std::string("Bearer "), "Bearer " + token + "0",
        "Bearer " + token.substr(1), "Bearer x" + token.substr(1)}) {
    const auto who = access.who(remote(wrong));
    ASSERT_FALSE(who.has_value()) << wrong;
    EXPECT_EQ(who.error().code, Code::denied);
    EXPECT_EQ(who.error().text().find(token), std::string::npos);
  }
}

TEST(AccessTest, WhoHasNoNameIsCalledByNumber) { EXPECT_EQ(user_name(987'654), "uid 987654"); }

}  // namespace tutti::access_test
