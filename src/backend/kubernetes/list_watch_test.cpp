#include "backend/kubernetes/list_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "backend/kubernetes/test_api_server.h"
#include "backend/kubernetes/test_view.h"

namespace tutti::list_watch_test {

using test::FarStream;
using test::SimApiServer;
using test::SimWire;
using test::View;
using test::VirtualTime;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ListWatchTest : public testing::Test {
 protected:
  ListWatchTest() {
    for (const char* name : {"a", "b", "c"}) server_.set(name, "1");
  }
  void start(ListWatchSettings settings = {}) {
    settings.path = "/api/v1/pods";
    watch_.emplace(api_, settings, view_.reports());
  }
  void pass(std::int64_t seconds) { time_.run_for(Duration::seconds(seconds)); }
  std::vector<std::string> kinds() const {
    constexpr std::array words{"missing", "denied", "failing", "unreadable", "over"};
    std::vector<std::string> out;
    for (const WatchTrouble& said : view_.troubles) {
      out.emplace_back(words.at(static_cast<std::size_t>(said.kind)));
    }
    return out;
  }

  VirtualTime time_;
  SimWire wire_{time_};
  SimApiServer server_{time_, wire_};
  ApiClient api_{wire_,
                 Credentials({.server = {}, .user = {.token = {.text = "t"}}},
                             {.read_file = nullptr, .run = nullptr, .time_of_day = nullptr})};
  View view_;
  std::optional<ListWatch> watch_;
};

// --- Lists --------------------------------------------------------------------------------------

TEST_F(ListWatchTest, AllThereIsComesFirstThenWhatChanges) {
  start();
  pass(1);
  EXPECT_EQ(view_.taken(), "[+a+b+c]S");
  server_.set("d", "1");
  server_.set("a", "1");
  server_.remove("b");
  pass(1);
  EXPECT_EQ(view_.taken(), "+d+a-b");
  EXPECT_EQ(view_.objects, server_.objects());
  EXPECT_THAT(wire_.log, ElementsAre(testing::MatchesRegex(
                             R"(GET /api/v1/pods\?watch=true&sendInitialEvents=true&)"
                             R"(resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&)"
                             R"(timeoutSeconds=[0-9]+)")));
}

TEST_F(ListWatchTest, AServerThatDoesNotStreamListsGivesThemInPages) {
  server_.streams_lists = false;
  start({.query = "labelSelector=x", .page = 2});
  pass(1);
  EXPECT_EQ(view_.taken(), "[+a+b+c]S");
  ASSERT_EQ(wire_.log.size(), 4U);
  EXPECT_EQ(wire_.log[1], "GET /api/v1/pods?labelSelector=x&limit=2");
  EXPECT_EQ(wire_.log[2], "GET /api/v1/pods?labelSelector=x&limit=2&continue=page%2B1%3D");
  EXPECT_THAT(wire_.log[3], HasSubstr("labelSelector=x&watch=true&resourceVersion=103&"));
  server_.remove("a");
  pass(1);
  EXPECT_EQ(view_.taken(), "-a");
}

TEST_F(ListWatchTest, APageThatComesTooLateMakesItOneWholeList) {
  wire_.on_request = [this, old = wire_.on_request](const WireRequest& request) {
    if (wire_.count("continue=") == 1) server_.forget_history();
    return old(request);
  };
  start({.streams = false, .page = 2});
  pass(1);
  EXPECT_EQ(view_.taken(), "[+a+b[+a+b+c]S");
  EXPECT_EQ(wire_.log[2], "GET /api/v1/pods");
  EXPECT_EQ(server_.lists, 2);
}

TEST_F(ListWatchTest, AServerThatTakesAStreamedListForAPlainWatchIsListed) {
  // It ignores what it does not know: all objects, no end of them, bookmarks now and then.
  for (const bool speaks : {true, false}) {
    SimWire wire(time_);
    SimApiServer server(time_, wire);
    server.set("a", "1");
    wire.on_stream = [&, old = wire.on_stream](const std::shared_ptr<FarStream>& stream) {
      if (stream->request().target.find("sendInitialEvents") == std::string::npos) {
        return old(stream);
      }
      stream->head({});
      stream->body(R"({"type":"ADDED","object":)" + server.objects().at("a") + "}\n");
      if (speaks) {
        stream->body(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"101"}}})"
                     "\n");
      }
    };
    ApiClient api(wire, Credentials({.user = {.token = {.text = "t"}}}, {}));
    View view;
    const ListWatch watch(api, {.path = "/p"}, view.reports());
    pass(200);
    EXPECT_THAT(view.log, testing::EndsWith("[+a]S")) << view.log;
    EXPECT_EQ(view.objects, server.objects());
  }
}

