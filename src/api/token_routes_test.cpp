/// Tokens as a client meets them.
#include "api/token_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/test_server.h"
#include "format/json.h"

namespace tutti::token_routes_test {

using testing::HasSubstr;
using testing::Not;

class TokenRoutesTest : public test::ServerTest {
 protected:
  net::Response ask(std::string method, const std::string& target, std::string body = {},
                    const std::string& token = "token") {
    return send({.method = std::move(method),
                 .url = tcp_.with_target(target),
                 .headers = {{"Authorization", "Bearer " + token}},
                 .body = std::move(body)});
  }
  Value made(const std::string& body) {
    const net::Response answer = ask("POST", "/api/v1/tokens", body);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return parse_json(answer.body).value();
  }
};

TEST_F(TokenRoutesTest, ATokenIsShownOnceAndGoodUntilItIsRevoked) {
  const Value token = made(R"({"role": "viewer", "queues": ["a"], "expires": "1h"})");
  const std::string secret(token.find("token")->text_value());
  const std::string id(token.find("id")->text_value());
  EXPECT_EQ(token.find("expires")->text_value(), "1970-01-01T01:00:00.000001Z");
  EXPECT_EQ(ask("GET", "/api/v1/jobs", {}, secret).status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/tokens", {}, secret).status, 403);
  const std::string list = ask("GET", "/api/v1/tokens").body;
  EXPECT_THAT(list, HasSubstr(id));
  EXPECT_THAT(list, Not(HasSubstr(secret)));
  EXPECT_THAT(list, Not(HasSubstr("hash")));
  clock_ = clock_ + Duration::seconds(3600);
  const net::Response late = ask("GET", "/api/v1/jobs", {}, secret);
  EXPECT_EQ(late.status, 401);
  EXPECT_THAT(late.body, HasSubstr("has expired"));
  EXPECT_EQ(ask("DELETE", "/api/v1/tokens/" + id).status, 200);
  EXPECT_EQ(ask("DELETE", "/api/v1/tokens/" + id).status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/tokens").body, R"({"tokens":[]})");
}

TEST_F(TokenRoutesTest, WhoFollowsOutputIsLetGoWhenItIsRevoked) {
  const Value token = made(R"({"role": "user", "user": "root"})");
  const std::string secret(token.find("token")->text_value());
  ASSERT_EQ(
      ask("POST", "/api/v1/jobs", R"({"job": {"name": "j", "command": ["true"]}})", secret).status,
      201);
  const net::Timer soon = loop_.after(Duration::milliseconds(50), [&] {
    EXPECT_TRUE(tokens_.revoke(std::string(token.find("id")->text_value())).has_value());
  });
  // There is no node for the job, so that it does not end.
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1/output?follow=true", {}, secret).status, 200);
}

TEST_F(TokenRoutesTest, SomeLastForEverAndAllForNinetyDays) {
  EXPECT_TRUE(made(R"({"role": "admin", "expires": "never"})").find("expires")->is(Kind::null));
  EXPECT_EQ(made(R"({"role": "admin"})").find("expires")->text_value(),
            "1970-04-01T00:00:00.000001Z");
}

TEST_F(TokenRoutesTest, WhatIsWrongIsRefused) {
  for (const char* body :
       {"", "[]", R"({"role": "king"})", R"({"role": "anybody"})", R"({"queues": ["a"]})",
        R"({"role": "user", "expires": "0s"})", R"({"role": "user", "expires": "100000d"})",
        R"({"role": "user", "queues": [""]})", R"({"role": "user", "quees": ["a"]})"}) {
    EXPECT_EQ(ask("POST", "/api/v1/tokens", body).status, 400) << body;
  }
  EXPECT_EQ(ask("POST", "/api/v1/tokens", R"({"role": "user", "user": "no body"})").status, 404);
}

}  // namespace tutti::token_routes_test
