#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>

#include "bench/api/modes.h"
#include "net/event_loop.h"
#include "net/socket.h"

namespace tutti::bench {
namespace {

using net::Descriptor;
using net::EventLoop;

/// One connection and the request that is under way on it.
struct Client {
  Descriptor socket;
  Instant sent;
  std::string got;
};

constexpr std::string_view head_end = "\r\n\r\n";
constexpr std::string_view length_name = "\r\nContent-Length: ";

/// How long the response at the start of `got` is; 0 where that cannot be said yet.
std::size_t response_size(std::string_view got) {
  const std::size_t end = got.find(head_end);
  if (end == got.npos) return 0;
  const std::string_view head = got.substr(0, end + 2);
  std::size_t body = 0;
  if (const std::size_t at = head.find(length_name); at != head.npos) {
    std::from_chars(head.data() + at + length_name.size(), head.data() + head.size(), body);
  }
  return end + head_end.size() + body;
}

class Run {
 public:
  explicit Run(const Load& load)
      : load_(load), text_(request_text(load.url, load.token, load.body)) {}

  Result<void> all() {
    clients_.resize(load_.connections);
    poll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    for (std::size_t at = 0; at < clients_.size(); ++at) {
      clients_[at].socket = TRY(connect_to(load_.url));
      epoll_event event{.events = EPOLLIN, .data = {.u64 = at}};
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, clients_[at].socket.get(), &event);
    }
    begin_ = last_ = EventLoop::now();
    for (Client& client : clients_) TRY(ask(client));
    while (under_way_ > 0) TRY(wait());
    print();
    return {};
  }

 private:
  bool over() const {
    return asked_ >= load_.requests ||
           static_cast<double>((last_ - begin_).us) > load_.seconds * 1e6;
  }

  Result<void> ask(Client& client) {
    if (over()) return {};
    ++asked_;
    ++under_way_;
    client.sent = EventLoop::now();
    return send_all(client.socket.get(), text_);
  }

  Result<void> wait() {
    std::array<epoll_event, 64> events{};
    const int ready = ::epoll_wait(poll_.get(), events.data(), events.size(), 60'000);
    if (ready <= 0) return fail(Code::io, "no answer came for 60 seconds");
    for (int at = 0; at < ready; ++at) {
      TRY(hear(clients_[events[static_cast<std::size_t>(at)].data.u64]));
    }
    return {};
  }

  Result<void> hear(Client& client) {
    const ssize_t got = ::recv(client.socket.get(), scratch_.data(), scratch_.size(), 0);
    if (got <= 0) return fail(net::system_error("read", load_.url.server(), got < 0 ? errno : 0));
    client.got.append(scratch_.data(), static_cast<std::size_t>(got));
    const std::size_t size = response_size(client.got);
    if (size == 0 || client.got.size() < size) return {};
    last_ = EventLoop::now();
    took_.push_back((last_ - client.sent).us);
    if (!client.got.starts_with("HTTP/1.1 2")) {
      if (refused_++ == 0) fmt::print(stderr, "{}\n", client.got);
    }
    client.got.clear();
    --under_way_;
    return ask(client);
  }

  void print() {
    const double seconds = static_cast<double>((last_ - begin_).us) / 1e6;
    const auto count = static_cast<double>(took_.size());
    fmt::print(R"({{"answers":{},"refused":{},"seconds":{:.3f},"per_second":{:.1f},)"
               R"("p50_us":{},"p99_us":{}}})"
               "\n",
               took_.size(), refused_, seconds, count / seconds, percentile(took_, 0.5),
               percentile(took_, 0.99));
  }

  const Load& load_;
  std::string text_;
  std::vector<Client> clients_;
  Descriptor poll_;
  std::vector<char> scratch_ = std::vector<char>(1 << 20U);
  std::vector<std::int64_t> took_;
  std::uint64_t asked_ = 0;
  std::uint64_t under_way_ = 0;
  std::uint64_t refused_ = 0;
  Instant begin_;
  Instant last_;
};

}  // namespace

std::string request_text(const net::Url& url, std::string_view token, std::string_view body,
                         std::string_view headers) {
  std::string out = body.empty() ? "GET " : "POST ";
  out.append(url.target).append(" HTTP/1.1\r\nHost: ").append(url.host_header()).append("\r\n");
  if (!token.empty()) out.append("Authorization: Bearer ").append(token).append("\r\n");
  out.append(headers);
  if (!body.empty()) {
    out.append("Content-Type: application/json\r\nContent-Length: ");
    out.append(std::to_string(body.size())).append("\r\n");
  }
  return out.append("\r\n").append(body);
}

Result<Descriptor> connect_to(const net::Url& url) {
  net::Opened opened = net::connect_tcp({.bytes = {127, 0, 0, 1}, .port = url.port});
  pollfd one{.fd = opened.socket.get(), .events = POLLOUT, .revents = 0};
  int error = opened.error;
  if (error == 0 && ::poll(&one, 1, 10'000) == 1) error = net::socket_error(one.fd);
  if (error != 0) return fail(net::system_error("connect to", url.server(), error));
  ::fcntl(one.fd, F_SETFL, 0);  // Blocking from here on.
  return std::move(opened.socket);
}

Result<void> send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return fail(net::system_error("write", "the connection", errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

std::int64_t percentile(std::vector<std::int64_t>& values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(at, values.size() - 1)];
}

Result<void> measure_load(const Load& load) { return Run(load).all(); }

}  // namespace tutti::bench
