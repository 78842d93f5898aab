#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>
#include <vector>

#include "net/test_net.h"

namespace tutti::net::http_client_test {

using test::echo;
using test::TestServer;
using testing::AllOf;
using testing::HasSubstr;

ClientRequest request_to(const Url& url, std::string target = "/", std::string method = "GET",
                         std::string body = "") {
  return {.method = std::move(method),
          .url = url.with_target(std::move(target)),
          .body = std::move(body),
          .deadline = Duration::seconds(5)};
}

/// What fetch brings, as text.
std::string fetched(const ClientRequest& request, const ClientSettings& settings = {}) {
  const auto got = fetch(request, settings);
  return got ? std::to_string(got->status) + " " + got->body : got.error().text();
}

/// A server that answers every connection with some bytes, whatever is sent.
class CannedServer {
 public:
  enum class Then { close, stay, close_at_next_request };

  explicit CannedServer(std::string bytes, Then then = Then::close)
      : listener_(ListeningSocket::tcp("127.0.0.1:0").value()),
        url(Url::parse("http://" + listener_.address()).value()),
        thread_([this, bytes = std::move(bytes), then] { serve(bytes, then); }) {}
  ~CannedServer() {
    stop_.set_value();
    thread_.join();
  }
  int served() const { return served_; }

