/// Clients that send, wait, break off and come back at random against a server that answers now,
/// later, never or bit by bit: every client that stays gets all of its answers, whole and in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "net/http_client.h"
#include "net/test_net.h"

namespace tutti::net::chaos_test {

using test::RawClient;
using test::TestServer;

/// What a client asks for stands in its path, so that it knows what must come: "/<kind>/<number>".
std::string request_text(Prng& prng, std::string_view kind, std::uint64_t number) {
  std::string out = std::string(kind == "post" ? "POST" : "GET") + " /" + std::string(kind) + "/" +
                    std::to_string(number) + " HTTP/1.1\r\nHost: h\r\n";
  if (kind != "post") return out + "\r\n";
  const std::string body(prng.below(3'000), 'b');
  if (prng.below(2) == 0) {
    return out + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  out += "Transfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t size = std::min<std::size_t>(1 + prng.below(1'000), body.size() - at);
    char head[32];
    std::snprintf(head, sizeof head, "%zx\r\n", size);
    out += head + body.substr(at, size) + "\r\n";
    at += size;
  }
  return out + "0\r\n\r\n";
}

/// Answers by the kind of the request, and by chance.
class WhimsicalServer {
 public:
  explicit WhimsicalServer(std::uint64_t seed)
      : prng_(seed),
        server([this](const Request& request, Answer answer) { serve(request, std::move(answer)); },
               settings()) {}
  ~WhimsicalServer() {
    server.thread.call([&] {
      server.server.reset();  // What still comes would make new ones.
      timers_.clear();
      streams_.clear();
    });
  }

  static ServerSettings settings() {
    ServerSettings out{.coalesce = Duration::milliseconds(1)};
    out.limits.pipelined = 3;
    return out;
  }

 private:
  void serve(const Request& request, Answer answer) {
    const std::string mark = "<" + request.path + ">";
    if (request.path.starts_with("/late/") || prng_.below(4) == 0) {
      auto held = std::make_shared<Answer>(std::move(answer));
      timers_.push_back(
          server.thread.loop.after(Duration{static_cast<std::int64_t>(prng_.below(2'000))},
                                   [held, mark] { held->send({.body = mark}); }));
    } else if (request.path.starts_with("/stream/")) {
      OpenStream stream = answer.stream({});
      stream.push(mark.substr(0, 3));
      stream.push(mark.substr(3));
      if (prng_.below(2) == 0) streams_.push_back(std::move(stream));
      if (streams_.size() > 3) streams_.erase(streams_.begin());
      timers_.push_back(server.thread.loop.after(Duration::milliseconds(2), [this] {
        if (!streams_.empty()) streams_.erase(streams_.begin());
      }));
    } else if (request.path.starts_with("/dropped/")) {
      return;
    } else {
      answer.send({.body = mark + std::string(prng_.below(20'000), 'x')});
    }
  }

  Prng prng_;
  std::vector<Timer> timers_;
  std::vector<OpenStream> streams_;

 public:
  TestServer server;
};

/// Sends `count` requests and a last one in pieces, reads along, and looks at the answers.
void run_client(const Url& url, Prng& prng, std::size_t count) {
  constexpr std::string_view kinds[] = {"now", "late", "stream", "dropped", "post"};
  std::string to_send;
  std::vector<std::string> expected;
  for (std::size_t number = 0; number <= count; ++number) {
    const std::string_view kind = number < count ? kinds[prng.below(5)] : "end";
    to_send += request_text(prng, kind, number);
    expected.push_back("/" + std::string(kind) + "/" + std::to_string(number));
  }
  const bool breaks_off = prng.below(4) == 0;
  if (breaks_off) to_send.resize(prng.below(static_cast<std::uint32_t>(to_send.size())));
  RawClient client(url);
  std::string got;
  for (std::size_t at = 0; at < to_send.size();) {
    const std::size_t size = std::min<std::size_t>(1 + prng.below(700), to_send.size() - at);
    ASSERT_TRUE(client.send(std::string_view(to_send).substr(at, size)));
    at += size;
    if (prng.below(8) == 0) got += client.read_some(/*milliseconds=*/1);
  }
  if (breaks_off) return;
  while (got.find("<" + expected.back() + ">") == std::string::npos) {
    const std::string more = client.read_some();
    if (more.empty()) break;
    got += more;
  }
  EXPECT_EQ(test::times(got, "HTTP/1.1 "), count + 1);
  std::size_t at = 0;
  for (const std::string& path : expected) {
    if (path.starts_with("/dropped")) continue;
    // A stream may be cut between the two pieces of its mark.
    const std::size_t found = got.find(path.substr(2) + ">", at);
    ASSERT_NE(found, std::string::npos) << path;
    at = found;
  }
}

/// TUTTI_NET_SEEDS asks for more of them.
std::uint64_t seeds() {
  const char* const wanted = std::getenv("TUTTI_NET_SEEDS");
  return wanted != nullptr ? std::stoul(wanted) : 10;
}

/// Calls of one client that begin, and partly are dropped, at random times.
class RandomCalls {
 public:
  RandomCalls(WhimsicalServer& whimsical, std::uint64_t seed) : whimsical_(whimsical), prng_(seed) {
    for (std::size_t which = 0; which < calls_.size(); ++which) {
      at_some_time([this, which] { begin(which); });
      if (prng_.below(4) == 0) at_some_time([this, which] { drop(which); });
    }
    if (prng_.below(2) == 0) {
      at_some_time(
          [this] { whimsical_.server.thread.call([this] { whimsical_.server.server.reset(); }); });
    }
  }

  void run() {
    loop_.run();
    for (const One& one : calls_) EXPECT_EQ(one.ended, one.dropped ? 0 : 1) << one.path;
  }

 private:
  struct One {
    std::string path;
    std::optional<Call> call;
    int ended = 0;
    bool dropped = false;
  };

  void at_some_time(EventLoop::Task task) {
    timers_.push_back(loop_.after(Duration{prng_.below(20'000)}, std::move(task)));
  }

  void begin(std::size_t which) {
    constexpr std::string_view kinds[] = {"now", "late", "stream", "dropped", "post"};
    One& one = calls_[which];
    one.path = "/" + std::string(kinds[prng_.below(5)]) + "/" + std::to_string(which);
    ClientRequest request{.method = prng_.below(2) == 0 ? "GET" : "POST",
                          .url = whimsical_.server.url.with_target(one.path),
                          .body = std::string(prng_.below(2'000), 'b')};
    if (prng_.below(2) == 0) {
      one.call = client_.follow(
          std::move(request),
          {.head = nullptr, .body = nullptr, .end = [this, &one](const auto&) { end(one); }});
      return;
    }
    one.call = client_.send(std::move(request), [this, &one](const Result<Response>& got) {
      if (got && got->status == 200) {
        EXPECT_THAT(got->body, testing::HasSubstr(one.path));
      }
      end(one);
    });
  }

  void end(One& one) {
    ++one.ended;
    if (prng_.below(2) == 0) one.call.reset();  // In its own callback.
    if (--left_ == 0) loop_.stop();
  }

  void drop(std::size_t which) {
    One& one = calls_[which];
    if (!one.call || one.ended > 0) return;
    one.call.reset();
    one.dropped = true;
    if (--left_ == 0) loop_.stop();
  }

  WhimsicalServer& whimsical_;
  Prng prng_;
  EventLoop loop_;
  HttpClient client_{loop_};
  std::vector<One> calls_{60};
  std::size_t left_ = calls_.size();
  std::vector<Timer> timers_;
};

// Whatever the server does, and in half of the runs it goes away.
TEST(ChaosTest, EveryCallThatIsKeptEndsOnceAndADroppedOneNever) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE(seed);
    WhimsicalServer whimsical(seed);
    RandomCalls(whimsical, seed).run();
  }
}

TEST(ChaosTest, EveryClientThatStaysGetsItsAnswersInOrder) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE(seed);
    WhimsicalServer whimsical(seed);
    std::vector<std::thread> clients;
    for (std::uint64_t client = 0; client < 4; ++client) {
      clients.emplace_back([&, client] {
        Prng prng(seed * 100 + client);
        for (int round = 0; round < 5; ++round) {
          run_client(whimsical.server.url, prng, 1 + prng.below(30));
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
}

}  // namespace tutti::net::chaos_test
