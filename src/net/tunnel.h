/// A connection through an HTTP proxy, from the proxy's socket to where it leads. Internal to net/.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "net/event_loop.h"
#include "net/http_client.h"
#include "net/parser.h"
#include "net/transport.h"

namespace tutti::net {

/// Asks by CONNECT. Dropping it gives up. `done` comes once, from the loop, and may drop it.
class Tunnel {
 public:
  using Done = std::move_only_function<void(Result<Descriptor>)>;

  /// REQUIRES: `proxy_socket` is connected to the proxy.
  Tunnel(EventLoop& loop, Descriptor proxy_socket, const Proxy& proxy, const Url& target,
         Done done);

 private:
  void go_on();
  void read();
  void finish(Result<Descriptor> result);
  void fail_with(std::string what, std::string hint);

  Descriptor socket_;
  std::string where_;  ///< The proxy, for errors.
  std::string target_;
  std::string unsent_;
  std::string input_;
  ResponseParser parser_;
  Done done_;
  Watch watch_;
  Timer later_;
};

}  // namespace tutti::net
