/// What a client may not do, and what it is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <vector>

#include "net/test_net.h"

extern "C" std::size_t __sanitizer_get_current_allocated_bytes() __attribute__((weak));

namespace tutti::net::limits_test {

using test::echo;
using test::RawClient;
using test::TestServer;
using testing::AllOf;
using testing::HasSubstr;

const std::string get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";

/// Everything that takes time takes 50 ms.
ServerSettings hasty() {
  ServerSettings settings;
  settings.limits.handshake = settings.limits.header = settings.limits.body = settings.limits.idle =
      settings.limits.write = Duration::milliseconds(50);
  return settings;
}

TEST(LimitsTest, TooLongHeadersAre431) {
  ServerSettings settings;
  settings.limits.header_bytes = 1'000;
  const TestServer server(echo, settings);
  const std::string start = "GET /a HTTP/1.1\r\nHost: h\r\nX: ";
  EXPECT_THAT(test::exchange(server.url, start + std::string(900, 'x') + "\r\n\r\n"),
              HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(test::exchange(server.url, start + std::string(1'000'000, 'x')),
              AllOf(HasSubstr("HTTP/1.1 431"), HasSubstr("more than 1000 bytes")));
}

// The client still sends when it is refused, and must read the answer all the same.
TEST(LimitsTest, TooLargeBodiesAre413) {
  ServerSettings settings;
  settings.limits.body_bytes = 1'000;
  TestServer server(echo, settings);
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_THAT(test::exchange(server.url, post + "Content-Length: 3000000\r\n\r\n" +
                                             std::string(3'000'000, 'x')),
              AllOf(HasSubstr("HTTP/1.1 413"), HasSubstr("\"body_too_large\"")));
  EXPECT_THAT(test::exchange(server.url, post + "Transfer-Encoding: chunked\r\n\r\n2dc6c0\r\n" +
                                             std::string(3'000'000, 'x')),
              HasSubstr("HTTP/1.1 413"));
  // Who asks first need not send it.
  EXPECT_THAT(test::exchange(server.url, post + "Expect: 100-continue\r\n"
                                                "Content-Length: 3000000\r\n\r\n"),
              AllOf(HasSubstr("HTTP/1.1 413"), testing::Not(HasSubstr("100 Continue"))));
}

TEST(LimitsTest, AllBodiesTogetherAreLimited) {
  ServerSettings settings;
  settings.limits.bodies_bytes = 10'000;
  TestServer server(echo, settings);
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\n";
  RawClient first(server.url);
  first.send(post + std::string(8'000, 'x'));
  while (server.counts().connections < 1) std::this_thread::yield();
  EXPECT_THAT(test::exchange(server.url, post + std::string(8'000, 'y')),
              HasSubstr("HTTP/1.1 503"));
  // The memory of those that went wrong is free again.
  first.send(std::string(1'000, 'x'));
  EXPECT_THAT(first.read_until("x]"), HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(test::exchange(server.url, post + std::string(9'000, 'y')),
              HasSubstr("HTTP/1.1 200"));
}

TEST(LimitsTest, ASilentConnectionIsClosedWithoutAWord) {
  const TestServer server(echo, hasty());
  RawClient client(server.url);
  EXPECT_EQ(client.read_all(), "");
  EXPECT_TRUE(client.closed());
}

TEST(LimitsTest, ARequestThatTricklesInIs408) {
  const TestServer server(echo, hasty());
  RawClient client(server.url);
  std::string got;
  for (const char byte : get.substr(0, get.size() - 2)) {
    if (!client.send({&byte, 1})) break;
    got += client.read_some(10);
  }
  got += client.read_all();
  EXPECT_THAT(got, AllOf(HasSubstr("HTTP/1.1 408"), HasSubstr("headers of the request")));
  RawClient poster(server.url);
  poster.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_THAT(poster.read_all(),
              AllOf(HasSubstr("HTTP/1.1 408"), HasSubstr("body of the request")));
}

// Each request has its time, however long the connection lives.
TEST(LimitsTest, ManyRequestsInARowMayTakeLongerThanOne) {
  const TestServer server(echo, hasty());
  RawClient client(server.url);
  client.send("GET");
  for (int n = 0; n < 12; ++n) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    client.send(get.substr(3) + "GET");
    ASSERT_THAT(client.read_until("GET /a"), HasSubstr("HTTP/1.1 200")) << n;
  }
}

TEST(LimitsTest, AClientThatTakesNothingIsClosed) {
  const std::string half(8'000'000, 'x');
  const std::string huge = half + half;
  TestServer server([&](const Request&, Answer answer) { answer.send({.body = huge}); }, hasty());
  RawClient client(server.url);
  client.send(get);
  while (server.counts().requests < 1 || server.counts().connections > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_LT(client.read_all().size(), huge.size());
}

// Slow answers are the server's affair: no deadline of the client's runs meanwhile.
TEST(LimitsTest, AnAnswerMayTakeLongerThanAnyDeadline) {
  std::optional<Answer> held;
  TestServer server([&](const Request&, Answer answer) { held = std::move(answer); }, hasty());
  RawClient client(server.url);
  client.send(get);
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  server.thread.call([&] { held->send({.body = "late"}); });
  EXPECT_THAT(client.read_until("late"), HasSubstr("HTTP/1.1 200"));
}

TEST(LimitsTest, TooManyConnectionsAre503) {
  ServerSettings settings;
  settings.limits.connections = 3;
  TestServer server(echo, settings);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int n = 0; n < 3; ++n) {
    clients.push_back(std::make_unique<RawClient>(server.url));
    clients.back()->send(get);
    EXPECT_THAT(clients.back()->read_until("GET /a"), HasSubstr("HTTP/1.1 200"));
  }
  EXPECT_THAT(test::exchange(server.url, get),
              AllOf(HasSubstr("HTTP/1.1 503"), HasSubstr("holds 3 connections")));
  // Far beyond the limit nobody is told any more.
  for (int n = 0; n < 200; ++n) clients.push_back(std::make_unique<RawClient>(server.url));
  EXPECT_TRUE(clients.back()->closed());
  EXPECT_LE(server.counts().connections, 3 + 64);
  EXPECT_GE(server.counts().turned_away, 201);
  clients.clear();
  while (server.counts().connections > 0) std::this_thread::yield();
  EXPECT_THAT(test::exchange(server.url, get), HasSubstr("HTTP/1.1 200"));
}

TEST(LimitsTest, TooManyConnectionsOfOnePeerAre503) {
  ServerSettings settings;
  settings.limits.connections_per_peer = 1;
  const test::Folder folder;
  TestServer server(echo, settings);
  const auto socket = server.thread.call(
      [&] { return server.server->listen({.address = "unix:" + folder / "s"}); });
  RawClient first(server.url);
  first.send(get);
  first.read_until("GET /a");
  EXPECT_THAT(test::exchange(server.url, get),
              AllOf(HasSubstr("HTTP/1.1 503"), HasSubstr("1 from 127.0.0.1")));
  EXPECT_THAT(test::exchange(*socket, get), HasSubstr("HTTP/1.1 200"));
}

TEST(LimitsTest, WithoutDescriptorsTheServerWaitsWithoutSpinning) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  TestServer server(echo);
  RawClient first(server.url);
  first.send(get);
  first.read_until("GET /a");
  // No descriptor is left beyond those of two clients.
  RawClient second(server.url);
  second.send(get);
  second.read_until("GET /a");
  const Descriptor next(::dup(0));
  rlimit tight = before;
  tight.rlim_cur = static_cast<rlim_t>(next.get()) + 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  std::vector<std::unique_ptr<RawClient>> waiting;
  waiting.push_back(std::make_unique<RawClient>(server.url));
  const std::clock_t cpu = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(std::clock() - cpu, CLOCKS_PER_SEC / 10);
  EXPECT_GE(server.counts().turned_away, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  waiting.back()->send(get);
  EXPECT_THAT(waiting.back()->read_until("GET /a"), HasSubstr("HTTP/1.1 200"));
}

/// Bytes of live heap memory, with and without sanitizers.
std::size_t heap_bytes() {
  return __sanitizer_get_current_allocated_bytes != nullptr
             ? __sanitizer_get_current_allocated_bytes()
             : ::mallinfo2().uordblks;
}

TEST(LimitsTest, IdleConnectionsHoldNoBuffers) {
  constexpr std::size_t count = 2'000;
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_cur < 2 * count + 100) GTEST_SKIP() << "ulimit -n is " << files.rlim_cur;
  TestServer server(echo);
  const std::size_t before = heap_bytes();
  std::vector<std::unique_ptr<RawClient>> clients;
  const std::string post =
      "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n" + std::string(2'000, 'x');
  for (std::size_t n = 0; n < count; ++n) {
    clients.push_back(std::make_unique<RawClient>(server.url));
    clients.back()->send(post);
    ASSERT_THAT(clients.back()->read_until("x]"), HasSubstr("HTTP/1.1 200"));
  }
  EXPECT_EQ(server.counts().connections, count);
  const std::size_t each = (heap_bytes() - before) / count;
  RecordProperty("heap_bytes_per_connection", static_cast<int>(each));
  EXPECT_LT(each, 3'000);
}

}  // namespace tutti::net::limits_test
