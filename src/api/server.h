/// The HTTP side of a server: who asks, which function answers, and where it listens.
#pragma once

#include <map>
#include <string>

#include "api/access.h"
#include "api/http_meter.h"
#include "api/router.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace tutti {

class Server {
 public:
  Server(net::EventLoop& loop, Access access);

  Router& router() { return router_; }
  net::HttpServer& http() { return http_; }
  const HttpMeter& meter() const { return meter_; }
  /// A path for whoever asks, who need not say who he is. Any method.
  void answer_anybody(std::string path, Router::Handle handle) {
    open_[std::move(path)] = std::move(handle);
  }

 private:
  void answer(net::Request request, net::Answer answer);

  Access access_;
  Router router_;
  std::map<std::string, Router::Handle, std::less<>> open_;
  HttpMeter meter_;
  net::HttpServer http_;  ///< Last: it calls what stands above.
};

}  // namespace tutti
