/// HTTP alone: `net_null`, requests a second of a POST of 200 bytes to a server that answers at
/// once, over 1 or 64 connections; the client runs on the same machine. What an API adds to it is
/// its own cost.
#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <future>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/case.h"
#include "net/http_server.h"
#include "net/socket.h"

namespace tutti::bench {
namespace {

using namespace tutti::net;

/// A server in a thread of its own.
class NullServer {
 public:
  explicit NullServer(bool unix_socket) {
    std::string folder = std::filesystem::temp_directory_path() / "tutti-bench-XXXXXX";
    CHECK(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    auto listening =
        server_.listen({.address = unix_socket ? "unix:" + folder + "/s" : "127.0.0.1:0"});
    CHECK(listening.has_value(), listening.error().text());
    url_ = *std::move(listening);
    thread_ = std::thread([this] { loop_.run(); });
  }
  NullServer(const NullServer&) = delete;
  NullServer& operator=(const NullServer&) = delete;
  ~NullServer() {
    loop_.stop();
    thread_.join();
    std::filesystem::remove_all(folder_);
  }

  Descriptor connect() const {
    Opened opened = url_.scheme == Url::Scheme::unix_socket
                        ? connect_unix(url_.socket)
                        : connect_tcp({.bytes = {127, 0, 0, 1}, .port = url_.port});
    CHECK(opened.error == 0, opened.error);
    return std::move(opened.socket);
  }

  /// CPU time of the server's thread.
  double seconds() {
    std::promise<double> out;
    loop_.post([&] {
      timespec time{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      out.set_value(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
    });
    return out.get_future().get();
  }

 private:
  static void answer(Request request, Answer answer) {
    benchmark::DoNotOptimize(request);
    answer.send({.status = 201,
                 .headers = {{"Content-Type", "application/json"}},
                 .body = R"({"id":"1"})"});
  }

  EventLoop loop_;
  HttpServer server_{loop_, {}, answer};
  std::string folder_;
  Url url_;
  std::thread thread_;
};

void wait_for(int socket, short what) {
  pollfd one{.fd = socket, .events = what, .revents = 0};
  CHECK(::poll(&one, 1, 10'000) == 1);
}

void measure_null(benchmark::State& state, bool unix_socket) {
  NullServer server(unix_socket);
  std::vector<Descriptor> clients(static_cast<std::size_t>(state.range(0)));
  for (Descriptor& client : clients) {
    client = server.connect();
    wait_for(client.get(), POLLOUT);
  }
  const std::string body(200, 'x');
  const std::string request =
      "POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: 200\r\n\r\n" +
      body;
  char answer[1'024];
  const double before = server.seconds();
  for (auto _ : state) {
    for (const Descriptor& client : clients) {
      CHECK(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(request.size()));
    }
    for (const Descriptor& client : clients) {
      wait_for(client.get(), POLLIN);
      CHECK(::recv(client.get(), answer, sizeof answer, 0) > 0);  // Small: it comes whole.
    }
  }
  const auto requests = static_cast<double>(state.iterations() * state.range(0));
  state.counters["server_us_per_request"] = (server.seconds() - before) * 1e6 / requests;
  state.counters["requests_per_second"] = benchmark::Counter(requests, benchmark::Counter::kIsRate);
}

}  // namespace

void register_net() {
  for (const bool unix_socket : {true, false}) {
    benchmark::RegisterBenchmark(
        unix_socket ? "net_null_unix" : "net_null_tcp",
        [unix_socket](benchmark::State& state) { measure_null(state, unix_socket); })
        ->Arg(1)
        ->Arg(64)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace tutti::bench
