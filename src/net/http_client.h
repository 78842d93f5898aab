/// An HTTP/1.1 client over TCP, TLS and unix sockets, on an event loop or, with fetch, without one.
///
///   HttpClient client(loop);
///   const Call call = client.send({.url = url}, [](Result<Response> got) { ... });
///
/// Connections are kept for further requests to the same server. A request that cannot have had an
/// effect twice is repeated once when a kept connection turns out to be closed. An error says what
/// went wrong (refused, timed out, certificate ...), at which URL, and what to do.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/duplex.h"
#include "net/event_loop.h"
#include "net/message.h"
#include "net/tls.h"
#include "net/url.h"

namespace tutti::net {

/// The hint of an error where a request that changes something may have done so all the same.
inline constexpr std::string_view maybe_done =
    "it may have done what was asked: look before you try again";

struct ClientRequest {
  std::string method = "GET";
  Url url;
  Headers headers;  ///< Host, Content-Length and Connection are not among them: net/ writes them.
  std::string body;
  /// For all of it; of a response that is followed, until its head is there.
  Duration deadline = Duration::seconds(30);
  /// A response that is followed fails when nothing came for so long.
  Duration silence = Duration::max();
};

/// An HTTP proxy that hands connections through (CONNECT).
struct Proxy {
  Url url;                    ///< Only http.
  std::string authorization;  ///< The header Proxy-Authorization, or empty.
};

struct ClientSettings {
  TlsTrust tls;
  std::optional<Proxy> proxy;             ///< For all but unix sockets.
  Duration idle = Duration::seconds(30);  ///< Kept connections are closed after it.
  std::size_t idle_connections = 16;      ///< Kept per server.
  std::size_t header_bytes = 64 << 10U;
  std::size_t body_bytes = 1 << 30U;  ///< Of a response that is not followed.
};

class ClientCore;
class Exchange;
struct ExchangeOutcome;

/// A request on its way. Dropping it cancels it: none of its callbacks comes any more.
class [[nodiscard]] Call {
 public:
  Call() = default;
  Call(Call&&) noexcept;
  Call& operator=(Call&&) noexcept;
  ~Call();

 private:
  friend class HttpClient;
  explicit Call(std::shared_ptr<Exchange> exchange);
  std::shared_ptr<Exchange> exchange_;
};

class HttpClient {
 public:
  using Done = std::move_only_function<void(Result<Response>)>;
  /// `head` comes first, once, with an empty body; `body` any number of times; `end` last, once.
  struct Follower {
    std::function<void(const Response&)> head;
    std::function<void(std::string_view)> body;
    std::move_only_function<void(Result<void>)> end;
  };

  using Upgraded = std::move_only_function<void(Result<Duplex>)>;

  explicit HttpClient(EventLoop& loop, ClientSettings settings = {});
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;
  ~HttpClient();

  /// The whole response, whatever its status, or why there is none.
  Call send(ClientRequest request, Done done);
  /// The response as it comes.
  Call follow(ClientRequest request, Follower follower);
  /// Asks to change to `protocol`, and hands the connection over when the server agrees (101);
  /// any other answer is an error with what it says. The Duplex lives as long as this client.
  Call upgrade(ClientRequest request, std::string_view protocol, Upgraded done);

 private:
  Call begin(ClientRequest request, ExchangeOutcome outcome);

  std::shared_ptr<ClientCore> core_;
};

/// Sends one request and waits for the response.
Result<Response> fetch(ClientRequest request, ClientSettings settings = {});

}  // namespace tutti::net
