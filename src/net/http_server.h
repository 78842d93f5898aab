/// An HTTP/1.1 server: connections on TCP and unix sockets, and one function for all requests.
///
///   EventLoop loop;
///   HttpServer server(loop, {}, [](Request request, Answer answer) {
///     answer.send({.status = 200, .body = "hello " + request.path});
///   });
///   const Url url = TRY(server.listen({.address = "127.0.0.1:0"}));
///   loop.run();
///
/// Whatever a client sends, it gets an answer or is closed; it never ends the process. Idle
/// connections hold no buffers. What is refused here has a body as of error_response.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "net/answer.h"
#include "net/event_loop.h"
#include "net/message.h"
#include "net/tls.h"
#include "net/url.h"

namespace tutti::net {

/// What a client may take, and how long.
struct ServerLimits {
  std::size_t header_bytes = 32 << 10U;      ///< Request line and headers; beyond it 414 or 431.
  std::size_t body_bytes = 64 << 20U;        ///< 413.
  std::size_t bodies_bytes = 512 << 20U;     ///< Of all bodies that are on their way; 503.
  std::size_t connections = 16'384;          ///< 503.
  std::size_t connections_per_peer = 4'096;  ///< Per IP address, or uid on unix sockets; 503.
  std::size_t pipelined = 32;  ///< Unanswered requests of one connection; further ones wait.
  std::size_t stream_bytes = 1 << 20U;  ///< Queued for one reader before it is cut off.
  Duration handshake = Duration::seconds(10);
  Duration header =
      Duration::seconds(10);               ///< From a request's first byte to its last header; 408.
  Duration body = Duration::seconds(120);  ///< All of it; 408.
  Duration idle = Duration::seconds(120);  ///< Between requests; closed without a word.
  Duration write = Duration::seconds(60);  ///< Without the client taking a byte; closed.
};

struct ServerSettings {
  ServerLimits limits;
  /// Chunks pushed to streams within this time are written together; 0 writes each at once.
  Duration coalesce = Duration::milliseconds(20);
};

struct ListenAt {
  std::string address;          ///< "127.0.0.1:7070", port 0 for any; "unix:/run/tutti.sock".
  mode_t socket_mode = 0600;    ///< Of a unix socket: who may connect.
  std::optional<TlsFiles> tls;  ///< https, where set.
};

class ServerCore;

class HttpServer {
 public:
  /// Called on the loop's thread.
  using OnRequest = std::function<void(Request, Answer)>;

  HttpServer(EventLoop& loop, ServerSettings settings, OnRequest on_request);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Closes everything at once. REQUIRES: not from inside one of its callbacks.
  ~HttpServer();

  /// Starts to take connections there, and says where that is, with the port that it got.
  Result<Url> listen(const ListenAt& at);

  /// Reads the files of all https addresses anew; connections that are open keep what they have.
  /// After an error nothing has changed.
  Result<void> reload_certificates();

  /// Takes no more connections or requests, finishes those that have come, closes streams, and
  /// calls `stopped` when all are closed, at the latest after `grace`.
  void stop(Duration grace, EventLoop::Task stopped);

  struct Counts {
    std::size_t connections = 0;    ///< Open now.
    std::uint64_t accepted = 0;     ///< Ever.
    std::uint64_t turned_away = 0;  ///< For a limit on connections, or for want of descriptors.
    std::uint64_t requests = 0;
    std::uint64_t refused = 0;  ///< Requests that net/ itself answered.
    std::uint64_t cut_off = 0;  ///< Readers of streams that fell behind.
  };
  Counts counts() const;

 private:
  std::shared_ptr<ServerCore> core_;
};

}  // namespace tutti::net
