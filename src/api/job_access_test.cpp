/// Who may do what: every route that there is, for every role, with every kind of job.
#include "api/job_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "api/test_routes.h"
#include "format/json.h"

namespace tutti::job_access_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// By role, from anybody to administrators; all but the latter are bound to the queue "default".
using Statuses = std::array<int, 5>;

constexpr Statuses all{200, 200, 200, 200, 200};
constexpr Statuses seen{401, 200, 200, 200, 200};
constexpr Statuses not_there{401, 404, 404, 404, 200};
constexpr Statuses administrators{401, 403, 403, 403, 200};

struct Row {
  std::string route;
  Statuses own;       ///< ana's job, in that queue; or where the route is about no job.
  Statuses other;     ///< bob's, in that queue.
  Statuses outside;   ///< ana's, in another queue.
  std::string query;  ///< Or a body.
};

const std::vector<Row>& rows() {
  constexpr Statuses none{};
  constexpr Statuses own_changed{401, 403, 200, 200, 200};
  constexpr Statuses other_changed{401, 403, 403, 200, 200};
  constexpr Statuses outside_changed{401, 403, 404, 404, 200};
  static const std::vector<Row> table{
      {"GET /api/v1/jobs", seen, none, none, ""},
      {"POST /api/v1/jobs",
       {401, 403, 201, 201, 201},
       none,
       none,
       R"({"job": {"name": "j", "held": true, "command": ["true"]}})"},
      {"POST /api/v1/jobs:batch", own_changed, none, none, "{}"},
      {"GET /api/v1/jobs/{}", seen, seen, not_there, ""},
      {"GET /api/v1/jobs/{}/explanation", seen, seen, not_there, ""},
      {"GET /api/v1/jobs/{}/output", seen, administrators, not_there, ""},
      {"POST /api/v1/jobs/{}:cancel", own_changed, other_changed, outside_changed, ""},
      {"POST /api/v1/jobs/{}:hold", own_changed, other_changed, outside_changed, ""},
      {"POST /api/v1/jobs/{}:release", own_changed, other_changed, outside_changed, ""},
      // Nobody can sit at these jobs; whoever may hears that.
      {"GET /api/v1/jobs/{}/tasks/{}:attach",
       {401, 403, 409, 409, 409},
       {401, 403, 403, 403, 409},
       {401, 403, 404, 404, 409},
       ""},
      {"GET /api/v1/nodes", seen, none, none, ""},
      {"POST /api/v1/nodes/{}:cordon", administrators, none, none, ""},
      {"POST /api/v1/nodes/{}:uncordon", administrators, none, none, ""},
      {"POST /api/v1/nodes/{}:drain", administrators, none, none, ""},
      {"POST /api/v1/whatif", seen, none, none, "{}"},
      {"GET /api/v1/queues", seen, none, none, ""},
      {"GET /api/v1/queues/{}", seen, none, none, ""},
      {"PUT /api/v1/queues/{}", {401, 403, 403, 200, 200}, none, none, "{}"},
      {"GET /api/v1/events", seen, none, none, "?follow=false"},
      {"GET /api/v1/tokens", administrators, none, none, ""},
      {"POST /api/v1/tokens", {401, 403, 403, 403, 201}, none, none, R"({"role": "viewer"})"},
      {"DELETE /api/v1/tokens/{}", {401, 403, 403, 403, 404}, none, none, ""},
      {"GET /api/v1/audit", administrators, none, none, ""},
      {"GET /api/v1/usage", seen, none, none, ""},
      {"GET /api/v1/server", {401, 403, 403, 200, 200}, none, none, ""},
      {"GET /metrics", {401, 403, 403, 200, 200}, none, none, ""},
      {"GET /healthz", all, none, none, ""},
      {"GET /readyz", all, none, none, ""},
      {"GET /api/v1/openapi.json", all, none, none, ""},
  };
  return table;
}

class JobAccessTest : public test::RoutesTest {
 protected:
  JobAccessTest() { take({QueueSet{{.name = "secret"}}}); }

  /// "3": a job that waits until it is released.
  std::string held_job(const std::string& user, const std::string& queue) {
    user_ = {.name = "root", .role = Role::admin};
    const net::Response made =
        submit(R"(, "held": true, "user": ")" + user + R"(", "queue": ")" + queue + "\"");
    EXPECT_EQ(made.status, 201) << made.body;
    return std::string(parse_json(made.body)->find("id")->text_value());
  }
  void as(Role role, std::string name = "ana") {
    user_ = {.name = std::move(name), .role = role};
    if (role != Role::admin) user_.queues = {"default"};
  }
  int status_of(const Row& row, const std::string& job) {
    const std::size_t blank = row.route.find(' ');
    const std::string method = row.route.substr(0, blank);
    std::string target = row.route.substr(blank + 1);
    std::string part = job;
    if (target.find("/nodes/") != target.npos) part = "n0";
    if (target.find("/queues/") != target.npos) part = "default";
    for (bool first = true; target.find("{}") != target.npos; first = false) {
      target.replace(target.find("{}"), 2, first ? part : "0");
    }
    if (method == "GET") return ask(method, target + row.query).status;
    return ask(method, target, row.query).status;
  }
  void check(const Row& row, const Statuses& expected, const std::string& user,
             const std::string& queue) {
    for (std::size_t role = 0; role < expected.size(); ++role) {
      if (expected[role] == 0) continue;
      const std::string job = held_job(user, queue);
      as(static_cast<Role>(role));
      EXPECT_EQ(status_of(row, job), expected[role]) << row.route << " by " << to_text(user_.role)
                                                     << ", of a job of " << user << " in " << queue;
    }
  }
};

