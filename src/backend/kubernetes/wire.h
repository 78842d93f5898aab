/// What the client of a Kubernetes API server needs of the world: requests, time and what is to
/// come later. Everything above it has no clock, thread or socket, so that a simulated server
/// plays it deterministically; net_wire.h is the real one.
///
/// Callbacks come one after the other, never inside the call that asked for them, and may destroy
/// whoever they call.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/message.h"

namespace tutti {

/// Something that was asked for and is still to come. Dropping it is the end of it: none of its
/// callbacks comes any more.
class Underway {
 public:
  virtual ~Underway() = default;
};
using Ticket = std::unique_ptr<Underway>;

struct WireRequest {
  std::string method = "GET";
  std::string target;  ///< Path and query, encoded.
  net::Headers headers;
  std::string body;
  /// For all of it; of a response that is followed, until its head is there.
  Duration deadline = Duration::seconds(30);
  /// A response that is followed fails when nothing came for so long.
  Duration silence = Duration::max();
};

class Wire {
 public:
  using Task = std::move_only_function<void()>;
  using Done = std::move_only_function<void(Result<net::Response>)>;
  /// `head` comes first, once, with an empty body; `body` any number of times; `end` last, once.
  struct Follower {
    std::function<void(const net::Response&)> head;
    std::function<void(std::string_view)> body;
    std::move_only_function<void(Result<void>)> end;
  };

  virtual ~Wire() = default;

  /// The whole response, whatever its status.
  [[nodiscard]] virtual Ticket send(WireRequest request, Done done) = 0;
  /// The response as it comes.
  [[nodiscard]] virtual Ticket follow(WireRequest request, Follower follower) = 0;
  [[nodiscard]] virtual Ticket after(Duration delay, Task task) = 0;
  /// Counts from an unknown start and never goes back.
  virtual Instant now() const = 0;
  /// Who asks from now on, as PEM; empty: nobody shows a certificate.
  virtual void identify(const std::string& certificate, const std::string& key) = 0;
};

}  // namespace tutti
