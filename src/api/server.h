/// The HTTP side of a server: who asks, which function answers, and where it listens.
#pragma once

#include <string>
#include <vector>

#include "api/access.h"
#include "api/router.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace tutti {

class Server {
 public:
  Server(net::EventLoop& loop, Access access);

  Router& router() { return router_; }
  net::HttpServer& http() { return http_; }

 private:
  void answer(net::Request request, net::Answer answer);

  Access access_;
  Router router_;
  net::HttpServer http_;  ///< Last: it calls what stands above.
};

}  // namespace tutti
