/// HTTP alone, the client on the same machine: `net_null`, requests a second of a POST of 200 bytes
/// to a server that answers at once, over 1 or 64 connections, so that what an API adds to it is
/// its own cost; `net_streams`, 500 events a second to N readers, how late they come; `net_idle`,
/// the memory of N connections on which nothing happens.
#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>
#include <vector>

#include "base/check.h"
#include "bench/case.h"
#include "net/http_server.h"
#include "net/socket.h"
#include "net/stream_hub.h"

namespace tutti::bench {
namespace {

using namespace tutti::net;

/// A server in a thread of its own.
class Server {
 public:
  explicit Server(bool unix_socket, const HttpServer::OnRequest& on_request = answer)
      : server_(loop_, settings(), on_request) {
    std::string folder = std::filesystem::temp_directory_path() / "tutti-bench-XXXXXX";
    CHECK(::mkdtemp(folder.data()) != nullptr);
    folder_ = folder;
    auto listening =
        server_.listen({.address = unix_socket ? "unix:" + folder + "/s" : "127.0.0.1:0"});
    CHECK(listening.has_value(), listening.error().text());
    url_ = *std::move(listening);
    thread_ = std::thread([this] { loop_.run(); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
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

  /// Runs `what` on the server's thread and waits for its result.
  template <class What>
  auto call(What what) {
    std::promise<decltype(what())> out;
    loop_.post([&] { out.set_value(what()); });
    return out.get_future().get();
  }
  /// CPU time of the server's thread.
  double seconds() {
    return call([] {
      timespec time{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    });
  }

 private:
  static void answer(Request request, Answer answer) {
    benchmark::DoNotOptimize(request);
    answer.send({.status = 201,
                 .headers = {{"Content-Type", "application/json"}},
                 .body = R"({"id":"1"})"});
  }

  static ServerSettings settings() {
    ServerSettings out;
    out.limits.connections = out.limits.connections_per_peer = 20'000;
    return out;
  }

  EventLoop loop_;
  HttpServer server_;
  std::string folder_;
  Url url_;
  std::thread thread_;
};

void wait_for(int socket, short what) {
  pollfd one{.fd = socket, .events = what, .revents = 0};
  CHECK(::poll(&one, 1, 10'000) == 1);
}

void measure_null(benchmark::State& state, bool unix_socket) {
  Server server(unix_socket);
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

/// Connections over TCP that have sent `request`.
std::vector<Descriptor> connect_many(const Server& server, std::size_t count,
                                     const std::string& request) {
  std::vector<Descriptor> out(count);
  for (Descriptor& client : out) {
    client = server.connect();
    wait_for(client.get(), POLLOUT);
    CHECK(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) > 0);
  }
  return out;
}

constexpr std::size_t event_bytes = 200;
constexpr std::string_view stamp_mark = "data: ";

/// Reads the streams of all `clients` until `events` have come to each, and returns how late each
/// was, in microseconds. Events begin with `stamp_mark` and the time at which they were pushed.
std::vector<std::int64_t> read_events(const std::vector<Descriptor>& clients, std::size_t events) {
  std::vector<std::int64_t> late;
  const Descriptor epoll(::epoll_create1(0));
  for (const Descriptor& client : clients) {
    epoll_event one{.events = EPOLLIN, .data = {.fd = client.get()}};
    CHECK(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, client.get(), &one) == 0);
  }
  std::vector<epoll_event> ready(256);
  std::vector<char> bytes(1 << 20U);
  while (late.size() < events * clients.size()) {
    const int count =
        ::epoll_wait(epoll.get(), ready.data(), static_cast<int>(ready.size()), 5'000);
    CHECK(count > 0, late.size());
    for (int at = 0; at < count; ++at) {
      const ssize_t got =
          ::recv(ready[static_cast<std::size_t>(at)].data.fd, bytes.data(), bytes.size(), 0);
      CHECK(got > 0, got);
      const std::int64_t now = EventLoop::now().us;
      const std::string_view text(bytes.data(), static_cast<std::size_t>(got));
      for (std::size_t mark = text.find(stamp_mark); mark != std::string_view::npos;
           mark = text.find(stamp_mark, mark + 1)) {
        std::int64_t pushed = now;  // Where the stamp is cut off by the end of what was read.
        const char* const begin = text.data() + std::min(mark + stamp_mark.size(), text.size());
        std::from_chars(begin, text.data() + text.size(), pushed);
        late.push_back(now - pushed);
      }
    }
  }
  return late;
}

void measure_streams(benchmark::State& state) {
  constexpr std::size_t events = 1'500;
  constexpr auto gap = std::chrono::milliseconds(2);
  const auto readers = static_cast<std::size_t>(state.range(0));
  StreamHub hub;
  Server server(/*unix_socket=*/false, [&](const Request&, Answer answer) {
    hub.add(answer.stream({.headers = {{"Content-Type", "text/event-stream"}}}));
  });
  for (auto _ : state) {
    const auto clients = connect_many(server, readers, "GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
    while (server.call([&] { return hub.size(); }) < readers) std::this_thread::yield();
    const double before = server.seconds();
    auto reading = std::async(std::launch::async, [&] { return read_events(clients, events); });
    auto at = std::chrono::steady_clock::now();
    for (std::size_t n = 0; n < events; ++n) {
      std::this_thread::sleep_until(at += gap);
      server.call([&] {
        std::string event = std::string(stamp_mark) + std::to_string(EventLoop::now().us) + " ";
        event.resize(event_bytes - 2, 'x');
        hub.push(event + "\n\n");
        return 0;
      });
    }
    std::vector<std::int64_t> late = reading.get();
    std::ranges::sort(late);
    state.counters["p50_ms"] = static_cast<double>(late[late.size() / 2]) / 1e3;
    state.counters["p99_ms"] = static_cast<double>(late[late.size() * 99 / 100]) / 1e3;
    const std::chrono::duration<double> took = gap * events;
    state.counters["server_cpu_percent"] = (server.seconds() - before) * 100 / took.count();
  }
  server.call([&] {
    hub.finish();
    return 0;
  });
}

double resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6));
  }
  return 0;
}

void measure_idle(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0));
  Server server(/*unix_socket=*/false);
  for (auto _ : state) {
    const double before = resident_kib();
    const auto clients = connect_many(server, count, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    for (const Descriptor& client : clients) wait_for(client.get(), POLLIN);
    state.counters["kib_per_connection"] = (resident_kib() - before) / static_cast<double>(count);
  }
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
  benchmark::RegisterBenchmark("net_streams", measure_streams)->Arg(1'000)->Iterations(1);
  benchmark::RegisterBenchmark("net_idle", measure_idle)->Arg(9'000)->Iterations(1);
}

}  // namespace tutti::bench