// --- Watches that end ---------------------------------------------------------------------------

TEST_F(ListWatchTest, AWatchThatEndsGoesOnFromTheLastVersion) {
  start({.watch_for = Duration::seconds(100)});
  pass(1);
  server_.set("d", "1");
  pass(210);
  server_.set("e", "1");
  pass(1);
  EXPECT_EQ(view_.taken(), "[+a+b+c]S+d+e");
  EXPECT_EQ(server_.lists, 1);
  EXPECT_GE(wire_.count("resourceVersion=104&"), 1U);
  EXPECT_THAT(view_.troubles, IsEmpty());
}

TEST_F(ListWatchTest, ABookmarkMovesTheVersionOn) {
  start({.watch_for = Duration::seconds(100)});
  pass(1);
  server_.pass_versions(60);
  pass(61);
  server_.forget_history();
  pass(240);
  EXPECT_EQ(server_.lists, 1) << "what it knows is not too old";
  EXPECT_EQ(view_.objects, server_.objects());
}

TEST_F(ListWatchTest, SilenceIsTheEndOfAWatch) {
  start();
  pass(1);
  view_.taken();
  server_.faults.stuck = 1000;
  server_.set("d", "1");
  server_.faults = {};
  server_.set("e", "1");
  pass(140);
  EXPECT_EQ(view_.taken(), "");
  pass(20);
  EXPECT_EQ(view_.taken(), "+d+e");
  EXPECT_EQ(server_.lists, 1);
}

TEST_F(ListWatchTest, WhatComesAgainIsPassedOver) {
  start();
  pass(1);
  view_.taken();
  server_.faults.twice = 1000;
  server_.set("d", "1");
  server_.remove("d");
  pass(1);
  EXPECT_EQ(view_.taken(), "+d-d");
}

TEST_F(ListWatchTest, AVersionThatIsTooOldAsksForEverythingAnew) {
  // As an event of the watch and as a status, by the seed.
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    VirtualTime time;
    SimWire wire(time);
    SimApiServer server(time, wire, seed);
    ApiClient api(wire, Credentials({.user = {.token = {.text = "t"}}}, {}));
    View view;
    server.set("a", "1");
    server.set("b", "1");
    const ListWatch watch(api, {.path = "/p", .seed = seed}, view.reports());
    time.run_for(Duration::seconds(1));
    server.faults.cut = 1000;
    server.remove("a");
    server.faults = {};
    server.set("c", "1");
    server.forget_history();
    time.run_for(Duration::seconds(5));
    EXPECT_EQ(view.log, "[+a+b]S[+b+c]");
    EXPECT_EQ(server.lists, 2);
    EXPECT_EQ(server.expired, 1);
  }
}

TEST_F(ListWatchTest, NothingOfAWatchCountsAfterItsError) {
  std::shared_ptr<FarStream> first;
  wire_.on_stream = [&, old = wire_.on_stream](const std::shared_ptr<FarStream>& stream) {
    if (first) return old(stream);
    first = stream;
    stream->head({});
    stream->body(test::line_of("ADDED", test::object_of("x", "1", 200)) +
                 test::line_of("ERROR", test::status_of(500, "InternalError").body) +
                 test::line_of("ADDED", test::object_of("y", "1", 201)));
  };
  start({.streams = false});
  pass(1);
  EXPECT_EQ(view_.taken(), "[+a+b+c]S+x");
}

