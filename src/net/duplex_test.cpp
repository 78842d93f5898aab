#include "net/duplex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>

#include "net/http_client.h"
#include "net/test_net.h"

namespace tutti::net::duplex_test {

using test::RawClient;
using test::TestServer;
using testing::AllOf;
using testing::HasSubstr;

const std::string ask =
    "GET /t HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: other, terminal\r\n\r\n";

/// Changes to "terminal" and sends back what comes, in capitals; "quit" ends it.
class ShoutingServer : public TestServer {
 public:
  explicit ShoutingServer(const ListenAt& at = {.address = "127.0.0.1:0"})
      : TestServer(
            [this](const Request& request, Answer answer) {
              if (request.path == "/plain") return answer.send({.body = "plain"});
              const int id = next++;
              Duplex& duplex = duplexes[id] = answer.upgrade("terminal", {{"X-Id", "7"}});
              duplex.start(
                  [this, id](std::string_view bytes) {
                    std::string loud(bytes);
                    for (char& c : loud) c = static_cast<char>(std::toupper(c));
                    Duplex& mine = duplexes.at(id);
                    mine.write(loud);
                    if (loud.find("QUIT") != std::string::npos) duplexes.erase(id);
                  },
                  [this](Result<void> end) { ends.push_back(end ? "end" : end.error().what); });
            },
            {}, at) {}
  ~ShoutingServer() {
    thread.call([&] { duplexes.clear(); });
  }

