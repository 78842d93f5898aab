/// Routes as a client meets them: through a real server, as a user whom the test chooses.
#include "api/job_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/fate.h"
#include "api/job_page.h"
#include "api/test_routes.h"
#include "format/json.h"

namespace tutti::job_routes_test {

using testing::HasSubstr;

using JobRoutesTest = test::RoutesTest;

TEST_F(JobRoutesTest, WhatIsSubmittedIsSeenAtOnce) {
  const net::Response answer = submit(R"(, "environment": {"TOKEN": "x"})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.body, R"({"id":"1","ids":["1"]})");
  EXPECT_EQ(kept_["1"], std::string("TOKEN=x\0", 8));
  EXPECT_EQ(jobs_.find(JobId(1))->spec->gangs[0]->groups[0].roles[0].launch.environment, "1");
  EXPECT_THAT(ask("GET", "/api/v1/jobs/1").body, HasSubstr(R"("user":"ana")"));
}

TEST_F(JobRoutesTest, ADryRunSaysWhatWouldComeAndChangesNothing) {
  const auto would = [this](const std::string& text) {
    return ask("POST", "/api/v1/jobs?dry_run=true", text);
  };
  const std::string two =
      R"({"jobs": [{"name": "a", "gpus": 8, "command": ["true"], "environment": {"A": "x"}},)"
      R"( {"name": "b", "gpus": 8, "command": ["true"]}]})";
  const net::Response answer = would(two);
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body,
              testing::StartsWith(R"({"dry_run":true,"jobs":[{"name":"a","starts":true,)"
                                  R"("nodes":["n0"]},{"name":"b","starts":false,"text":"waits)"));
  EXPECT_TRUE(kept_.empty());
  EXPECT_EQ(would(R"({"job": {"name": "j", "gpus": "x", "command": ["true"]}})").status, 400);
  EXPECT_EQ(would(R"({"job": {"name": "j", "queue": "q", "command": ["true"]}})").status, 404);
  EXPECT_EQ(ask("POST", "/api/v1/jobs?dry-run=true", two).status, 400);  // Or it would be one.
  EXPECT_EQ(ask("POST", "/api/v1/jobs?dry_run=yes", two).status, 400);
  EXPECT_THAT(ask("GET", "/api/v1/jobs").body, HasSubstr(R"("jobs":[])"));
  EXPECT_EQ(submit().body, R"({"id":"1","ids":["1"]})");
}

/// Each search for a reason keeps the engine from its work.
TEST_F(JobRoutesTest, ADryRunOfManyJobsExplainsTheFirst) {
  const std::string body =
      ask("POST", "/api/v1/jobs?dry_run=true",
          R"({"job": {"name": "j", "gpus": 8, "copies": 20, "command": ["true"]}})")
          .body;
  std::size_t short_ones = 0;
  for (std::size_t at = 0; (at = body.find("of the first 5 only", at)) != body.npos; ++at) {
    ++short_ones;
  }
  EXPECT_EQ(short_ones, 20 - 1 - explained_most) << body;
}

TEST_F(JobRoutesTest, WhatIsAboveTheLimitOfItsQueueIsRefused) {
  as("root", Role::admin);
  ASSERT_EQ(ask("PUT", "/api/v1/queues/small", R"({"limit": {"gpu": 4}})").status, 201);
  as("ana");
  const std::string large = R"({"name": "a", "gpus": 8, "queue": "small", "command": ["true"]})";
  const std::string fine = R"({"name": "b", "gpus": 4, "queue": "small", "command": ["true"]})";
  const net::Response answer = ask("POST", "/api/v1/jobs", R"({"job": )" + large + "}");
  EXPECT_EQ(answer.status, 422) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("needs 8 gpu at once; the limit of queue"));
  EXPECT_EQ(ask("POST", "/api/v1/jobs?dry_run=true", R"({"job": )" + large + "}").status, 422);
  const std::string batch = ask("POST", "/api/v1/jobs:batch", large + "\n" + fine).body;
  EXPECT_THAT(batch, HasSubstr(R"({"line":1,"error":{"code":"limit",)"));
  EXPECT_THAT(batch, HasSubstr(R"({"line":2,"id":)"));
  EXPECT_EQ(jobs_.size(), 1U);
}

TEST_F(JobRoutesTest, NobodyTouchesTheJobsOfOthers) {
  ASSERT_EQ(submit().status, 201);
  as("bob");
  for (const char* verb : {"cancel", "hold", "release"}) {
    EXPECT_EQ(ask("POST", std::string("/api/v1/jobs/1:") + verb).status, 403) << verb;
  }
  const net::Response output = ask("GET", "/api/v1/jobs/1/output");
  EXPECT_EQ(output.status, 403);
  EXPECT_THAT(output.body, testing::Not(HasSubstr("secret")));
  EXPECT_EQ(submit(R"(, "user": "ana")").status, 403);
  EXPECT_EQ(ask("POST", "/api/v1/nodes/n0:cordon").status, 403);
  EXPECT_NE(jobs_.find(JobId(1))->state, JobState::cancelled);
  EXPECT_EQ(jobs_.find(JobId(2)), nullptr);
}

TEST_F(JobRoutesTest, AnAdministratorMay) {
  ASSERT_EQ(submit().status, 201);
  as("root", Role::admin);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1/output").body, "secret\n");
  EXPECT_EQ(ask("POST", "/api/v1/nodes/n0:cordon").status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/nodes/n9:cordon").status, 404);
  EXPECT_THAT(ask("GET", "/api/v1/nodes").body, HasSubstr(R"("cordoned":true)"));
  EXPECT_EQ(submit(R"(, "user": "ana")").status, 201);
  EXPECT_EQ(ask("POST", "/api/v1/jobs/2:cancel").status, 200);
  EXPECT_EQ(ask("POST", "/api/v1/jobs/2:cancel").status, 409);  // It is over.
}

TEST_F(JobRoutesTest, AFileOfTheJobsOwnIsReadForItsUser) {
  ASSERT_EQ(submit(R"(, "output": "/data/ana/out")").status, 201);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1/output").body, "all of /data/ana/out");
  as("bob");
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1/output").status, 403);
  ASSERT_EQ(submit(R"(, "output": "/data/ana/out")").status, 201);
  const net::Response other = ask("GET", "/api/v1/jobs/2/output");
  EXPECT_EQ(other.status, 403);
  EXPECT_THAT(other.body, HasSubstr("another one's file"));
}

TEST_F(JobRoutesTest, ListsArePagedAndFiltered) {
  for (int job = 0; job < 3; ++job) ASSERT_EQ(submit().status, 201);
  const net::Response first = ask("GET", "/api/v1/jobs?limit=2");
  EXPECT_THAT(first.body, HasSubstr(R"("id":"3")"));
  EXPECT_THAT(first.body, HasSubstr(R"("next":"2")"));
  const net::Response rest = ask("GET", "/api/v1/jobs?limit=2&cursor=2");
  EXPECT_THAT(rest.body, HasSubstr(R"("id":"1")"));
  EXPECT_THAT(rest.body, HasSubstr(R"("next":null)"));
  EXPECT_EQ(ask("GET", "/api/v1/jobs?user=bob").body, R"({"jobs":[],"next":null})");
  for (const char* query : {"limit=0", "limit=1001", "limit=x", "cursor=x", "state=odd", "x=1"}) {
    EXPECT_EQ(ask("GET", std::string("/api/v1/jobs?") + query).status, 400) << query;
  }
}

TEST_F(JobRoutesTest, SeveralStatesNamesAndFields) {
  ASSERT_EQ(submit().status, 201);
  ASSERT_EQ(submit(R"(, "held": true)").status, 201);
  ASSERT_EQ(submit().status, 201);
  const auto get = [&](const std::string& query) {
    return ask("GET", "/api/v1/jobs?fields=id,state&" + query).body;
  };
  EXPECT_EQ(get("state=held,pending"),
            R"({"jobs":[{"id":"3","state":"pending"},{"id":"2","state":"held"}],"next":null})");
  EXPECT_EQ(get("state=held,running&limit=1"),
            R"({"jobs":[{"id":"2","state":"held"}],"next":"2"})");
  EXPECT_THAT(get("name=j&user=ana&queue=default"), HasSubstr(R"("id":"3")"));
  EXPECT_EQ(get("name=other*"), R"({"jobs":[],"next":null})");
  EXPECT_EQ(ask("GET", "/api/v1/jobs/2?fields=name,id").body, R"({"id":"2","name":"j"})");
  for (const char* query : {"?fields=idd", "?fields=", "?fields=id,"}) {
    EXPECT_EQ(ask("GET", std::string("/api/v1/jobs") + query).status, 400) << query;
    EXPECT_EQ(ask("GET", std::string("/api/v1/jobs/1") + query).status, 400) << query;
  }
  EXPECT_THAT(ask("GET", "/api/v1/jobs?fields=stat").body, HasSubstr(R"(did you mean \"state\"?)"));
}

// Nobody waits while somebody looks for one among very many: a short page says how to go on.
TEST(JobPageTest, LooksAtSoManyAtATime) {
  constexpr std::uint64_t count = 50'001;
  JobTable table;
  JobSpec spec{.name = "odd"};
  const auto odd = std::make_shared<const JobSpec>(spec);
  spec.name = "usual";
  const auto usual = std::make_shared<const JobSpec>(spec);
  for (std::uint64_t id = 1; id <= count; ++id) {
    const JobSubmitted event{JobId(id), id == 1 ? odd : usual};
    table.apply({.row = id, .at = {}, .event = std::make_shared<const Event>(event), .moves = {}});
  }
  JobPage page;
  page.name = "odd";
  page.fields = job_fields_of("id").value();
  const User reader{.name = "ana", .role = Role::viewer};
  EXPECT_EQ(jobs_json(table, page, reader), R"({"jobs":[],"next":"2"})");
  page.below = JobId(2);
  EXPECT_EQ(jobs_json(table, page, reader), R"({"jobs":[{"id":"1"}],"next":null})");
}

TEST(LooksLikeTest, StarsStandForAnyLetters) {
  for (const char* pattern : {"train-7", "train-*", "*-7", "*", "t*n*7", "*rain*", "train-7*"}) {
    EXPECT_TRUE(looks_like("train-7", pattern)) << pattern;
  }
  for (const char* pattern : {"", "train", "rain*", "*rain", "t*8", "*n-*n-*", "train-7*7"}) {
    EXPECT_FALSE(looks_like("train-7", pattern)) << pattern;
  }
}

TEST_F(JobRoutesTest, WhatIsKnownAlreadyIsNotSentAgain) {
  ASSERT_EQ(submit(R"(, "held": true)").status, 201);  // So that nothing changes by itself.
  for (const char* target : {"/api/v1/jobs", "/api/v1/jobs/1", "/api/v1/jobs?fields=state"}) {
    const net::Response first = ask("GET", target);
    const std::string etag(first.headers.find("ETag").value_or(""));
    ASSERT_FALSE(etag.empty());
    for (const std::string& known : {etag, "\"x\", W/" + etag, std::string("*")}) {
      const net::Response again = ask("GET", target, {}, {{"If-None-Match", known}});
      EXPECT_EQ(again.status, 304);
      EXPECT_EQ(again.body, "");
      EXPECT_EQ(again.headers.find("ETag"), etag);
    }
    EXPECT_EQ(ask("GET", target, {}, {{"If-None-Match", "\"x\""}}).body, first.body);
  }
  const std::string before(ask("GET", "/api/v1/jobs/1").headers.find("ETag").value());
  ASSERT_EQ(ask("POST", "/api/v1/jobs/1:cancel").status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1", {}, {{"If-None-Match", before}}).status, 200);
}

TEST_F(JobRoutesTest, AChangeOfWhatOneHasNotSeenIsRefused) {
  ASSERT_EQ(submit().status, 201);
  ASSERT_EQ(submit().status, 201);
  const std::string etag(ask("GET", "/api/v1/jobs/2").headers.find("ETag").value());
  const auto change = [&](const std::string& verb, const std::string& seen) {
    return ask("POST", "/api/v1/jobs/2:" + verb, {}, {{"If-Match", seen}}).status;
  };
  EXPECT_EQ(change("hold", "\"x\""), 412);
  EXPECT_EQ(jobs_.find(JobId(2))->state, JobState::pending);
  EXPECT_EQ(change("hold", "\"x\", " + etag), 200);
  EXPECT_EQ(change("release", etag), 412);
  EXPECT_EQ(change("release", "*"), 200);
  EXPECT_EQ(change("cancel", etag), 200);  // It is again what it was.
}

// Two who have seen the same change it at the same moment: one of them does.
TEST_F(JobRoutesTest, OfTwoChangesAtOnceOneIsRefused) {
  ASSERT_EQ(submit().status, 201);
  ASSERT_EQ(submit().status, 201);
  const std::string etag(ask("GET", "/api/v1/jobs/2").headers.find("ETag").value());
  net::HttpClient client(loop_);
  std::vector<int> got;
  std::vector<net::Call> calls;
  for (const char* verb : {"hold", "cancel"}) {
    calls.push_back(client.send({.method = "POST",
                                 .url = tcp_.with_target(std::string("/api/v1/jobs/2:") + verb),
                                 .headers = {{"If-Match", etag}}},
                                [&](const Result<net::Response>& response) {
                                  got.push_back(response ? response->status : 0);
                                  if (got.size() == 2) loop_.stop();
                                }));
  }
  loop_.run();
  EXPECT_THAT(got, testing::UnorderedElementsAre(200, 412));
}

TEST_F(JobRoutesTest, ARequestThatComesAgainMakesNoSecondJob) {
  const std::string body = R"({"jobs": [{"name": "a-[0-1]", "command": ["true"]}]})";
  const auto send = [&](const std::string& text, const char* key) {
    return ask("POST", "/api/v1/jobs", text, {{"Idempotency-Key", key}});
  };
  const net::Response first = send(body, "k1");
  EXPECT_EQ(first.body, R"({"ids":["1","2"]})");
  EXPECT_FALSE(first.headers.find("Idempotent-Replayed").has_value());
  const net::Response again = send(body, "k1");
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.headers.find("Idempotent-Replayed"), "true");
  EXPECT_EQ(send(body + " ", "k1").status, 409);
  EXPECT_EQ(send(body, "k2").body, R"({"ids":["3","4"]})");
  as("bob");  // Keys of others are none of his.
  EXPECT_EQ(send(body, "k1").body, R"({"ids":["5","6"]})");
  for (const char* bad : {"", "a b", "\xff"}) EXPECT_EQ(send(body, bad).status, 400) << bad;
  EXPECT_EQ(send(body, std::string(129, 'k').c_str()).status, 400);
  EXPECT_EQ(send("{", "k3").status, 400);
  EXPECT_EQ(send(body, "k3").status, 201);  // What was refused may be mended.
}

// The answer is lost before there is one, and the client is quick.
TEST_F(JobRoutesTest, ARequestThatComesTwiceAtOnceMakesOneJob) {
  net::HttpClient client(loop_);
  std::vector<std::string> got;
  std::vector<net::Call> calls;
  for (int at = 0; at < 5; ++at) {
    calls.push_back(
        client.send({.method = "POST",
                     .url = tcp_.with_target("/api/v1/jobs"),
                     .headers = {{"Idempotency-Key", "k"}, {"Content-Type", "application/json"}},
                     .body = R"({"job": {"name": "j", "command": ["true"]}})"},
                    [&](const Result<net::Response>& response) {
                      got.push_back(response ? response->body : "none");
                      if (got.size() == 5) loop_.stop();
                    }));
  }
  loop_.run();
  EXPECT_THAT(got, testing::Each(R"({"id":"1","ids":["1"]})"));
  EXPECT_EQ(jobs_.next_id(), JobId(2));
}

TEST_F(JobRoutesTest, ABatchHasALineForEachJob) {
  const std::string body =
      "{\"name\": \"a\", \"command\": [\"true\"]}\n\n"
      "{\"job\": {\"name\": \"b\", \"command\": [\"true\"]}}\r\n"
      "{\"name\": \"c\", \"commnad\": [\"true\"]}\n"
      "{\"name\": \"d\", \"queue\": \"nosuch\", \"command\": [\"true\"]}\n"
      "{\"name\": \"e-[0-1]\", \"command\": [\"true\"]}\n"
      "nonsense\n"
      "{\"name\": \"f\", \"command\": [\"true\"]}";
  const net::Response answer = ask("POST", "/api/v1/jobs:batch", body);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.find("Content-Type"), "application/x-ndjson");
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < answer.body.size();) {
    const std::size_t end = answer.body.find('\n', at);
    lines.push_back(answer.body.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 7U);
  EXPECT_EQ(lines[0], R"({"line":1,"id":"1"})");
  EXPECT_EQ(lines[1], R"({"line":3,"id":"2"})");
  EXPECT_THAT(lines[2], HasSubstr(R"({"line":4,"error":{"code":"invalid")"));
  EXPECT_THAT(lines[2], HasSubstr(R"("where":"4:15")"));
  EXPECT_THAT(lines[3], HasSubstr(R"({"line":5,"error":{"code":"not_found")"));
  EXPECT_THAT(lines[4], HasSubstr("a line of a batch is one job; this one is 2"));
  EXPECT_THAT(lines[5], HasSubstr(R"("where":"7:1")"));
  EXPECT_EQ(lines[6], R"({"line":8,"id":"4"})");  // What was refused had the third.
  EXPECT_EQ(ask("POST", "/api/v1/jobs:batch", "").body, "");
  EXPECT_EQ(ask("POST", "/api/v1/jobs:batch", std::string(250'001, '\n')).status, 422);
}

TEST_F(JobRoutesTest, ALargeBatchIsDoneInParts) {
  std::string body;
  const std::string line = R"({"name": "j", "gpus": 8, "command": ["true"]})";
  for (int job = 0; job < 4'501; ++job) body += line + "\n";
  const net::Headers key{{"Idempotency-Key", "k"}};
  const net::Response answer = ask("POST", "/api/v1/jobs:batch", body, key);
  EXPECT_THAT(answer.body, testing::StartsWith("{\"line\":1,\"id\":\"1\"}\n{\"line\":2,"));
  EXPECT_THAT(answer.body, testing::EndsWith("\n{\"line\":4501,\"id\":\"4501\"}\n"));
  EXPECT_EQ(jobs_.count(JobState::pending), 4'500U);
  // Sent again, it makes no further ones, but for a line that is new.
  EXPECT_EQ(ask("POST", "/api/v1/jobs:batch", body + line, key).body,
            answer.body + "{\"line\":4502,\"id\":\"4502\"}\n");
}

// Its lines are not known yet while the engine has them, so it may not run beside itself.
TEST_F(JobRoutesTest, TheSameBatchTwiceAtOnceIsDoneOnce) {
  std::string body;
  for (int job = 0; job < 300; ++job)
    body += R"({"name": "j", "command": ["true"]})"
            "\n";
  net::HttpClient client(loop_);
  std::vector<int> got;
  std::vector<net::Call> calls;
  for (int at = 0; at < 2; ++at) {
    calls.push_back(client.send({.method = "POST",
                                 .url = tcp_.with_target("/api/v1/jobs:batch"),
                                 .headers = {{"Idempotency-Key", "k"}},
                                 .body = body},
                                [&](const Result<net::Response>& response) {
                                  got.push_back(response ? response->status : 0);
                                  if (got.size() == 2) loop_.stop();
                                }));
  }
  loop_.run();
  EXPECT_THAT(got, testing::UnorderedElementsAre(200, 409));
  EXPECT_EQ(jobs_.next_id(), JobId(301));
  EXPECT_EQ(ask("POST", "/api/v1/jobs:batch", body, {{"Idempotency-Key", "k"}}).status, 200);
  EXPECT_EQ(jobs_.next_id(), JobId(301));
}

TEST_F(JobRoutesTest, WhatIsWrongIsRefusedWithItsPlace) {
  EXPECT_EQ(ask("GET", "/api/v1/nothing").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/7").status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/jobs/x").status, 404);
  const net::Response method = ask("DELETE", "/api/v1/jobs");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.headers.find("Allow"), "POST, GET");
  EXPECT_EQ(ask("POST", "/api/v1/jobs/1:nosuch").status, 405);  // It may only be looked at.
  EXPECT_THAT(ask("POST", "/api/v1/jobs", R"({"job": {"name": "j", "commnad": ["x"]}})").body,
              HasSubstr(R"(did you mean \"command\"?)"));
  EXPECT_EQ(ask("POST", "/api/v1/jobs", "{").status, 400);
  EXPECT_EQ(ask("POST", "/api/v1/jobs", R"({"job": {"name": "j"}})").status, 400);  // No command.
  EXPECT_EQ(submit(R"(, "queue": "nosuch")").status, 404);
  as("root", Role::admin);
  EXPECT_EQ(submit(R"(, "user": "a\u001b[2J")").status, 400);
  EXPECT_EQ(submit(R"(, "user": "a b")").status, 400);
}

// What a program is called must not drive the terminal of whoever reads why it did not start.
TEST_F(JobRoutesTest, ReasonsHaveNoControlCharacters) {
  ASSERT_EQ(submit().status, 201);
  take({TaskRefused{{JobId(1), 0}, 1, "no /a\x1b[2J\n\x7f\xc2\x9b\xff/gr\xc3\xbc\xc3\x9f"}});
  EXPECT_EQ(jobs_.find(JobId(1))->reason,
            "could not be started: no /a\\x1b[2J\\x0a\\x7f\\xc2\\x9b\\xff/gr\xc3\xbc\xc3\x9f");
}

TEST_F(JobRoutesTest, SaysWhyAJobWaits) {
  ASSERT_EQ(submit().status, 201);
  ASSERT_EQ(submit().status, 201);
  EXPECT_THAT(ask("GET", "/api/v1/jobs/2/explanation").body, HasSubstr("waits"));
  EXPECT_THAT(ask("GET", "/api/v1/jobs/1/explanation").body, HasSubstr("it is running on n0"));
}

TEST_F(JobRoutesTest, WhatIsForgottenSaysSo) {
  submit(R"(, "held": true)");
  EXPECT_EQ(ask("POST", "/api/v1/jobs/1:cancel").status, 200);
  jobs_.forget(Instant::max());
  const net::Response gone = ask("GET", "/api/v1/jobs/1");
  EXPECT_EQ(gone.status, 404);
  EXPECT_THAT(gone.body, HasSubstr("job 1 ended and is forgotten by now"));
  EXPECT_EQ(ask("GET", "/api/v1/jobs/1/output").status, 404);
  EXPECT_THAT(ask("GET", "/api/v1/jobs/2").body, HasSubstr("no job 2"));
}

}  // namespace tutti::job_routes_test