TEST_F(ListWatchTest, AVersionThatBringsNothingButErrorsIsGivenUp) {
  // A server that was restored from a backup does not know the version yet.
  start({.streams = false});
  pass(1);
  view_.taken();
  bool restored = true;
  wire_.on_stream = [&, old = wire_.on_stream](const std::shared_ptr<FarStream>& stream) {
    if (!restored || stream->request().target.find("resourceVersion=103&") == std::string::npos) {
      return old(stream);
    }
    stream->head({.status = 504});
    stream->body(test::status_of(504, "Timeout").body);
    stream->end();
  };
  server_.faults.cut = 1000;
  server_.set("d", "1");
  server_.faults = {};
  pass(60);
  EXPECT_EQ(view_.taken(), "[+a+b+c+d]");
  EXPECT_EQ(server_.lists, 2);
}

// --- Failures -----------------------------------------------------------------------------------

TEST_F(ListWatchTest, AStormOfFailuresIsSlowedDownAndReportedOnce) {
  server_.faults.refused = 1000;
  start();
  pass(600);
  EXPECT_LT(wire_.log.size(), 70U);
  EXPECT_GT(wire_.log.size(), 15U);
  EXPECT_THAT(kinds(), ElementsAre("failing"));
  EXPECT_THAT(view_.troubles.at(0).text, HasSubstr("/api/v1/pods: Trouble ("));
  server_.faults = {};
  pass(120);
  EXPECT_THAT(kinds(), ElementsAre("failing", "over"));
  EXPECT_EQ(view_.objects, server_.objects());
}

TEST_F(ListWatchTest, WatchesThatEndAtOnceAreSlowedDownToo) {
  start();
  pass(1);
  wire_.log.clear();
  wire_.on_stream = [&](const std::shared_ptr<FarStream>& stream) {
    stream->head({});
    stream->body(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"103"}}})"
                 "\n");
    stream->end();
  };
  server_.faults.cut = 1000;
  server_.set("d", "1");
  pass(600);
  EXPECT_LT(wire_.log.size(), 80U);
}

TEST_F(ListWatchTest, VersionsThatAreAlwaysTooOldMakeNoStormOfLists) {
  server_.streams_lists = false;
  start();
  pass(1);
  wire_.on_stream = [&](const std::shared_ptr<FarStream>& stream) {
    stream->head({});
    stream->body(R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}})"
                 "\n");
  };
  server_.faults.cut = 1000;
  server_.set("d", "1");
  server_.faults = {};
  pass(600);
  EXPECT_LT(server_.lists, 70);
  EXPECT_EQ(view_.objects, server_.objects()) << "each list was taken";
}

TEST_F(ListWatchTest, ListsThatFailAfterAGoodWatchAreSlowedDownToo) {
  wire_.on_stream = [&](const std::shared_ptr<FarStream>& stream) {
    server_.faults.refused = 1000;
    stream->head({});
    stream->body(test::line_of("ADDED", test::object_of("x", "1", 200)) +
                 test::line_of("ERROR", test::status_of(410, "Expired").body));
  };
  start({.streams = false});
  pass(600);
  EXPECT_EQ(view_.taken(), "[+a+b+c]S+x");
  EXPECT_LT(server_.lists, 70);
  EXPECT_THAT(kinds(), ElementsAre("failing"));
}

