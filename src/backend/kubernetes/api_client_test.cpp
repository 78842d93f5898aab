#include "backend/kubernetes/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>

#include "backend/kubernetes/backoff.h"
#include "backend/kubernetes/test_wire.h"

namespace tutti::api_client_test {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

net::Response status(int code, const std::string& reason, const std::string& message,
                     int retry_after = 0) {
  net::Response out{.status = code};
  out.body = R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"reason":")" + reason +
             R"(","message":")" + message + R"(","details":{"retryAfterSeconds":)" +
             std::to_string(retry_after) + "}}";
  return out;
}

/// A client of a server that answers from a list, the last one for ever.
class ApiClientTest : public testing::Test {
 protected:
  ApiClientTest() {
    wire_.on_request = [this](const WireRequest& request) -> SimWire::Answer {
      requests_.push_back(request);
      SimWire::Answer out{.response = answers_.front(), .delay = delay_};
      if (answers_.size() > 1) answers_.pop_front();
      return out;
    };
  }
  void make(KubeUser user = {.token = {.text = "t"}}, ApiSettings settings = {}) {
    ClusterAccess access{.server = net::Url::parse("https://h").value(), .user = std::move(user)};
    api_.emplace(
        wire_,
        Credentials(access, {.read_file = [this](const std::string& path) -> Result<std::string> {
                               if (token_.empty()) {
                                 return fail({.code = Code::io, .what = "closed", .where = path});
                               }
                               return token_;
                             },
                             .run = nullptr,
                             .time_of_day = [] { return Instant{}; }}),
        std::move(settings));
  }
  /// What becomes of a request, within a minute.
  std::string asked(ApiRequest request) {
    std::string out = "nothing";
    const ApiCall call = api_->send(std::move(request), [&](ApiResult<net::Response> got) {
      out = got ? std::to_string(got->status) + " " + got->body : text_of(got.error());
    });
    EXPECT_EQ(out, "nothing") << "never inside the call";
    time_.run_for(Duration::seconds(60));
    return out;
  }
  static std::string text_of(const ApiFailure& failure) {
    return std::to_string(failure.status) + " " + failure.reason + ": " + failure.message +
           (failure.maybe_done ? " (maybe done)" : "");
  }
  static ApiRequest binding() {
    return {.verb = Verb::create, .path = "/api/v1/namespaces/ml/pods/p/binding", .body = "{}"};
  }

