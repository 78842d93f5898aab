/// The HTTP side of a server: who asks, which function answers, and where it listens.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "api/access.h"
#include "api/http_meter.h"
#include "api/router.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace tutti {

class Server {
 public:
  /// Who sent a request, if he is known.
  using Identify = std::function<Result<User>(const net::Request&)>;

  Server(net::EventLoop& loop, Identify who);

  Router& router() { return router_; }
  net::HttpServer& http() { return http_; }
  const HttpMeter& meter() const { return meter_; }
  /// GET of this path is for whoever asks: he need not say who he is.
  void answer_anybody(std::string path, Router::Handle handle) {
    router_.add("GET", path, std::move(handle));
    open_.insert(std::move(path));
  }

 private:
  void answer(net::Request request, net::Answer answer);

  Identify who_;
  Router router_;
  std::set<std::string> open_;
  HttpMeter meter_;
  net::HttpServer http_;  ///< Last: it calls what stands above.
};

}  // namespace tutti