TEST_F(ListWatchTest, AServerThatIsNotUpYetStreamsItsListLater) {
  wire_.on_stream = [&, old = wire_.on_stream](const std::shared_ptr<FarStream>& stream) {
    if (time_.now() < Instant{1'020'000'000}) return stream->end(fail(Code::io, "refused"));
    old(stream);
  };
  start();
  pass(60);
  EXPECT_EQ(view_.taken(), "[+a+b+c]S");
  EXPECT_EQ(wire_.count("limit="), 0U);
}

TEST_F(ListWatchTest, AKindThatIsMissingIsReportedOnceAndFoundWhenItAppears) {
  server_.absent = 404;
  start();
  pass(100);
  EXPECT_EQ(view_.taken(), "[]S") << "of what does not exist there is nothing";
  EXPECT_THAT(kinds(), ElementsAre("missing"));
  EXPECT_LE(wire_.log.size(), 5U);
  server_.absent = 0;
  pass(35);
  EXPECT_EQ(view_.taken(), "[+a+b+c]");
  EXPECT_THAT(kinds(), ElementsAre("missing", "over"));
  // Its definition is deleted: what was there has gone.
  server_.absent = 404;
  server_.faults.cut = 1000;
  server_.set("d", "1");
  server_.faults = {};
  pass(60);
  EXPECT_THAT(view_.objects, IsEmpty());
}

TEST_F(ListWatchTest, WhatWeMayNotSeeIsReportedOnceAndStaysAsItWas) {
  server_.absent = 403;
  start();
  pass(100);
  EXPECT_EQ(view_.taken(), "") << "nothing is known of it";
  EXPECT_THAT(kinds(), ElementsAre("denied"));
  EXPECT_THAT(view_.troubles.at(0).text, HasSubstr("Forbidden (403); grant this right"));
  server_.absent = 0;
  pass(35);
  EXPECT_THAT(kinds(), ElementsAre("denied", "over"));
  EXPECT_EQ(view_.objects, server_.objects());
  server_.absent = 403;
  server_.faults.cut = 1000;
  server_.set("d", "1");
  pass(60);
  EXPECT_EQ(view_.objects.size(), 3U);
}

TEST_F(ListWatchTest, AnObjectThatCannotBeReadIsReportedAndPassedOver) {
  std::shared_ptr<FarStream> stream;
  wire_.on_stream = [&](const std::shared_ptr<FarStream>& opened) {
    stream = opened;
    stream->head({});
  };
  start({.streams = false, .line_bytes_max = 1000});
  pass(1);
  view_.taken();
  for (const std::string& line :
       {std::string("no JSON"), std::string(R"({"type":"ADDED"})"),
        std::string(R"({"type":"ODD","object":{}})"),
        std::string(R"({"type":"ADDED","object":{"metadata":{"name":"x"}}})"),
        std::string(R"({"type":"ADDED","object":{"metadata":7}})"), std::string(5000, 'x')}) {
    stream->body(line + "\n");
  }
  const std::string good = R"({"type":"ADDED","object":)" + test::object_of("d", "1", 200) + "}\n";
  for (const char byte : "\n" + good) {
    if (byte != '\0') stream->body(std::string(1, byte));
  }
  pass(1);
  EXPECT_EQ(view_.taken(), "+d");
  EXPECT_THAT(kinds(), testing::Each("unreadable"));
  ASSERT_EQ(view_.troubles.size(), 6U);
  EXPECT_THAT(view_.troubles[0].text, HasSubstr("an object of 7 bytes is passed over: this is no"));
  EXPECT_THAT(view_.troubles[5].text, HasSubstr("an event of more than 1000 bytes is passed over"));
  EXPECT_EQ(server_.lists, 1);
}

TEST_F(ListWatchTest, EveryCallbackMayDropTheWatch) {
  for (int drop_at = 0; drop_at < 8; ++drop_at) {
    VirtualTime time;
    SimWire wire(time);
    SimApiServer server(time, wire);
    ApiClient api(wire, Credentials({.user = {.token = {.text = "t"}}}, {}));
    server.set("a", "1");
    server.set("b", "1");
    std::optional<ListWatch> watch;
    int calls = 0;
    const auto count = [&] {
      if (calls++ == drop_at) watch.reset();
    };
    const WatchReports reports{.replace = count,
                               .replaced = count,
                               .upsert = [&](const auto&, auto) { count(); },
                               .remove = [&](const auto&, auto) { count(); },
                               .synced = count,
                               .trouble = [&](const auto&) { count(); }};
    server.streams_lists = drop_at % 2 == 0;
    watch.emplace(api, ListWatchSettings{.path = "/p"}, reports);
    time.run_for(Duration::seconds(1));
    server.set("a", "2");
    server.remove("b");
    server.absent = 404;
    server.faults.cut = 1000;
    server.set("c", "1");
    server.faults = {};
    time.run_for(Duration::seconds(100));
    EXPECT_EQ(calls, drop_at + 1);
    EXPECT_FALSE(watch.has_value());
  }
}

}  // namespace tutti::list_watch_test
