/// What readers hear, through a real server and client on one loop.
#include "api/event_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/event_routes.h"
#include "format/json.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/sse_reader.h"
#include "net/test_net.h"
#include "sched/test_fleet.h"

namespace tutti::event_feed_test {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EventFeedTest : public testing::Test {
 protected:
  explicit EventFeedTest(EventFeed::Limits limits = {}) { make(limits, 0); }

  void make(EventFeed::Limits limits, JournalRow rows) {
    server_.reset();
    routes_.reset();
    feed_.emplace(loop_, jobs_, rows, limits);
    routes_.emplace(*feed_, jobs_);
    router_.emplace();
    routes_->declare(*router_);
    server_.emplace(loop_,
                    net::ServerSettings{.limits = {.stream_bytes = 512 << 10U}, .coalesce = {}},
                    [this](net::Request request, net::Answer answer) {
                      router_->route({.request = std::move(request),
                                      .parts = {},
                                      .user = user_,
                                      .answer = std::move(answer)});
                    });
    url_ = server_->listen({.address = "127.0.0.1:0"}).value();
  }

  JournalRow apply(const Event& event) {
    EXPECT_TRUE(state_.admissible(event).has_value());
    state_.apply(event, now_ = now_ + Duration::seconds(1));
    happenings_.happened(++row_, event, state_);
    for (const Happening& each : happenings_.take()) feed_->apply(each);
    return row_;
  }
  JobId submit(unsigned tasks = 1) {
    const JobId id = jobs_.next_id();
    apply(JobSubmitted{id, test::job(test::task(1000, 1), tasks)});
    return id;
  }
  Action placement(TaskId id, unsigned device) {
    const Task& task = state_.tasks()[state_.find(id)];
    Action action{
        .task = id, .attempt = task.attempt + 1, .shape = task.shape, .node = NodeIndex(0)};
    action.devices.add(device);
    return action;
  }

  /// "7 submitted 1" or "8 joined n0" for each message.
  struct Reader {
    net::Response head;
    std::string body;  ///< All of it.
    net::SseReader sse;
    std::vector<std::string> got;
    bool over = false;
    net::Call call;
  };
  Reader& open(const std::string& query, const std::string& last_id = {}) {
    readers_.emplace_back();
    Reader& reader = readers_.back();
    net::ClientRequest request{.url = url_.with_target("/api/v1/events" + query)};
    if (!last_id.empty()) request.headers.add("Last-Event-ID", last_id);
    net::HttpClient::Follower follower;
    follower.head = [&](const net::Response& head) { reader.head = head; };
    follower.body = [&](std::string_view piece) {
      reader.body += piece;
      reader.sse.feed(piece, [&](const net::SseReader::Message& message) {
        reader.got.push_back(message.id + " " + in_short(message));
      });
    };
    follower.end = [&](const Result<void>&) { reader.over = true; };
    reader.call = client_.follow(std::move(request), std::move(follower));
    return reader;
  }
  static std::string in_short(const net::SseReader::Message& message) {
    if (message.event == "reset") return "reset";
    const Value value = parse_json(message.data).value();
    const Value* const name = value.find(message.event);
    return std::string(value.find("what")->text_value()) + " " + std::string(name->text_value());
  }
  /// Runs the loop for as long as it takes.
  template <class Condition>
  void until(const Condition& condition) {
    const Instant end = net::EventLoop::now() + Duration::seconds(10);
    while (!condition() && net::EventLoop::now() < end) {
      const net::Timer tick = loop_.after(Duration::milliseconds(1), [this] { loop_.stop(); });
      loop_.run();
    }
    EXPECT_TRUE(condition());
  }
  Reader& read(const std::string& query, const std::string& last_id = {}) {
    Reader& reader = open(query, last_id);
    until([&] { return !reader.body.empty() || reader.over; });
    return reader;
  }
  /// All that there is.
  std::vector<std::string> all(const std::string& query, const std::string& last_id = {}) {
    Reader& reader = open("?follow=false" + query, last_id);
    until([&] { return reader.over; });
    return reader.got;
  }