  test::VirtualTime time_;
  test::SimWire wire_{time_};
  using SimWire = test::SimWire;
  std::deque<Result<net::Response>> answers_{net::Response{.body = "fine"}};
  Duration delay_ = Duration::milliseconds(2);
  std::vector<WireRequest> requests_;
  std::string token_ = "first";
  std::optional<ApiClient> api_;
};

TEST_F(ApiClientTest, ARequestIsVerbAndPathWithWhoAsks) {
  make();
  EXPECT_EQ(asked({.path = "/api/v1/nodes", .query = "limit=5"}), "200 fine");
  EXPECT_EQ(asked(binding()), "200 fine");
  EXPECT_EQ(asked({.verb = Verb::patch,
                   .path = "/a",
                   .body = "{}",
                   .content_type = "application/merge-patch+json"}),
            "200 fine");
  EXPECT_THAT(wire_.log, ElementsAre("GET /api/v1/nodes?limit=5",
                                     "POST /api/v1/namespaces/ml/pods/p/binding", "PATCH /a"));
  EXPECT_EQ(requests_[0].headers.find("Authorization"), "Bearer t");
  EXPECT_EQ(requests_[0].headers.find("Accept"), "application/json");
  EXPECT_EQ(requests_[0].headers.find("User-Agent"), "tutti");
  EXPECT_EQ(requests_[0].headers.find("Content-Type"), std::nullopt);
  EXPECT_EQ(requests_[1].headers.find("Content-Type"), "application/json");
  EXPECT_EQ(requests_[2].headers.find("Content-Type"), "application/merge-patch+json");
}

TEST_F(ApiClientTest, AFailureKeepsWhatTheServerSaid) {
  make();
  answers_ = {status(409, "Conflict", "pod p is already assigned")};
  EXPECT_EQ(asked(binding()), "409 Conflict: pod p is already assigned");
  ApiFailure failure = failure_of(status(403, "Forbidden", "pods is forbidden", 7));
  failure.about = "GET /api/v1/pods";
  EXPECT_EQ(failure.retry_after, Duration::seconds(7));
  EXPECT_EQ(failure.error().code, Code::denied);
  EXPECT_EQ(failure.error().text(),
            "error: GET /api/v1/pods: pods is forbidden (403)\n"
            "hint:  grant this right; deploy/kubernetes lists all that are needed\n");
  net::Response busy{.status = 429, .headers = {{"Retry-After", "3"}}, .body = "slow down\n"};
  EXPECT_EQ(failure_of(busy).retry_after, Duration::seconds(3));
  EXPECT_EQ(failure_of(busy).message, "slow down");
  EXPECT_EQ(failure_of({.status = 502, .body = "<html>oh</html>"}).message, "Bad Gateway");
  EXPECT_EQ(failure_of({.status = 404, .body = "404 page not found\n"}).message,
            "404 page not found");
}

TEST_F(ApiClientTest, ReadsAreTriedAgainUntilTheyAreAnswered) {
  make();
  answers_ = {fail(Code::io, "reset"), status(500, "InternalError", "oh"),
              status(504, "Timeout", "slow"), net::Response{.body = "fine"}};
  EXPECT_EQ(asked({.path = "/a"}), "200 fine");
  EXPECT_EQ(requests_.size(), 4U);
  answers_ = {status(404, "NotFound", "no pod")};
  EXPECT_EQ(asked({.path = "/a"}), "404 NotFound: no pod");
  answers_ = {status(500, "InternalError", "oh")};
  EXPECT_EQ(asked({.path = "/a", .once = true}), "500 InternalError: oh");
  requests_.clear();
  EXPECT_EQ(asked({.path = "/a", .deadline = Duration::seconds(20)}), "500 InternalError: oh");
  EXPECT_GT(requests_.size(), 5U);
  EXPECT_LT(requests_.size(), 25U) << "ever slower";
}

TEST_F(ApiClientTest, AWriteIsRepeatedOnlyWhereItWasSurelyNotDone) {
  make();
  answers_ = {status(429, "TooManyRequests", "busy", 1), status(503, "", "starting", 1),
              net::Response{.status = 201}};
  const Instant before = time_.now();
  EXPECT_EQ(asked(binding()), "201 ");
  EXPECT_EQ(requests_.size(), 3U);
  EXPECT_GE(time_.now() - before, Duration::seconds(2));
  for (const Result<net::Response>& open :
       {Result<net::Response>(fail(Code::io, "reset")),
        Result<net::Response>(status(500, "InternalError", "etcd")),
        Result<net::Response>(status(504, "Timeout", "slow", 1)),
        Result<net::Response>(net::Response{.status = 503})}) {
    requests_.clear();
    answers_ = {open};
    EXPECT_THAT(asked(binding()), HasSubstr("(maybe done)"));
    EXPECT_EQ(requests_.size(), 1U);
  }
  answers_ = {status(422, "Invalid", "no")};
  EXPECT_EQ(asked(binding()), "422 Invalid: no");
}

TEST_F(ApiClientTest, ADeadlineIsForAllOfIt) {
  make({.token = {.text = "t"}}, {.reads = 1, .writes = 1});
  delay_ = Duration::seconds(40);
  std::vector<std::string> log;
  const auto note = [&](ApiResult<net::Response> got) { log.push_back(text_of(got.error())); };
  const ApiCall sent = api_->send(binding(), note);
  const ApiCall waits = api_->send(binding(), note);
  time_.run_for(Duration::seconds(31));
  EXPECT_THAT(log,
              ElementsAre("0 : no answer within 30 s (maybe done)", "0 : no answer within 30 s"))
      << "what was never sent is not done";
  EXPECT_EQ(api_->in_flight(), 0U);
}

TEST_F(ApiClientTest, SoManyAreInFlightReadsAndWritesApart) {
  make({.token = {.text = "t"}}, {.reads = 2, .writes = 3});
  delay_ = Duration::seconds(1);
  std::vector<ApiCall> calls;
  int done = 0;
  for (int n = 0; n < 10; ++n) {
    calls.push_back(api_->send({.path = "/r"}, [&](const auto&) { ++done; }));
    calls.push_back(api_->send(binding(), [&](const auto&) { ++done; }));
  }
  time_.run_for(Duration::milliseconds(500));
  EXPECT_EQ(api_->in_flight(), 5U);
  EXPECT_EQ(wire_.count("GET"), 2U);
  EXPECT_EQ(wire_.count("POST"), 3U);
  // Of those that are dropped, nothing is heard, and others take their place.
  calls.erase(calls.begin());
  time_.run_for(Duration::milliseconds(10));
  EXPECT_EQ(wire_.count("GET"), 3U);
  time_.run_for(Duration::seconds(20));
  EXPECT_EQ(done, 19);
  EXPECT_EQ(wire_.log.size(), 20U);
  EXPECT_EQ(api_->in_flight(), 0U);
}

TEST_F(ApiClientTest, ARefusedTokenIsReadAgainAndTheRequestRepeatedOnce) {
  make({.token = {.file = "/token"}});
  EXPECT_EQ(asked({.path = "/a"}), "200 fine");
  token_ = "second";
  answers_ = {status(401, "Unauthorized", "who"), net::Response{.status = 201}};
  requests_.clear();
  EXPECT_EQ(asked(binding()), "201 ");
  ASSERT_EQ(requests_.size(), 2U);
  EXPECT_EQ(requests_[1].headers.find("Authorization"), "Bearer second");
  answers_ = {status(401, "Unauthorized", "who")};
  requests_.clear();
  EXPECT_EQ(asked(binding()), "401 Unauthorized: who");
  EXPECT_EQ(requests_.size(), 2U);
  make();  // Nothing else can be got from a kubeconfig.
  requests_.clear();
  EXPECT_THAT(asked({.path = "/a"}), StartsWith("401"));
  EXPECT_LE(requests_.size(), 2U);
}

TEST_F(ApiClientTest, WithoutCredentialsNothingIsSent) {
  make({.token = {.file = "/token"}});
  token_ = "";
  EXPECT_EQ(asked({.path = "/a"}), "401 : /token: closed");
  EXPECT_THAT(wire_.log, IsEmpty());
  token_ = "there";
  EXPECT_EQ(asked({.path = "/a"}), "200 fine");
}

TEST_F(ApiClientTest, ANewCertificateIsShownFromThenOn) {
  make({.certificate = {.text = "C"}, .key = {.text = "K"}});
  EXPECT_EQ(asked({.path = "/a"}), "200 fine");
  EXPECT_EQ(asked({.path = "/a"}), "200 fine");
  EXPECT_THAT(wire_.identities, ElementsAre("C/K"));
}

TEST_F(ApiClientTest, AResponseIsFollowedOrItsRefusalRead) {
  make();
  std::shared_ptr<test::FarStream> stream;
  wire_.on_stream = [&](const std::shared_ptr<test::FarStream>& opened) { stream = opened; };
  std::string log;
  std::optional<ApiCall> call;
  const auto follow = [&] {
    log.clear();
    call.emplace(api_->follow({.path = "/w", .query = "watch=true"},
                              {.begin = [&] { log += "begin "; },
                               .body = [&](std::string_view piece) { log += piece; },
                               .end =
                                   [&](const ApiResult<void>& end) {
                                     log += end ? " end" : " " + text_of(end.error());
                                   }}));
    time_.run_for(Duration::milliseconds(5));
  };
  follow();
  stream->head({});
  stream->body("a");
  time_.run_for(Duration::seconds(100));
  stream->body("b");
  stream->end();
  time_.run_for(Duration::seconds(1));
  EXPECT_EQ(log, "begin ab end") << "the deadline is for its head alone";
  follow();
  stream->head({.status = 410});
  stream->body(R"({"kind":"Status","code":410,)");
  stream->body(R"("reason":"Expired","message":"too old"})");
  stream->end();
  time_.run_for(Duration::seconds(1));
  EXPECT_EQ(log, " 410 Expired: too old");
  follow();
  time_.run_for(Duration::seconds(31));
  EXPECT_EQ(log, " 0 : no answer within 30 s");
  follow();
  stream->head({});
  time_.run_for(Duration::seconds(1));
  call.reset();
  EXPECT_FALSE(stream->open());
  EXPECT_EQ(log, "begin ");
}

TEST_F(ApiClientTest, CallbacksMayDropTheirCallAndTheClient) {
  make();
  std::optional<ApiCall> call;
  int done = 0;
  call.emplace(api_->send({.path = "/a"}, [&](const auto&) {
    call.reset();
    ++done;
  }));
  time_.run_for(Duration::seconds(1));
  call.emplace(api_->send({.path = "/a"}, [&](const auto&) {
    api_.reset();
    ++done;
  }));
  time_.run_for(Duration::seconds(1));
  EXPECT_EQ(done, 2);
}

TEST(BackoffTest, GrowsUpToALimitAndIsSpread) {
  Prng prng(3);
  Backoff backoff;
  std::vector<Duration> longest;
  for (int round = 0; round < 200; ++round) {
    backoff.reset();
    for (std::size_t n = 0; n < 12; ++n) {
      const Duration delay = backoff.next(prng);
      if (longest.size() <= n) longest.emplace_back();
      longest[n] = std::max(longest[n], delay);
      EXPECT_LE(delay, Backoff::most);
    }
  }
  EXPECT_LE(longest[0], Backoff::first);
  EXPECT_GT(longest[0], Duration::milliseconds(150));
  EXPECT_GT(longest[3], Duration::milliseconds(1'300));
  EXPECT_GT(longest[11], Duration::seconds(28));
}

}  // namespace tutti::api_client_test
