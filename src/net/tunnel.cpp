#include "net/tunnel.h"

#include <fmt/core.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tutti::net {
namespace {

constexpr std::size_t proxy_header_bytes = 16 << 10U;

/// "host:443", "[::1]:6443": both parts stand there, also where the port is the usual one.
std::string authority_of(const Url& url) {
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", url.host, is_ipv6 ? "]" : "", url.port);
}

}  // namespace

Tunnel::Tunnel(EventLoop& loop, Descriptor proxy_socket, const Proxy& proxy, const Url& target,
               Done done)
    : socket_(std::move(proxy_socket)),
      where_(proxy.url.text()),
      target_(authority_of(target)),
      unsent_(fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", target_)),
      parser_(/*to_head=*/true, proxy_header_bytes, [](std::string_view) {}),
      done_(std::move(done)) {
  if (!proxy.authorization.empty()) {
    unsent_ += fmt::format("Proxy-Authorization: {}\r\n", proxy.authorization);
  }
  unsent_ += "\r\n";
  auto watch = loop.watch(socket_.get(), [this] { go_on(); });
  if (!watch) {
    later_ = loop.after({}, [this, error = watch.error()] { finish(tutti::fail(error)); });
    return;
  }
  watch_ = *std::move(watch);
  watch_.want(/*readable=*/false, /*writable=*/true);
}

void Tunnel::go_on() {
  if (unsent_.empty()) return read();
  const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (sent < 0) return fail_with(std::generic_category().message(errno), "is that a proxy?");
  unsent_.erase(0, static_cast<std::size_t>(sent));
  if (unsent_.empty()) watch_.want(/*readable=*/true, /*writable=*/false);
}

/// Whoever connects through a proxy speaks first, so what follows its answer is nobody's.
void Tunnel::read() {
  std::array<char, 4096> buffer;
  const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    return fail_with(got == 0 ? "it closed the connection" : std::generic_category().message(errno),
                     "is that a proxy?");
  }
  input_.append(buffer.data(), static_cast<std::size_t>(got));
  for (std::size_t used = 1; used > 0 && !input_.empty() && parser_.stage() != Stage::done &&
                             parser_.stage() != Stage::refused;) {
    used = parser_.feed(input_);
    input_.erase(0, used);
  }
  if (parser_.stage() == Stage::refused) return fail_with(parser_.error(), "is that a proxy?");
  if (parser_.stage() == Stage::head) return;
  const int status = parser_.head().status;
  if (status == 407) return fail_with("it wants a user and a password", "name them in its URL");
  if (status / 100 != 2) {
    return fail_with(fmt::format("it answered {} {}", status, reason_phrase(status)),
                     "may it connect there?");
  }
  if (!input_.empty()) return fail_with("it speaks before it is asked", "is that a proxy?");
  watch_ = Watch();
  finish(std::move(socket_));
}

void Tunnel::fail_with(std::string what, std::string hint) {
  finish(tutti::fail({.code = Code::io,
                      .what = fmt::format("the proxy leads not to {}: {}", target_, what),
                      .where = where_,
                      .hint = std::move(hint)}));
}

void Tunnel::finish(Result<Descriptor> result) {
  watch_ = Watch();
  auto done = std::move(done_);
  done(std::move(result));
}

}  // namespace tutti::net