TEST_F(JobAccessTest, EachRouteIsForWhomItShouldBe) {
  for (const Row& row : rows()) {
    check(row, row.own, "ana", "default");
    check(row, row.other, "bob", "default");
    check(row, row.outside, "ana", "secret");
  }
}

// A new route needs a row above: who may is decided, not forgotten.
TEST_F(JobAccessTest, NoRouteIsLeftOut) {
  std::vector<std::string> known;
  for (const Row& row : rows()) known.push_back(row.route);
  EXPECT_THAT(server_.router().names(), testing::UnorderedElementsAreArray(known));
  for (const Row& row : rows()) {
    const bool about_a_job = row.route.find("/jobs/{}") != row.route.npos;
    EXPECT_EQ(about_a_job, row.other[0] != 0) << row.route;
    EXPECT_EQ(about_a_job, row.outside[0] != 0) << row.route;
  }
}

TEST_F(JobAccessTest, WhoIsBoundToNoQueueMayMore) {
  user_ = {.name = "ana", .role = Role::operator_};
  EXPECT_EQ(ask("POST", "/api/v1/nodes/n0:cordon").status, 200);
  user_.role = Role::viewer;
  EXPECT_EQ(ask("GET", "/metrics").status, 200);
}

TEST_F(JobAccessTest, ListsAndEventsHaveWhatIsInOnesQueues) {
  held_job("bob", "default");
  held_job("ana", "secret");
  as(Role::operator_);
  EXPECT_EQ(ask("GET", "/api/v1/jobs?fields=id").body, R"({"jobs":[{"id":"1"}],"next":null})");
  EXPECT_EQ(ask("GET", "/api/v1/jobs?fields=id&queue=secret").body, R"({"jobs":[],"next":null})");
  const std::string events = ask("GET", "/api/v1/events?from=oldest&follow=false").body;
  EXPECT_THAT(events, AllOf(HasSubstr(R"("queue":"default")"), HasSubstr(R"("node":"n0")"),
                            Not(HasSubstr(R"("queue":"secret")"))));
  EXPECT_EQ(ask("GET", "/api/v1/events?job=2&follow=false").status, 404);
  as(Role::admin);
  EXPECT_THAT(ask("GET", "/api/v1/events?from=oldest&follow=false").body,
              HasSubstr(R"("queue":"secret")"));
}

TEST_F(JobAccessTest, JobsGoToOnesOwnQueuesOnly) {
  as(Role::user);
  EXPECT_EQ(submit(R"(, "queue": "secret")").status, 403);
  // Whether there is such a queue is none of his business.
  EXPECT_EQ(submit(R"(, "queue": "nosuch")").status, 403);
  EXPECT_EQ(submit(R"(, "user": "bob")").status, 403);
  user_ = {.role = Role::user, .token = "5f3a9c1e"};
  const net::Response nobody = submit();
  EXPECT_EQ(nobody.status, 403);
  EXPECT_THAT(nobody.body, HasSubstr("token 5f3a9c1e names no user of this machine"));
}

TEST_F(JobAccessTest, NobodyWaitsForWhatIsNotThereForHim) {
  const std::string job = held_job("bob", "secret");
  as(Role::user);
  const net::Response hidden = submit(R"(, "after": [")" + job + R"("])");
  const net::Response unknown = submit(R"(, "after": ["99"])");
  EXPECT_EQ(hidden.status, 404) << hidden.body;
  EXPECT_EQ(unknown.status, 404) << unknown.body;
  EXPECT_THAT(hidden.body, HasSubstr("is to wait for job 1, which is not known"));
  EXPECT_THAT(unknown.body, HasSubstr("is to wait for job 99, which is not known"));
}

TEST_F(JobAccessTest, ExplanationsDoNotNameWhatIsNotThere) {
  as(Role::admin);
  ASSERT_EQ(ask("POST", "/api/v1/jobs",
                R"({"job": {"name": "hush", "gpus": 8, "user": "bob", "queue": "secret",
                            "command": ["true"]}})")
                .status,
            201);
  as(Role::user);
  ASSERT_EQ(submit().status, 201);
  const std::string text = ask("GET", "/api/v1/jobs/2/explanation").body;
  EXPECT_THAT(text, AllOf(HasSubstr("a task of another queue on n0 ends"), Not(HasSubstr("hush")),
                          Not(HasSubstr("bob"))));
  as(Role::admin);
  EXPECT_THAT(ask("GET", "/api/v1/jobs/2/explanation").body, HasSubstr("task hush/0 on n0 ends"));
}

TEST_F(JobAccessTest, WhatOnesProgramIsCalledIsNobodyElsesBusiness) {
  as(Role::user);
  ASSERT_EQ(submit().status, 201);
  take({TaskRefused{{JobId(1), 0}, 1, "no /data/ana/secret.sh"}});
  EXPECT_THAT(ask("GET", "/api/v1/jobs/1").body, HasSubstr("secret.sh"));
  as(Role::operator_, "bob");
  for (const char* target : {"/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/jobs/1/explanation",
                             "/api/v1/events?from=oldest&follow=false"}) {
    const net::Response answer = ask("GET", target);
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, Not(HasSubstr("secret.sh"))) << target;
  }
  EXPECT_THAT(ask("GET", "/api/v1/jobs/1").body, HasSubstr("could not be started"));
}

}  // namespace tutti::job_access_test
