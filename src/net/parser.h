/// HTTP/1.x read from bytes that come in any pieces; no sockets here.
///
/// Requests are read strictly, because a reader who is lenient where another one is not lets
/// requests be smuggled: one length at most, and in one way; every line ends in CRLF and none is
/// folded; no NUL. Beast's parser does the reading, the stricter rules stand before and behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/message.h"

namespace tutti::net {

/// How a message that cannot be accepted is answered. After it the connection is closed.
struct Refusal {
  int status = 400;
  std::string code;  ///< "bad_request"
  std::string message;
};

enum class Stage : std::uint8_t { head, body, done, refused };

/// Reads one request.
class RequestParser {
 public:
  struct Limits {
    std::size_t header_bytes = 32 << 10U;
    std::size_t body_bytes = 64 << 20U;
  };

  explicit RequestParser(const Limits& limits);
  RequestParser(RequestParser&&) noexcept;
  RequestParser& operator=(RequestParser&&) noexcept;
  ~RequestParser();

  /// Says how many of the bytes are used up; the rest must stand at the front of the next call.
  /// What follows the request is left alone. REQUIRES: the stage is head or body.
  std::size_t feed(std::string_view bytes);

  Stage stage() const;
  const Refusal& refusal() const;

  /// Behind the head: does the client wait for "100 Continue" before it sends the body?
  bool awaits_continue() const;
  /// May another request follow on this connection?
  bool keep_alive() const;
  /// Of HTTP/1.1, which knows chunks?
  bool knows_chunks() const;
  std::size_t body_bytes() const;
  /// REQUIRES: done. The peer is not filled in.
  Request take();

 private:
  class Message;
  std::unique_ptr<Message> message_;
};

/// Reads one response; its body goes to a sink as it comes. Interim ones (1xx but 101) are skipped.
class ResponseParser {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// `to_head`: of a HEAD request, so that no body follows.
  ResponseParser(bool to_head, std::size_t header_bytes, Sink body);
  ResponseParser(ResponseParser&&) noexcept;
  ResponseParser& operator=(ResponseParser&&) noexcept;
  ~ResponseParser();

  /// As RequestParser::feed. The end of the head is a place where it stops, so that the caller
  /// sees the head before any of the body.
  std::size_t feed(std::string_view bytes);
  /// The other end will send no more: that ends a body without a length, and is an error elsewhere.
  void end();

  Stage stage() const;
  const std::string& error() const;  ///< "the answer is no HTTP: bad version"
  bool keep_alive() const;
  /// Status and headers. REQUIRES: body or done.
  Response& head();

 private:
  class Message;
  std::unique_ptr<Message> message_;
};

}  // namespace tutti::net
