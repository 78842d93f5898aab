#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "net/stream_hub.h"
#include "net/test_net.h"

namespace tutti::net::stream_test {

using test::RawClient;
using test::TestServer;
using testing::AllOf;
using testing::HasSubstr;

const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

ServerSettings at_once() { return {.coalesce = Duration{}}; }

/// Every request opens a stream, which the hub feeds.
class HubServer : public TestServer {
 public:
  explicit HubServer(ServerSettings settings, const ListenAt& at = {.address = "127.0.0.1:0"})
      : TestServer(
            [this](const Request&, Answer answer) {
              hub.add(answer.stream({.headers = {{"Content-Type", "text/event-stream"}}}));
            },
            settings, at) {}
  ~HubServer() {
    thread.call([&] { hub.finish(); });
  }

  void push(std::string chunk) {
    thread.call([&] { hub.push(std::move(chunk)); });
  }
  void wait_for_readers(std::size_t count) {
    while (thread.call([&] { return hub.size(); }) != count) std::this_thread::yield();
  }

  StreamHub hub;
};

TEST(StreamTest, ChunksComeAsTheyArePushed) {
  HubServer server(at_once());
  RawClient client(server.url);
  client.send(get);
  EXPECT_THAT(client.read_until("\r\n\r\n"),
              AllOf(HasSubstr("200 OK"), HasSubstr("text/event-stream"),
                    HasSubstr("Transfer-Encoding: chunked")));
  server.push("data: 1\n\n");
  EXPECT_EQ(client.read_until("\n\n\r\n"), "9\r\ndata: 1\n\n\r\n");
  server.push("data: twenty-two\n\n");
  EXPECT_EQ(client.read_until("\n\n\r\n"), "12\r\ndata: twenty-two\n\n\r\n");
}

TEST(StreamTest, AFinishedStreamLeavesTheConnectionUsable) {
  TestServer server([](const Request& request, Answer answer) {
    if (request.path == "/b") return answer.send({.body = "plain"});
    OpenStream stream = answer.stream({});
    stream.push(std::string("one"));
    stream.push(std::string());
    stream.push(std::string("two"));
  });
  const std::string other = "GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string got = test::exchange(server.url, other + get + other);
  EXPECT_THAT(got, HasSubstr("\r\n\r\n6\r\nonetwo\r\n0\r\n\r\nHTTP/1.1 200 OK"));
  EXPECT_EQ(test::times(got, "plain"), 2);
  EXPECT_THAT(test::exchange(server.url, "GET /a HTTP/1.0\r\n\r\n"),
              AllOf(HasSubstr("Connection: close"), testing::EndsWith("\r\n\r\nonetwo")));
  EXPECT_THAT(test::exchange(server.url, "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n" + other),
              AllOf(HasSubstr("chunked\r\n\r\nHTTP/1.1 200"), testing::Not(HasSubstr("onetwo"))));
}

// Many chunks within the time of coalescing are one write, and one HTTP chunk.
TEST(StreamTest, ChunksPushedInARowAreWrittenTogether) {
  HubServer server({.coalesce = Duration::milliseconds(30)});
  RawClient client(server.url);
  client.send(get);
  client.read_until("\r\n\r\n");
  server.push("first");  // The first after a pause does not wait.
  EXPECT_EQ(client.read_until("first\r\n"), "5\r\nfirst\r\n");
  server.thread.call([&] {
    for (int n = 0; n < 100; ++n) server.hub.push(std::string("x"));
  });
  EXPECT_EQ(client.read_until("x\r\n"), "64\r\n" + std::string(100, 'x') + "\r\n");
}

TEST(StreamTest, ThePusherHearsWhyAReaderWent) {
  std::vector<std::pair<std::string, Gone>> gone;
  std::vector<OpenStream> streams;
  TestServer server(
      [&](const Request& request, Answer answer) {
        OpenStream stream = answer.stream({});
        stream.on_gone([&, path = request.path](Gone why) { gone.emplace_back(path, why); });
        if (request.path != "/dropped") streams.push_back(std::move(stream));
      },
      at_once());
  const auto open = [&](const std::string& path) {
    auto client = std::make_unique<RawClient>(server.url);
    client->send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    client->read_until("\r\n\r\n");
    return client;
  };
  auto left = open("/left");
  auto stays = open("/stays");
  open("/dropped");
  left.reset();
  while (server.thread.call([&] { return gone.size(); }) < 1) std::this_thread::yield();
  server.thread.call([&] {
    EXPECT_FALSE(streams[0].push(std::string("late")));
    EXPECT_TRUE(streams[1].push(std::string("more")));
    server.server->stop(Duration::seconds(1), [] {});
    EXPECT_FALSE(streams[1].push(std::string("too late")));
  });
  EXPECT_THAT(stays->read_all(), testing::EndsWith("4\r\nmore\r\n0\r\n\r\n"));
  server.thread.call([&] {
    using Entry = std::pair<std::string, Gone>;
    EXPECT_THAT(gone,
                testing::ElementsAre(Entry("/left", Gone::left), Entry("/stays", Gone::stopping)));
    // Who asks afterwards hears it as well.
    streams[0].on_gone([&](Gone why) { gone.emplace_back("again", why); });
  });
  server.thread.call([&] { EXPECT_EQ(gone.size(), 3); });
}

TEST(StreamTest, AReaderWhoFallsBehindIsCutOffAndNobodyElse) {
  ServerSettings settings{.coalesce = Duration::milliseconds(5)};
  settings.limits.stream_bytes = 64 << 10U;
  const test::Folder folder;  // Unix sockets buffer less than TCP does, so it shows sooner.
  HubServer server(settings, {.address = "unix:" + folder / "s"});
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int n = 0; n < 200; ++n) {
    clients.push_back(std::make_unique<RawClient>(server.url));
    clients.back()->send(get);
    clients.back()->read_until("\r\n\r\n");
  }
  server.wait_for_readers(200);
  // The first one reads nothing from now on.
  const std::string chunk = std::string(20'000, 'c');
  std::vector<std::size_t> got(clients.size());
  std::size_t pushed = 0;
  while (server.counts().cut_off == 0 && pushed < 2'000) {
    server.push(chunk);
    ++pushed;
    for (std::size_t n = 1; n < clients.size(); ++n) {
      while (got[n] < pushed * chunk.size()) {
        const std::string more = clients[n]->read_some();
        ASSERT_FALSE(more.empty()) << n;
        got[n] += more.size();
      }
    }
  }
  EXPECT_EQ(server.counts().cut_off, 1);
  server.push("end");
  server.wait_for_readers(199);
  EXPECT_LT(clients[0]->read_all().size(), pushed * chunk.size());
}

TEST(StreamTest, TheKernelDoesNotQueueMegabytesForAReaderWhoFallsBehind) {
  ServerSettings settings = at_once();
  settings.limits.stream_bytes = 64 << 10U;
  HubServer server(settings);
  RawClient client(server.url);
  client.send(get);
  client.read_until("\r\n\r\n");
  server.wait_for_readers(1);
  const std::string chunk(20'000, 'c');
  std::size_t pushed = 0;
  for (; server.counts().cut_off == 0 && pushed < 10'000'000; pushed += chunk.size()) {
    server.push(chunk);
  }
  EXPECT_LT(pushed, 1'000'000);
}

TEST(StreamTest, WhatAReaderSendsBehindItsRequestIsBounded) {
  HubServer server(at_once());
  RawClient client(server.url);
  client.send(get);
  client.read_until("\r\n\r\n");
  std::thread sender([&] { client.send(std::string(8'000'000, 'x')); });
  for (int n = 0; n < 20; ++n) server.push("tick");
  EXPECT_EQ(test::times(client.read_until("tick"), "tick") > 0, true);
  server.thread.call([&] { server.server.reset(); });
  sender.join();
}

}  // namespace tutti::net::stream_test