 private:
  void serve(const std::string& bytes, Then then) {
    const auto stopped = stop_.get_future();
    std::vector<Descriptor> open;
    while (stopped.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
      Opened opened = accept_one(listener_);
      if (!opened.socket.valid()) continue;
      ++served_;
      read_request(opened.socket.get());
      ::send(opened.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (then == Then::close_at_next_request) read_request(opened.socket.get());
      if (then == Then::stay) open.push_back(std::move(opened.socket));
    }
  }

  static void read_request(int socket) {
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    ::poll(&one, 1, 1'000);
    char buffer[65'536];
    while (::recv(socket, buffer, sizeof buffer, 0) > 0) continue;
  }

  ListeningSocket listener_;
  std::promise<void> stop_;
  std::atomic<int> served_ = 0;

 public:
  Url url;

 private:
  std::thread thread_;
};

TEST(FetchTest, BringsTheWholeAnswerWhateverItsStatus) {
  const TestServer server([](const Request& request, Answer answer) {
    if (request.path == "/none") return answer.send(error_response(404, "not_found", "none"));
    answer.send({.headers = {{"X-Host", request.headers.find("host").value_or("")}},
                 .body = request.method + request.target + request.body});
  });
  const auto got = fetch(request_to(server.url, "/a?b=c", "POST", "body"));
  ASSERT_TRUE(got.has_value()) << got.error().text();
  EXPECT_EQ(got->body, "POST/a?b=cbody");
  EXPECT_EQ(got->headers.find("X-Host"), server.url.host_header());
  EXPECT_THAT(fetched(request_to(server.url, "/none")), HasSubstr("404 {\"error\":"));
  EXPECT_EQ(fetched(request_to(server.url, "/abc", "HEAD")), "200 ");
}

TEST(FetchTest, ReachesUnixSocketsAndNames) {
  const test::Folder folder;
  TestServer server(echo, {}, {.address = "unix:" + folder / "s"});
  EXPECT_EQ(fetched(request_to(server.url, "/a")), "200 GET /a");
  const Url tcp =
      server.thread.call([&] { return server.server->listen({.address = "localhost:0"}).value(); });
  Url named = tcp;
  named.host = "localhost";
  EXPECT_EQ(fetched(request_to(named, "/b")), "200 GET /b");
}

TEST(FetchTest, LargeBodiesPassBothWays) {
  const TestServer server(
      [](Request request, Answer answer) { answer.send({.body = std::move(request.body)}); });
  std::string body(3'000'000, 'x');
  for (std::size_t at = 0; at < body.size(); at += 991) body[at] = static_cast<char>('a' + at % 26);
  EXPECT_EQ(fetched(request_to(server.url, "/", "PUT", body)), "200 " + body);
}

TEST(FetchTest, ErrorsSayWhatAndWhere) {
  const test::Folder folder;
  std::string address;
  {
    address = ListeningSocket::tcp("127.0.0.1:0")->address();
  }
  const Url closed = Url::parse("http://" + address).value();
  EXPECT_THAT(
      fetched(request_to(closed, "/x")),
      AllOf(HasSubstr("error: http://" + address + "/x: connection refused"), HasSubstr("hint:")));
  const Url missing = Url::parse("unix://" + folder / "none").value();
  EXPECT_THAT(fetched(request_to(missing)), HasSubstr("there is no such socket"));
  {
    const Descriptor stale(::dup(ListeningSocket::unix_file(folder / "s", 0600)->descriptor()));
  }
  Url longer = missing;
  longer.socket = folder / std::string(200, 'x');
  EXPECT_THAT(fetched(request_to(longer)), HasSubstr("too long"));
  const Url unknown = Url::parse("http://no-such-host.invalid").value();
  EXPECT_THAT(fetched(request_to(unknown)), HasSubstr("no host of this name"));
}

TEST(FetchTest, AServerThatSaysNothingIsWaitedForNoLongerThanAsked) {
  const CannedServer silent("", CannedServer::Then::stay);
  ClientRequest request = request_to(silent.url);
  request.deadline = Duration::milliseconds(50);
  const Instant before = EventLoop::now();
  EXPECT_THAT(fetched(request), HasSubstr("no answer within 0.05 s"));
  EXPECT_LT(EventLoop::now() - before, Duration::seconds(1));
}

TEST(FetchTest, ServersThatMisbehaveAreErrors) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "without an answer"},
      {"HTTP/1.1 200 OK\r\nContent-Le", "in the middle of its answer"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "in the middle of its answer"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", "in the middle"},
      {"SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "no HTTP"},
      {"HTTP/1.1 200 OK\r\nX: \x01\r\n\r\n", "no HTTP"},
  };
  for (const auto& [bytes, why] : cases) {
    const CannedServer server{std::string(bytes)};
    EXPECT_THAT(fetched(request_to(server.url)), HasSubstr(why)) << bytes;
  }
  const CannedServer header("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x'));
  EXPECT_THAT(fetched(request_to(header.url)), HasSubstr("header"));
  const CannedServer body("HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, 'x'));
  EXPECT_THAT(fetched(request_to(body.url), {.body_bytes = 50'000}), HasSubstr("50000 bytes"));
  EXPECT_THAT(fetched(request_to(body.url)), HasSubstr("200 xxx"));
}

// It answers before it has read the request, and closes.
TEST(FetchTest, AnEarlyRefusalIsReadAllTheSame) {
  ServerSettings settings;
  settings.limits.body_bytes = 1'000;
  const TestServer server(echo, settings);
  EXPECT_THAT(fetched(request_to(server.url, "/", "POST", std::string(4'000'000, 'x'))),
              HasSubstr("413 {\"error\""));
}

/// A client and its loop on the test's own thread.
struct LoopClient {
  explicit LoopClient(ClientSettings settings = {}) : client(loop, std::move(settings)) {}

  std::string get(const ClientRequest& request) {
    std::string out;
    const Call call = client.send(request, [&](Result<Response> got) {
      out = got ? std::to_string(got->status) + " " + got->body : got.error().text();
      loop.stop();
    });
    loop.run();
    return out;
  }

  EventLoop loop;
  HttpClient client;
};

TEST(HttpClientTest, ConnectionsAreKept) {
  TestServer server(echo);
  LoopClient client;
  for (int n = 0; n < 5; ++n) EXPECT_EQ(client.get(request_to(server.url)), "200 GET /");
  EXPECT_EQ(server.counts().accepted, 1);
}

TEST(HttpClientTest, ManyRequestsAtOnceUseConnectionsOfTheirOwn) {
  TestServer server(echo);
  LoopClient client;
  std::vector<Call> calls;
  int done = 0;
  for (int n = 0; n < 20; ++n) {
    calls.push_back(client.client.send(request_to(server.url, "/" + std::to_string(n)),
                                       [&, n](Result<Response> got) {
                                         EXPECT_EQ(got.value().body, "GET /" + std::to_string(n));
                                         if (++done == 20) client.loop.stop();
                                       }));
  }
  EXPECT_EQ(done, 0);  // Not inside send.
  client.loop.run();
  EXPECT_EQ(server.counts().accepted, 20);
}

TEST(HttpClientTest, AKeptConnectionThatWasClosedIsNotUsed) {
  ServerSettings settings;
  settings.limits.idle = Duration::milliseconds(20);
  TestServer server(echo, settings);
  LoopClient client;
  for (int n = 0; n < 3; ++n) {
    EXPECT_EQ(client.get(request_to(server.url, "/", "POST", "x")), "200 POST / [x]");
    while (server.counts().connections > 0) std::this_thread::yield();
  }
  EXPECT_EQ(server.counts().accepted, 3);
}

// The server closes a kept connection when the next request comes: what may be repeated is, once.
TEST(HttpClientTest, ARequestThatMayBeRepeatedIsRepeatedOnce) {
  const CannedServer server("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1",
                            CannedServer::Then::close_at_next_request);
  LoopClient client;
  EXPECT_EQ(client.get(request_to(server.url)), "200 1");
  EXPECT_EQ(client.get(request_to(server.url)), "200 1");
  EXPECT_EQ(server.served(), 2);
  EXPECT_THAT(client.get(request_to(server.url, "/", "POST")),
              AllOf(HasSubstr("without an answer"), HasSubstr("may have done")));
  EXPECT_EQ(server.served(), 2);
}

TEST(HttpClientTest, ADroppedCallIsSilent) {
  std::vector<Answer> held;
  TestServer server([&](const Request&, Answer answer) { held.push_back(std::move(answer)); });
  LoopClient client;
  {
    const Call at_once = client.client.send(request_to(server.url), [](auto) { FAIL(); });
  }
  std::optional<Call> later = client.client.send(request_to(server.url), [](auto) { FAIL(); });
  const Timer drop = client.loop.after(Duration::milliseconds(30), [&] { later.reset(); });
  const Timer end = client.loop.after(Duration::milliseconds(60), [&] { client.loop.stop(); });
  client.loop.run();
  server.thread.call([&] {
    ASSERT_EQ(held.size(), 1);
    held[0].send({});
  });
}

TEST(HttpClientTest, ACallMayBeDroppedInItsOwnCallback) {
  const TestServer server(echo);
  LoopClient client;
  std::optional<Call> call;
  call = client.client.send(request_to(server.url), [&, guard = std::make_shared<int>(7)](auto) {
    call.reset();
    EXPECT_EQ(*guard, 7);
    client.loop.stop();
  });
  client.loop.run();
  call = client.client.follow(request_to(server.url), {.head =
                                                           [&](const Response&) {
                                                             call.reset();
                                                             client.loop.stop();
                                                           },
                                                       .body = [](auto) { FAIL(); },
                                                       .end = [](auto) { FAIL(); }});
  client.loop.run();
}

TEST(HttpClientTest, AStreamIsFollowedUntilItEndsOrBreaks) {
  std::vector<OpenStream> streams;
  TestServer server(
      [&](const Request&, Answer answer) { streams.push_back(answer.stream({.status = 202})); },
      {.coalesce = Duration{}});
  for (const bool ends : {true, false}) {
    LoopClient client;
    std::string log;
    const auto push = [&](std::string chunk) {
      server.thread.loop.post([&, chunk = std::move(chunk)] { streams.back().push(chunk); });
    };
    const auto finish = [&] {
      server.thread.loop.post([&] {
        if (ends) return streams.clear();
        server.server.reset();
      });
    };
    const Call call = client.client.follow(request_to(server.url),
                                           {.head =
                                                [&](const Response& head) {
                                                  log += std::to_string(head.status);
                                                  push("a");
                                                },
                                            .body =
                                                [&](std::string_view piece) {
                                                  log += piece;
                                                  if (log.size() < 6) return push("b");
                                                  finish();
                                                },
                                            .end =
                                                [&](Result<void> end) {
                                                  log += end ? " end" : " " + end.error().what;
                                                  client.loop.stop();
                                                }});
    client.loop.run();
    EXPECT_EQ(log, ends ? "202abb end"
                        : "202abb the server closed the connection in the middle of its answer");
  }
}

TEST(HttpClientTest, AFollowedStreamThatFallsSilentFails) {
  std::vector<OpenStream> streams;
  const TestServer server(
      [&](const Request&, Answer answer) { streams.push_back(answer.stream({})); });
  LoopClient client;
  std::string log;
  ClientRequest request = request_to(server.url);
  request.deadline = Duration::milliseconds(200);
  request.silence = Duration::milliseconds(50);
  const Call call = client.client.follow(
      std::move(request), {.head = nullptr, .body = nullptr, .end = [&](Result<void> end) {
                             log = end.error().what;
                             client.loop.stop();
                           }});
  client.loop.run();
  EXPECT_EQ(log, "nothing came for 0.05 s");
}

}  // namespace tutti::net::http_client_test
