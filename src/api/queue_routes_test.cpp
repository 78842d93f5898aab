/// Queues as a client meets them.
#include "api/queue_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/test_routes.h"

namespace tutti::queue_routes_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class QueueRoutesTest : public test::RoutesTest {
 protected:
  QueueRoutesTest() { as("root", Role::admin); }
  net::Response put(const std::string& name, const std::string& body,
                    const std::string& query = "") {
    return ask("PUT", "/api/v1/queues/" + name + query, body);
  }
  void bound(Role role, const std::string& queue) {
    user_ = {.name = "ana", .role = role, .queues = {queue}};
  }
  /// A job of two cards.
  net::Response submit_to(const std::string& queue) {
    return ask(
        "POST", "/api/v1/jobs",
        R"({"job": {"name": "j", "gpus": 2, "queue": ")" + queue + R"(", "command": ["true"]}})");
  }
};

TEST_F(QueueRoutesTest, ShowWhatTheyMayUseAndUse) {
  EXPECT_EQ(put("a", R"({"limit": {"gpu": 8, "cpu": 1.5, "memory": "64Gi"}, "weight": 2})").status,
            201);
  EXPECT_EQ(put("a%2Fb", R"({"limit": {"gpu": 2}})").status, 201);
  ASSERT_EQ(submit_to("a/b").status, 201);
  ASSERT_EQ(submit_to("a/b").status, 201);  // Above its limit: it waits.
  EXPECT_THAT(ask("GET", "/api/v1/queues/a").body,
              AllOf(HasSubstr(R"("name":"a","weight":2,)"),
                    HasSubstr(R"("limit":{"cpu":"1500m","gpu":"8","memory":"64Gi"})"),
                    HasSubstr(R"("gpu":"2"},"running":1,"pending":1})")));
  EXPECT_THAT(ask("GET", "/api/v1/queues").body,
              AllOf(HasSubstr(R"({"name":"a/b","weight":1,"limit":{"gpu":"2"})"),
                    HasSubstr(R"({"name":"default","weight":1,"limit":{})")));
  EXPECT_EQ(put("a%2Fb", "{}").status, 200);  // What is not named is not limited any more.
  EXPECT_THAT(ask("GET", "/api/v1/queues/a%2Fb").body,
              HasSubstr(R"("gpu":"4"},"running":2,"pending":0})"));
}

TEST_F(QueueRoutesTest, ADryRunSaysWhatWouldChangeForWhom) {
  ASSERT_EQ(put("a", R"({"limit": {"gpu": 2}})").status, 201);
  for (int job = 0; job < 3; ++job) ASSERT_EQ(submit_to("a").status, 201);
  EXPECT_EQ(put("a", R"({"limit": {"gpu": 4}})", "?dry_run=true").body,
            R"({"dry_run":true,"starting":1,"would_start":[{"id":"2","name":"j","user":"root"}],)"
            R"("above":[]})");
  EXPECT_EQ(put("a", R"({"limit": {"gpu": 1}})", "?dry_run=true").body,
            R"({"dry_run":true,"starting":0,"would_start":[],)"
            R"("above":[{"resource":"gpu","used":"2","limit":"1"}]})");
  EXPECT_THAT(ask("GET", "/api/v1/queues/a").body, HasSubstr(R"("limit":{"gpu":"2"})"));
  EXPECT_EQ(put("new", "{}", "?dry_run=true").status, 200);
  EXPECT_THAT(audit_.read(audit_.end(), 1)->lines.front(), HasSubstr(R"("dry_run":true)"));
  EXPECT_EQ(ask("GET", "/api/v1/queues/new").status, 404);
}

TEST_F(QueueRoutesTest, OperatorsChangeTheirsAndMakeThoseBelow) {
  ASSERT_EQ(put("a", "{}").status, 201);
  ASSERT_EQ(put("b", "{}").status, 201);
  bound(Role::operator_, "a");
  EXPECT_EQ(put("a", R"({"weight": 3})").status, 200);
  EXPECT_EQ(put("a%2Fc", "{}").status, 201);
  EXPECT_EQ(put("b", "{}").status, 403);
  EXPECT_EQ(put("ab", "{}").status, 403);
  EXPECT_EQ(ask("GET", "/api/v1/queues/b").status, 404);
  EXPECT_THAT(ask("GET", "/api/v1/queues").body,
              AllOf(HasSubstr(R"("name":"a/c")"), Not(HasSubstr(R"("name":"b")"))));
  user_.queues.clear();  // An operator everywhere.
  EXPECT_EQ(put("b", "{}").status, 200);
  EXPECT_EQ(put("new", "{}").status, 403);
  user_.role = Role::user;
  EXPECT_EQ(put("a", "{}").status, 403);
}

TEST_F(QueueRoutesTest, ThereAreSoManyAtMost) {
  std::vector<Event> events;
  for (int at = 1; at < 10'000; ++at) events.emplace_back(QueueSet{{.name = std::to_string(at)}});
  take(std::move(events));
  EXPECT_EQ(put("another", "{}").status, 422);
  EXPECT_EQ(put("7", R"({"weight": 2})").status, 200);
}

TEST_F(QueueRoutesTest, WhatIsWrongIsRefused) {
  EXPECT_EQ(put("a", R"({"limit": {"gpu": -1}})").status, 400);
  EXPECT_EQ(put("a", R"({"limt": {}})").status, 400);
  EXPECT_EQ(put("a", R"({"weight": 0})").status, 400);
  EXPECT_EQ(put("a", "[").status, 400);
  EXPECT_EQ(put("a", "{}", "?dry_run=x").status, 400);
  EXPECT_EQ(put("a%2F", "{}").status, 400);
  EXPECT_EQ(put("a%1b", "{}").status, 400);
  EXPECT_EQ(put("a%2Fb", "{}").status, 404);  // There is no a.
  const net::Response unknown = put("a", R"({"limit": {"gpus": 1}})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr(R"(did you mean \"gpu\"?)"));
}

}  // namespace tutti::queue_routes_test