  User user_{.name = "ana", .role = Role::viewer};
  State state_;
  JobTable jobs_;
  Happenings happenings_;
  Instant now_;
  JournalRow row_ = 0;
  net::EventLoop loop_;
  std::optional<EventFeed> feed_;
  std::optional<Router> router_;
  std::optional<EventRoutes> routes_;
  std::optional<net::HttpServer> server_;
  net::HttpClient client_{loop_};
  net::Url url_;
  std::list<Reader> readers_;
};

TEST_F(EventFeedTest, TellsWhatHappensToJobsAndNodes) {
  Reader& reader = read("");
  EXPECT_EQ(reader.head.headers.find("Content-Type"), "text/event-stream");
  apply(NodeReported{test::node("n0")});                     // 1
  apply(NodeReported{test::node("n0")});                     // 2
  const JobId id = submit();                                 // 3
  apply(JobHeld{id, true});                                  // 4
  apply(JobHeld{id, false});                                 // 5
  apply(PlanDecided{{placement({id, 0}, 0)}});               // 6: not worth telling.
  apply(TaskStarted{{id, 0}, 1});                            // 7
  apply(NodeLost{"n0"});                                     // 8
  apply(NodeReported{test::node("n0")});                     // 9
  apply(NodeCordoned{"n0", true});                           // 10
  apply(NodeCordoned{"n0", false});                          // 11
  apply(DeviceHealthChanged{"n0", 3, Health::failed});       // 12
  apply(PlanDecided{{placement({id, 0}, 0)}});               // 13
  apply(TaskStarted{{id, 0}, 2});                            // 14
  apply(JobCancelled{id});                                   // 15
  apply(TaskExited{{id, 0}, 2, 143, ExitCause::signalled});  // 16
  const std::vector<std::string> expected{
      "1 joined n0",      "2 reported n0", "3 submitted 1", "4 held 1",      "5 released 1",
      "7 started 1",      "7 lost n0",     "8 requeued 1",  "9 reported n0", "10 cordoned n0",
      "11 uncordoned n0", "12 device n0",  "14 started 1",  "15 cancelled 1"};
  until([&] { return reader.got.size() >= expected.size(); });
  EXPECT_EQ(std::vector(reader.got.begin(), reader.got.begin() + 14), expected);
  EXPECT_THAT(reader.body, HasSubstr("id: 3\nevent: job\ndata: {\"row\":3,\"at\":\"1970-01-01T00:"
                                     "00:03.000000Z\",\"what\":\"submitted\",\"job\":\"1\","));
  EXPECT_EQ(reader.got, all("&from=0"));
}

TEST_F(EventFeedTest, SaysHowAJobEnded) {
  apply(NodeReported{test::node("n0")});
  const JobId id = submit();
  apply(PlanDecided{{placement({id, 0}, 0)}});
  apply(TaskExited{{id, 0}, 1, 7});
  Reader& reader = open("?from=oldest&follow=false");
  until([&] { return reader.over; });
  EXPECT_THAT(reader.got, ElementsAre("1 joined n0", "2 submitted 1", "4 ended 1"));
  EXPECT_THAT(reader.body, HasSubstr(R"("state":"failed","reason":"task 0 exited with code 7",)"
                                     R"("attempt":1,"exit_code":7,"node":"n0"})"));
}

// A row that tells of two jobs is had whole or not at all.
TEST_F(EventFeedTest, WhoWasCutOffWithinARowGetsItAgain) {
  apply(NodeReported{test::node("n0")});
  const JobId a = submit();
  const JobId b = submit();
  apply(PlanDecided{{placement({a, 0}, 0), placement({b, 0}, 1)}});
  apply(TaskStarted{{a, 0}, 1});
  apply(TaskStarted{{b, 0}, 1});
  apply(NodeLost{"n0"});  // 7
  EXPECT_THAT(all("", "6"), ElementsAre("6 lost n0", "6 requeued 1", "7 requeued 2"));
  EXPECT_THAT(all("&job=1", "6"), ElementsAre("7 requeued 1"));
  EXPECT_THAT(all("&queue=default", "6"), ElementsAre("6 requeued 1", "7 requeued 2"));
  EXPECT_THAT(all("&queue=other", "0"), IsEmpty());
  EXPECT_THAT(all("", "7"), IsEmpty());
}

TEST_F(EventFeedTest, OnlyWhatWasAskedFor) {
  apply(NodeReported{test::node("n0")});
  submit();
  submit();
  Reader& first = read("?job=1");
  Reader& second = read("?job=2&queue=default");
  Reader& other = read("?queue=other");
  Reader& queue = read("?queue=default&from=0");
  EXPECT_EQ(feed_->readers(), 4U);
  apply(JobCancelled{JobId(1)});
  apply(JobHeld{JobId(2), true});
  until([&] { return queue.got.size() == 4 && !first.got.empty() && !second.got.empty(); });
  EXPECT_THAT(first.got, ElementsAre("4 ended 1"));
  EXPECT_THAT(second.got, ElementsAre("5 held 2"));
  EXPECT_THAT(other.got, IsEmpty());
  EXPECT_THAT(queue.got, ElementsAre("2 submitted 1", "3 submitted 2", "4 ended 1", "5 held 2"));
}

TEST_F(EventFeedTest, RefusesWhatMeansNothing) {
  for (const char* query : {"?from=x", "?from=-1", "?follow=maybe", "?nosuch=1", "?job=1&job=1"}) {
    Reader& reader = open(query);
    until([&] { return reader.over; });
    EXPECT_EQ(reader.head.status, 400) << query;
  }
  Reader& unknown = open("?job=99");
  until([&] { return unknown.over; });
  EXPECT_EQ(unknown.head.status, 404);
  Reader& bad_id = open("", "x");
  until([&] { return bad_id.over; });
  EXPECT_EQ(bad_id.head.status, 400);
}

class SmallFeedTest : public EventFeedTest {
 protected:
  SmallFeedTest() : EventFeedTest({.rows = 4, .heart_beat = Duration::milliseconds(20)}) {}
};

// Within a heart beat; others with good tokens stay.
TEST_F(SmallFeedTest, WhoseTokenIsNotGoodAnyMoreIsLetGo) {
  std::string bad;
  feed_->cut_off_unless([&](const std::string& token) { return token != bad; });
  user_.token = "one";
  const Reader& one = read("");
  user_.token = "two";
  const Reader& two = read("");
  EXPECT_EQ(feed_->readers(), 2U);
  bad = "one";
  until([&] { return one.over; });
  EXPECT_FALSE(two.over);
  EXPECT_EQ(feed_->readers(), 1U);
}

TEST_F(SmallFeedTest, WhoComesTooLateStartsAnew) {
  for (int job = 0; job < 6; ++job) submit();
  EXPECT_EQ(feed_->complete_after(), 2U);
  EXPECT_THAT(all("", "2"),
              ElementsAre("3 submitted 3", "4 submitted 4", "5 submitted 5", "6 submitted 6"));
  EXPECT_THAT(all("", "1"), ElementsAre("6 reset"));
  EXPECT_THAT(all("", "7"), ElementsAre("6 reset"));  // From another journal.
  Reader& reader = read("", "1");
  EXPECT_THAT(reader.body, HasSubstr("read GET /api/v1/jobs anew"));
  submit();
  until([&] { return reader.got.size() == 2; });
  EXPECT_THAT(reader.got, ElementsAre("6 reset", "7 submitted 7"));
}

// Who waits for one job that does nothing, can still come back when much else has happened.
TEST_F(SmallFeedTest, HeartBeatsTellHowFarItIs) {
  submit();
  Reader& reader = read("?job=1");
  EXPECT_EQ(reader.sse.last_id(), "1");
  for (int job = 0; job < 9; ++job) submit();
  until([&] { return reader.sse.last_id() == "10"; });
  EXPECT_THAT(reader.got, IsEmpty());
  reader.call = net::Call();
  until([&] { return feed_->readers() == 0; });
}

// The rows of a journal are folded at the start, but only the last of them are written.
TEST_F(SmallFeedTest, AfterARestartTheNewestRowsAreThere) {
  make({.rows = 4}, 10);
  for (int job = 0; job < 10; ++job) submit();
  EXPECT_NE(jobs_.find(JobId(1)), nullptr);
  EXPECT_EQ(all("&from=oldest").size(), 4U);
  EXPECT_THAT(all("", "8"), ElementsAre("9 submitted 9", "10 submitted 10"));
  EXPECT_THAT(all("", "5"), ElementsAre("10 reset"));
}

// More than a reader may have queued at a time.
TEST_F(EventFeedTest, ALongTimeIsCaughtUpWithBitByBit) {
  for (int job = 0; job < 2'000; ++job) submit();
  Reader& reader = read("?from=0");
  until([&] { return reader.got.size() == 2'000; });
  submit();
  until([&] { return reader.got.size() == 2'001; });
  EXPECT_EQ(reader.got.back(), "2001 submitted 2001");
  EXPECT_EQ(server_->counts().cut_off, 0U);
}

TEST_F(EventFeedTest, WhoReadsTooSlowlyIsCutOffAndGoesOnLater) {
  const net::test::Folder folder;  // Unix sockets buffer less than TCP does, so it shows sooner.
  const net::Url local = server_->listen({.address = "unix:" + folder / "s"}).value();
  net::test::RawClient slow(local);
  slow.send("GET /api/v1/events HTTP/1.1\r\nHost: h\r\n\r\n");
  Reader& quick = read("");
  until([&] { return feed_->readers() == 2; });
  for (std::size_t job = 1; server_->counts().cut_off == 0 && job < 30'000; ++job) {
    submit();
    if (job % 100 == 0) until([&] { return quick.got.size() == job; });
  }
  EXPECT_EQ(server_->counts().cut_off, 1U);
  EXPECT_EQ(feed_->readers(), 1U);
  net::SseReader sse;
  std::vector<std::string> got;
  const auto take = [&](const net::SseReader::Message& message) { got.push_back(message.id); };
  sse.feed(slow.read_all(), take);
  ASSERT_FALSE(got.empty());
  ASSERT_LT(got.size(), row_);
  for (const std::string& later : all("", got.back())) {
    got.push_back(later.substr(0, later.find(' ')));
  }
  ASSERT_EQ(got.size(), row_);
  EXPECT_EQ(got.back(), std::to_string(row_));
}

}  // namespace tutti::event_feed_test
