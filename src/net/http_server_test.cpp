#include "net/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "net/test_net.h"

namespace tutti::net::http_server_test {

using test::echo;
using test::RawClient;
using test::TestServer;
using testing::HasSubstr;

const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

TEST(HttpServerTest, AnAnswerHasStatusLengthAndDate) {
  const TestServer server([](const Request&, Answer answer) {
    answer.send({.status = 201, .headers = {{"X-Y", "z"}}, .body = "made"});
  });
  const std::string got = test::exchange(server.url, get);
  EXPECT_THAT(got, testing::StartsWith("HTTP/1.1 201 Created\r\nDate: "));
  EXPECT_THAT(got, HasSubstr(" GMT\r\nX-Y: z\r\nContent-Length: 4\r\n\r\nmade"));
}

TEST(HttpServerTest, OneConnectionServesManyRequestsWhole) {
  const TestServer server(echo);
  RawClient client(server.url);
  for (int n = 0; n < 3; ++n) {
    client.send("POST /x?n=" + std::to_string(n) +
                " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
    EXPECT_THAT(client.read_until("]"), HasSubstr("POST /x n=" + std::to_string(n) + " [hi]"));
  }
}

TEST(HttpServerTest, ARequestMayComeByteByByte) {
  const TestServer server(echo);
  RawClient client(server.url);
  const std::string text =
      "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n" + get;
  for (const char byte : text) client.send({&byte, 1});
  EXPECT_THAT(client.read_until("GET /a"), HasSubstr("POST /p [ab]"));
}

// The second request is answered first; the client sees the first answer first.
TEST(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  std::vector<Answer> held;
  const TestServer server([&](const Request& request, Answer answer) {
    if (request.path == "/late") {
      held.push_back(std::move(answer));
      return;
    }
    echo(request, std::move(answer));
    if (held.size() == 2) {
      held[1].send({.body = "second late"});
      held[0].send({.body = "first late"});
      held.clear();
    }
  });
  const std::string late = "GET /late HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string got = test::exchange(server.url, late + get + late + get + get);
  const std::size_t places[] = {got.find("first late"), got.find("GET /a"), got.find("second late"),
                                got.rfind("GET /a")};
  EXPECT_TRUE(std::ranges::is_sorted(places)) << got;
  EXPECT_EQ(test::times(got, "GET /a"), 3);
}

TEST(HttpServerTest, ThousandsOfPipelinedRequestsPassAFewSlots) {
  ServerSettings settings;
  settings.limits.pipelined = 2;
  std::vector<Answer> held;
  TestServer server(
      [&](const Request& request, Answer answer) {
        // Every third one is answered later, so that the slots are full again and again.
        held.push_back(std::move(answer));
        if (held.size() < 2 && request.query_value("n") != "2999") return;
        for (Answer& one : held) one.send({.body = "!"});
        held.clear();
      },
      settings);
  std::string all;
  for (int n = 0; n < 3'000; ++n) {
    all += "GET /?n=" + std::to_string(n) + " HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  EXPECT_EQ(test::times(test::exchange(server.url, all), "\r\n\r\n!"), 3'000);
  EXPECT_EQ(server.counts().requests, 3'000);
}

TEST(HttpServerTest, AHeadRequestGetsTheHeadersAlone) {
  const TestServer server(echo);
  const std::string got = test::exchange(server.url, "HEAD /abc HTTP/1.1\r\nHost: h\r\n\r\n" + get);
  EXPECT_THAT(got, HasSubstr("Content-Length: 9\r\n\r\nHTTP/1.1 200 OK"));
}

TEST(HttpServerTest, SomeStatusesHaveNoBody) {
  const TestServer server([](const Request&, Answer answer) { answer.send({.status = 204}); });
  const std::string got = test::exchange(server.url, get);
  EXPECT_THAT(got, HasSubstr("204 No Content"));
  EXPECT_THAT(got, testing::Not(HasSubstr("Content-Length")));
}

TEST(HttpServerTest, AClientThatAsksFirstIsToldToContinue) {
  const TestServer server(echo);
  const std::string head =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
  RawClient client(server.url);
  client.send(head);
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("ok");
  EXPECT_THAT(client.read_until("[ok]"), testing::StartsWith("HTTP/1.1 200"));
  // One that does not wait is not told.
  EXPECT_THAT(test::exchange(server.url, head + "ok"), testing::StartsWith("HTTP/1.1 200"));
}

TEST(HttpServerTest, TheConnectionClosesWhenTheClientSaysSo) {
  const TestServer server(echo);
  RawClient client(server.url);
  client.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + get);
  const std::string got = client.read_all();
  EXPECT_THAT(got, HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(test::times(got, "HTTP/1.1 200"), 1);
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(test::times(test::exchange(server.url, "GET /a HTTP/1.0\r\n\r\n"), "close"), 1);
  EXPECT_EQ(test::times(test::exchange(server.url,
                                       "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get),
                        "HTTP/1.1 200"),
            2);
}

TEST(HttpServerTest, AnAnswerThatIsDroppedIs500) {
  std::vector<std::thread> elsewhere;
  {
    TestServer server([&](const Request& request, Answer answer) {
      if (request.path != "/elsewhere") return;
      elsewhere.emplace_back([dropped = std::move(answer)] {});
    });
    EXPECT_THAT(test::exchange(server.url, get),
                testing::AllOf(HasSubstr("HTTP/1.1 500"), HasSubstr("\"internal\"")));
    EXPECT_THAT(test::exchange(server.url, "GET /elsewhere HTTP/1.1\r\nHost: h\r\n\r\n"),
                HasSubstr("HTTP/1.1 500"));
  }
  for (std::thread& thread : elsewhere) thread.join();
}

TEST(HttpServerTest, AnAnswerMayOutliveItsConnectionAndItsServer) {
  std::vector<Answer> held;
  {
    TestServer server([&](const Request&, Answer answer) { held.push_back(std::move(answer)); });
    {
      RawClient(server.url).send(get);
    }
    RawClient stays(server.url);
    stays.send(get);
    while (server.thread.call([&] { return held.size(); }) < 2) std::this_thread::yield();
  }
  for (Answer& answer : held) {
    EXPECT_TRUE(answer.gone());
    answer.send({});
  }
  EXPECT_DEATH(held[0].send({}), "one answer only");
}

TEST(HttpServerTest, LargeBodiesPassBothWays) {
  TestServer server(
      [](Request request, Answer answer) { answer.send({.body = std::move(request.body)}); });
  std::string body(5'000'000, 'x');
  for (std::size_t at = 0; at < body.size(); at += 997) body[at] = static_cast<char>('a' + at % 26);
  RawClient client(server.url);
  std::thread sender([&] {
    client.send("POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  const std::string got = client.read_all();
  sender.join();
  EXPECT_TRUE(got.ends_with("\r\n\r\n" + body)) << got.size();
}

TEST(HttpServerTest, BadRequestsAreRefusedAndTheServerGoesOn) {
  TestServer server(echo);
  const std::string got =
      test::exchange(server.url, get + "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n" + get);
  EXPECT_EQ(test::times(got, "HTTP/1.1 200"), 1);
  EXPECT_THAT(got, HasSubstr("HTTP/1.1 400 Bad Request"));
  EXPECT_THAT(got, HasSubstr(R"({"error":{"code":"bad_request","message":)"));
  EXPECT_THAT(got, HasSubstr("Connection: close"));
  EXPECT_EQ(server.counts().refused, 1);
  EXPECT_THAT(test::exchange(server.url, get), HasSubstr("HTTP/1.1 200"));
}

TEST(HttpServerTest, APeerOnAUnixSocketIsKnown) {
  const test::Folder folder;
  std::optional<Peer> peer;
  TestServer server(
      [&](const Request& request, Answer answer) {
        peer = *request.peer;
        answer.send({});
      },
      {}, {.address = "unix:" + folder / "s", .socket_mode = 0622});
  EXPECT_EQ(server.url.text(), "unix://" + folder / "s");
  struct stat file{};
  ASSERT_EQ(::stat((folder / "s").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0622U);
  EXPECT_THAT(test::exchange(server.url, get), HasSubstr("200 OK"));
  ASSERT_TRUE(peer.has_value());
  EXPECT_TRUE(peer->local);
  EXPECT_EQ(peer->uid, ::geteuid());
  EXPECT_EQ(peer->gid, ::getegid());
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->address, "uid " + std::to_string(::geteuid()));
}

TEST(HttpServerTest, APeerOnTcpIsAnAddress) {
  std::optional<Peer> peer;
  const TestServer server([&](const Request& request, Answer answer) {
    peer = *request.peer;
    answer.send({});
  });
  test::exchange(server.url, get);
  ASSERT_TRUE(peer.has_value());
  EXPECT_FALSE(peer->local);
  EXPECT_EQ(peer->address, "127.0.0.1");
}

TEST(ListenTest, TheSocketOfADeadServerIsReplacedThatOfALivingOneIsNot) {
  const test::Folder folder;
  const std::string path = folder / "s";
  EventLoop loop;
  {
    auto first = ListeningSocket::unix_file(path, 0600);
    ASSERT_TRUE(first.has_value()) << first.error().text();
    const auto second = ListeningSocket::unix_file(path, 0600);
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Code::conflict);
    EXPECT_THAT(second.error().what, HasSubstr("process " + std::to_string(::getpid())));
    EXPECT_EQ(second.error().where, path);
    // As if it had been killed: the name stays, nobody listens.
    ASSERT_EQ(::link(path.c_str(), (folder / "dead").c_str()), 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto again = ListeningSocket::unix_file(folder / "dead", 0600);
  EXPECT_TRUE(again.has_value()) << again.error().text();
}

TEST(ListenTest, WhatIsNoSocketIsLeftAlone) {
  const test::Folder folder;
  const Descriptor file(::open((folder / "file").c_str(), O_CREAT | O_RDWR, 0600));
  const auto listener = ListeningSocket::unix_file(folder / "file", 0600);
  ASSERT_FALSE(listener.has_value());
  EXPECT_EQ(listener.error().code, Code::conflict);
  EXPECT_TRUE(std::filesystem::exists(folder / "file"));
  const auto missing = ListeningSocket::unix_file(folder / "no/s", 0600);
  ASSERT_FALSE(missing.has_value());
  EXPECT_THAT(missing.error().text(), HasSubstr("make its folder first"));
  const auto longer = ListeningSocket::unix_file(folder / std::string(200, 'x'), 0600);
  ASSERT_FALSE(longer.has_value());
  EXPECT_THAT(longer.error().what, HasSubstr("may have 107 bytes"));
}

TEST(ListenTest, ABusyPortIsAnErrorWithItsPlace) {
  const auto first = ListeningSocket::tcp("127.0.0.1:0");
  ASSERT_TRUE(first.has_value());
  const auto second = ListeningSocket::tcp(first->address());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_EQ(second.error().what, "the port is in use");
  EXPECT_EQ(second.error().where, first->address());
}

TEST(ListenTest, BadAddressesSayWhatIsWrong) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"127.0.0.1", "port is missing"},   {"127.0.0.1:x", "\"x\" is no port"},
      {"127.0.0.1:70000", "65535"},       {":80", "host is missing"},
      {"::1:80", "in brackets"},          {"192.0.2.1:0", "cannot listen"},
      {"no-host.invalid:0", "no address"}};
  for (const auto& [address, why] : cases) {
    const auto listener = ListeningSocket::tcp(address);
    ASSERT_FALSE(listener.has_value()) << address;
    EXPECT_THAT(listener.error().what, HasSubstr(why));
    EXPECT_EQ(listener.error().where, address);
  }
}

TEST(StopTest, WhatIsInFlightIsFinishedAndNothingElseTaken) {
  const test::Folder folder;
  std::vector<Answer> held;
  TestServer server([&](const Request&, Answer answer) { held.push_back(std::move(answer)); }, {},
                    {.address = "unix:" + folder / "s"});
  RawClient busy(server.url);
  RawClient idle(server.url);
  RawClient half(server.url);
  busy.send(get);
  half.send("GET /a HT");
  while (server.thread.call([&] { return held.size(); }) < 1) std::this_thread::yield();
  std::promise<void> stopped;
  server.thread.call(
      [&] { server.server->stop(Duration::seconds(5), [&] { stopped.set_value(); }); });
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(half.closed());
  EXPECT_FALSE(std::filesystem::exists(folder / "s"));
  server.thread.call([&] { held[0].send({.body = "done"}); });
  const std::string got = busy.read_all();
  EXPECT_THAT(got, testing::AllOf(HasSubstr("Connection: close"), testing::EndsWith("done")));
  busy.end();
  EXPECT_EQ(stopped.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST(StopTest, AfterTheGraceAllIsClosed) {
  std::vector<Answer> held;
  TestServer server([&](const Request&, Answer answer) { held.push_back(std::move(answer)); });
  RawClient busy(server.url);
  busy.send(get);
  while (server.thread.call([&] { return held.size(); }) < 1) std::this_thread::yield();
  std::promise<void> stopped;
  server.thread.call(
      [&] { server.server->stop(Duration::milliseconds(20), [&] { stopped.set_value(); }); });
  EXPECT_EQ(stopped.get_future().wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_TRUE(busy.closed());
}

}  // namespace tutti::net::http_server_test
