#include "net/tunnel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>

#include "net/test_certificates.h"
#include "net/test_net.h"

namespace tutti::net::tunnel_test {

using test::RawClient;
using test::TestServer;
using testing::HasSubstr;
using testing::StartsWith;

/// A proxy that takes one connection, answers it with `answer`, and hands it through if that is
/// what it says.
class OneProxy {
 public:
  OneProxy(const Url& target, std::string answer)
      : listener_(ListeningSocket::tcp("127.0.0.1:0").value()),
        url(Url::parse("http://" + listener_.address()).value()),
        thread_([this, target, answer = std::move(answer)] { serve(target, answer); }) {}
  ~OneProxy() { thread_.join(); }

  /// What it was asked. REQUIRES: the exchange is over.
  const std::string& asked() const { return asked_; }

 private:
  static bool readable(int socket) {
    pollfd one{.fd = socket, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, 5'000) == 1;
  }
  static std::string some_of(int socket) {
    std::array<char, 65'536> buffer;
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
  }
  void serve(const Url& target, const std::string& answer) {
    readable(listener_.descriptor());
    const Descriptor from = accept_one(listener_).socket;
    while (asked_.find("\r\n\r\n") == std::string::npos && readable(from.get())) {
      asked_ += some_of(from.get());
    }
    // In two pieces, as a slow one would.
    write_all(from.get(), answer.substr(0, 7));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    write_all(from.get(), answer.substr(7));
    if (answer.find(" 200 ") == std::string::npos) return;
    RawClient to(target);
    for (;;) {
      std::array<pollfd, 2> both{pollfd{.fd = from.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = to.descriptor(), .events = POLLIN, .revents = 0}};
      if (::poll(both.data(), both.size(), 5'000) <= 0) return;
      const bool forth = both[0].revents != 0;
      const std::string bytes = some_of(forth ? from.get() : to.descriptor());
      if (bytes.empty()) return;
      if (forth) {
        to.send(bytes);
      } else {
        write_all(from.get(), bytes);
      }
    }
  }

  ListeningSocket listener_;

 public:
  Url url;

 private:
  std::string asked_;
  std::thread thread_;
};

std::string fetched(const Url& url, const ClientSettings& settings) {
  const auto got = fetch({.url = url, .deadline = Duration::seconds(5)}, settings);
  return got ? std::to_string(got->status) + " " + got->body : got.error().text();
}

TEST(TunnelTest, RequestsPassAProxyPlainAndEncrypted) {
  const test::Folder folder;
  const test::Identity authority = test::make_identity(folder / "", {.name = "authority"});
  const test::Identity identity = test::make_identity(
      folder / "", {.name = "s", .hosts = "DNS:api.example", .authority = &authority});
  const TestServer secure(
      test::echo, {},
      {.address = "127.0.0.1:0",
       .tls = TlsFiles{.certificate = identity.certificate_file, .key = identity.key_file}});
  std::string asked;
  {
    const OneProxy proxy(secure.url, "HTTP/1.1 200 Connection established\r\n\r\n");
    Url url = secure.url.with_target("/a");
    url.host = "api.example";  // Which only the proxy can find.
    EXPECT_EQ(fetched(url, {.tls = {.ca = authority.certificate_file},
                            .proxy = Proxy{.url = proxy.url, .authorization = "Basic YTpi"}}),
              "200 GET /a");
    asked = proxy.asked();
  }
  const std::string to = "api.example:" + std::to_string(secure.url.port);
  EXPECT_THAT(asked, StartsWith("CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n"));
  EXPECT_THAT(asked, HasSubstr("Proxy-Authorization: Basic YTpi\r\n"));

  const TestServer plain(test::echo);
  const OneProxy proxy(plain.url, "HTTP/1.0 200 OK\r\n\r\n");
  EXPECT_EQ(fetched(plain.url, {.proxy = Proxy{.url = proxy.url}}), "200 GET /");
}

TEST(TunnelTest, WhatAProxyRefusesIsSaid) {
  const auto refused = [](const std::string& answer) {
    const Url target = Url::parse("http://api.example:6443").value();
    const OneProxy proxy(target, answer);
    std::string said = fetched(target, {.proxy = Proxy{.url = proxy.url}});
    EXPECT_THAT(said, HasSubstr(proxy.url.text()));
    return said;
  };
  EXPECT_THAT(refused("HTTP/1.1 407 Who are you\r\nContent-Length: 2\r\n\r\nno"),
              HasSubstr("leads not to api.example:6443: it wants a user and a password"));
  EXPECT_THAT(refused("HTTP/1.1 403 No\r\n\r\n"), HasSubstr("it answered 403 Forbidden"));
  EXPECT_THAT(refused("SSH-2.0-OpenSSH_9.2\r\n"), HasSubstr("hint:  is that a proxy?"));
  EXPECT_THAT(refused("HTTP/1.1 20"), HasSubstr("it closed the connection"));
  const Url nobody = Url::parse("http://127.0.0.1:1").value();
  EXPECT_THAT(fetched(nobody, {.proxy = Proxy{.url = nobody}}), HasSubstr("connection refused"));
}

}  // namespace tutti::net::tunnel_test
