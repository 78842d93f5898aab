/// What a server does around every route: it notes who changes something, and has patience with
/// nobody who asks too often.
#include "api/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "api/rate_limit.h"
#include "api/test_routes.h"
#include "format/json.h"

namespace tutti::server_test {

using testing::HasSubstr;
using testing::Not;

TEST(RateLimitTest, SoManyASecondAndFourSecondsWorthAtOnce) {
  RateLimit rate(10);
  Instant now{1'000'000};
  for (int at = 0; at < 40; ++at) EXPECT_EQ(rate.take("ana", now), Duration()) << at;
  EXPECT_EQ(rate.take("ana", now), Duration::milliseconds(100));
  EXPECT_EQ(rate.take("bob", now), Duration());
  now = now + Duration::milliseconds(250);
  EXPECT_EQ(rate.take("ana", now), Duration());
  EXPECT_EQ(rate.take("ana", now), Duration());
  EXPECT_EQ(rate.take("ana", now), Duration::milliseconds(50));
  now = now + Duration::seconds(3600);  // Who saves does not get more at once.
  for (int at = 0; at < 40; ++at) EXPECT_EQ(rate.take("ana", now), Duration());
  EXPECT_GT(rate.take("ana", now), Duration());
}

TEST(RateLimitTest, ThoseWhoHaveGoneAreForgotten) {
  RateLimit rate(1000);
  for (int at = 0; at < 100'000; ++at) {
    rate.take(std::to_string(at), Instant{at * std::int64_t{1000}});
  }
  EXPECT_LT(rate.remembered(), 2000U);
}

class ServedTest : public test::RoutesTest {
 protected:
  std::vector<Value> lines() {
    std::vector<Value> out;
    const AuditLog::Page page = audit_.read(audit_.end(), 1000).value();
    for (const std::string& line : page.lines) {
      auto value = parse_json(line);
      EXPECT_TRUE(value.has_value()) << line;
      if (value) out.push_back(*std::move(value));
    }
    std::ranges::reverse(out);
    return out;
  }
  static std::string of(const Value& line, std::string_view field) {
    const Value* const value = line.find(field);
    if (value == nullptr) return "-";
    if (value->is(Kind::integer)) return std::to_string(value->integer_value());
    return std::string(value->text_value());
  }
  /// "ana POST /api/v1/jobs 201 1".
  static std::string in_short(const Value& line) {
    std::string out;
    for (const char* field : {"user", "by", "method", "path", "status", "jobs"}) {
      out += (out.empty() ? "" : " ") + of(line, field);
    }
    return out;
  }
};

TEST_F(ServedTest, EveryChangeIsNotedWithWhoMadeIt) {
  user_.token = "5f3a9c1e";
  submit(R"(, "environment": {"TOKEN": "very-secret"})");
  ask("GET", "/api/v1/jobs");
  ask("POST", "/api/v1/jobs/1:hold?x=query-secret");
  ask("POST", "/api/v1/jobs", "{nonsense");
  as("bob");
  user_.uid = 77;
  ask("POST", "/api/v1/jobs/1:cancel");
  ask("POST", "/api/v1/jobs:batch",
      "{\"name\": \"a\", \"command\": [\"true\"]}\nx\n" +
          std::string("{\"name\": \"b\", \"command\": [\"true\"]}"));
  ask("BREW", "/nothing%1b%5b2J");
  ask("GET", "/api/v1/jobs/1/tasks/0:attach");
  as("", Role::anybody);
  ask("POST", "/api/v1/jobs/1:cancel");
  std::vector<std::string> got;
  for (const Value& line : lines()) got.push_back(in_short(line));
  EXPECT_THAT(got, testing::ElementsAre("ana token 5f3a9c1e POST /api/v1/jobs 201 1",
                                        "ana token 5f3a9c1e POST /api/v1/jobs/1:hold 200 -",
                                        "ana token 5f3a9c1e POST /api/v1/jobs 400 -",
                                        "bob uid 77 POST /api/v1/jobs/1:cancel 403 -",
                                        "bob uid 77 POST /api/v1/jobs:batch 200 2-3",
                                        "bob uid 77 BREW /nothing%1b%5b2J 404 -",
                                        "bob uid 77 GET /api/v1/jobs/1/tasks/0:attach 403 -",
                                        "POST /api/v1/jobs/1:cancel 401 -"));
  const AuditLog::Page page = audit_.read(audit_.end(), 1000).value();
  for (const std::string& line : page.lines) {
    EXPECT_THAT(line, Not(HasSubstr("secret")));
    EXPECT_THAT(line, HasSubstr(R"("from":"127.0.0.1")"));
  }
}

TEST_F(ServedTest, TheLogIsReadInPages) {
  for (int job = 0; job < 3; ++job) ASSERT_EQ(submit().status, 201);
  as("root", Role::admin);
  const Value first = parse_json(ask("GET", "/api/v1/audit?limit=2").body).value();
  EXPECT_EQ(first.find("entries")->items().size(), 2U);
  EXPECT_EQ(of(first.find("entries")->items().front(), "jobs"), "3");
  const std::string next(first.find("next")->text_value());
  const Value rest = parse_json(ask("GET", "/api/v1/audit?cursor=" + next).body).value();
  EXPECT_EQ(of(rest.find("entries")->items().front(), "jobs"), "1");
  EXPECT_TRUE(rest.find("next")->is(Kind::null));
  for (const char* query :
       {"limit=0", "limit=1001", "cursor=0", "cursor=x", "cursor=1", "x=1", "cursor=99999999"}) {
    EXPECT_EQ(ask("GET", std::string("/api/v1/audit?") + query).status, 400) << query;
  }
}

// Who has no token could else push everything else out of the log.
TEST_F(ServedTest, StrangersFillNoLog) {
  as("", Role::anybody);
  for (int at = 0; at < 50; ++at) EXPECT_EQ(ask("POST", "/api/v1/jobs").status, 401);
  EXPECT_LE(lines().size(), 25U);
}

// The same of a user whom it is refused; what he did change is there.
TEST_F(ServedTest, RefusalsFillNoLog) {
  ASSERT_EQ(submit().status, 201);
  as("bob");
  for (int at = 0; at < 200; ++at) {
    EXPECT_EQ(ask("POST", "/api/v1/jobs/1:cancel").status, 403);
  }
  for (int at = 0; at < 60; ++at) EXPECT_EQ(submit().status, 201);
  std::int64_t left_out = 0;
  std::int64_t made = 0;
  const std::vector<Value> noted = lines();
  for (const Value& line : noted) {
    const Value* const count = line.find("left_out");
    if (count != nullptr) left_out += count->integer_value();
    made += line.find("jobs") != nullptr ? 1 : 0;
  }
  EXPECT_EQ(made, 61);
  EXPECT_GT(left_out, 0);
  EXPECT_EQ(std::ssize(noted) + left_out, 1 + 200 + 60);
}

TEST_F(ServedTest, WhoAsksTooOftenHasToWait) {
  std::vector<int> got;
  Server server(loop_, {.who = [this](const net::Request&) -> Result<User> { return user_; },
                        .clock = [] { return Instant{1}; },
                        .requests_per_second = 1});
  server.router().add("GET", "/x", Role::viewer, [](Call call) { call.send(200, "{}"); });
  const net::Url url = server.http().listen({.address = "127.0.0.1:0"}).value();
  net::Response last;
  for (int at = 0; at < 5; ++at) got.push_back((last = ServerTest::ask(url, "/x")).status);
  EXPECT_THAT(got, testing::ElementsAre(200, 200, 200, 200, 429));
  EXPECT_EQ(last.headers.find("Retry-After"), "1");
  EXPECT_THAT(last.body, HasSubstr("ana asks more than 1 times a second"));
  as("root", Role::admin);
  for (int at = 0; at < 9; ++at) EXPECT_EQ(ServerTest::ask(url, "/x").status, 200);
}

}  // namespace tutti::server_test