  int next = 0;
  std::map<int, Duplex> duplexes;
  std::vector<std::string> ends;
};

TEST(DuplexTest, AConnectionIsHandedOver) {
  ShoutingServer server;
  RawClient client(server.url);
  client.send(ask);
  EXPECT_THAT(
      client.read_until("\r\n\r\n"),
      AllOf(testing::StartsWith("HTTP/1.1 101 Switching Protocols\r\n"), HasSubstr("X-Id: 7\r\n"),
            HasSubstr("Connection: Upgrade\r\n"), HasSubstr("Upgrade: terminal\r\n")));
  client.send("hello");
  EXPECT_EQ(client.read_until("HELLO"), "HELLO");
  client.send("quit");
  EXPECT_EQ(client.read_all(), "QUIT");
  EXPECT_TRUE(client.closed());
  client.end();
  while (server.counts().connections > 0) std::this_thread::yield();
}

TEST(DuplexTest, BytesBehindTheRequestBelongToTheNewProtocol) {
  ShoutingServer server;
  RawClient client(server.url);
  client.send(ask + "GET / HTTP/1.1\r\n");
  EXPECT_THAT(client.read_until("GET / HTTP/1.1\r\n"),
              testing::EndsWith("\r\n\r\nGET / HTTP/1.1\r\n"));
}

TEST(DuplexTest, WhoDoesNotAskForItIsRefused) {
  ShoutingServer server;
  const std::string plain = "GET /plain HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string without = "GET /t HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_THAT(test::exchange(server.url, without + plain),
              AllOf(HasSubstr("426 Upgrade Required"), HasSubstr("Upgrade: terminal\r\n"),
                    testing::EndsWith("plain")));
  // A server need not change, and then the connection goes on as it was.
  std::string unchanged = ask;
  unchanged.replace(4, 2, "/plain");
  const std::string got = test::exchange(server.url, unchanged + plain);
  EXPECT_EQ(test::times(got, "plain"), 2);
}

TEST(DuplexTest, TheEndOfTheOtherSideIsHeardOnce) {
  ShoutingServer server;
  {
    RawClient client(server.url);
    client.send(ask + "bye");
    client.read_until("BYE");
    client.end();
    while (server.thread.call([&] { return server.ends.size(); }) < 1) std::this_thread::yield();
    // It may still be written to.
    server.thread.call([&] { EXPECT_TRUE(server.duplexes.at(0).write("late")); });
    EXPECT_EQ(client.read_until("late"), "late");
  }
  server.thread.call([&] { EXPECT_THAT(server.ends, testing::ElementsAre("end")); });
}

TEST(DuplexTest, AStoppingServerEndsItAfterTheGrace) {
  ShoutingServer server;
  RawClient client(server.url);
  client.send(ask);
  client.read_until("\r\n\r\n");
  std::promise<void> stopped;
  server.thread.call(
      [&] { server.server->stop(Duration::milliseconds(20), [&] { stopped.set_value(); }); });
  stopped.get_future().wait();
  server.thread.call([&] { EXPECT_THAT(server.ends, testing::ElementsAre("the server stops")); });
  EXPECT_TRUE(client.closed());
}

TEST(DuplexTest, AClientSpeaksToAServer) {
  const test::Folder folder;
  ShoutingServer server({.address = "unix:" + folder / "s"});
  EventLoop loop;
  HttpClient client(loop);
  std::string log;
  Duplex duplex;
  const Call call = client.upgrade({.url = server.url}, "terminal", [&](Result<Duplex> got) {
    ASSERT_TRUE(got.has_value()) << got.error().text();
    duplex = *std::move(got);
    duplex.start(
        [&](std::string_view bytes) {
          log += bytes;
          if (log == "HELLO") duplex.write("quit");
        },
        [&](Result<void> end) {
          log += end ? " end" : end.error().what;
          loop.stop();
        });
    duplex.write("hello");
  });
  loop.run();
  EXPECT_EQ(log, "HELLOQUIT end");
}

TEST(DuplexTest, ARefusalIsAnErrorWithWhatTheServerSaid) {
  ShoutingServer server;
  EventLoop loop;
  HttpClient client(loop);
  std::string log;
  for (const std::string_view protocol : {"terminal", "dance"}) {
    const Url url = server.url.with_target(protocol == "dance" ? "/t" : "/plain");
    const Call call = client.upgrade({.url = url}, protocol, [&](Result<Duplex> got) {
      log += got ? "got" : got.error().what + "|";
      loop.stop();
    });
    loop.run();
  }
  EXPECT_THAT(log, AllOf(HasSubstr("the server answered 200 OK: plain|"),
                         HasSubstr("426 Upgrade Required: {\"error\"")));
}

// Megabytes both ways at once, with a reader that holds: its writer waits, and nothing is lost.
TEST(DuplexTest, ManyBytesPassAHeldReader) {
  constexpr std::size_t size = 4'000'000;
  std::optional<Duplex> mine;
  std::size_t arrived = 0;
  const test::Folder folder;  // Unix sockets buffer less than TCP does.
  TestServer server(
      [&](const Request&, Answer answer) {
        mine = answer.upgrade("terminal");
        mine->hold(true);
        mine->start([&](std::string_view bytes) { arrived += bytes.size(); }, [](const auto&) {});
        mine->write(std::string(size, 's'));
      },
      {}, {.address = "unix:" + folder / "s"});
  EventLoop loop;
  HttpClient client(loop);
  Duplex duplex;
  std::size_t got_back = 0;
  bool written = false;
  const Call call = client.upgrade({.url = server.url}, "terminal", [&](Result<Duplex> got) {
    duplex = *std::move(got);
    duplex.start([&](std::string_view bytes) { got_back += bytes.size(); }, [](const auto&) {});
    duplex.on_written([&] {
      written = true;
      loop.stop();
    });
    duplex.write(std::string(size, 'c'));
    EXPECT_GT(duplex.queued(), 0);
  });
  const Timer later = loop.after(Duration::milliseconds(30), [&] {
    EXPECT_FALSE(written);
    server.thread.loop.post([&] { mine->hold(false); });
  });
  loop.run();
  while (server.thread.call([&] { return arrived; }) < size) std::this_thread::yield();
  const Timer poll = loop.after(Duration::milliseconds(200), [&] { loop.stop(); });
  while (got_back < size && poll.waiting()) loop.run();
  EXPECT_EQ(got_back, size);
  server.thread.call([&] { mine.reset(); });
}

}  // namespace tutti::net::duplex_test
