/// The HTTP side of a server: who asks, which function answers, and where it listens. Who changes
/// something, or tries to, is noted in the audit log; who asks too often is told to wait.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "api/access.h"
#include "api/audit_log.h"
#include "api/http_meter.h"
#include "api/rate_limit.h"
#include "api/router.h"
#include "net/event_loop.h"
#include "net/http_server.h"

namespace tutti {

class Server {
 public:
  struct Ports {
    /// Who sent a request, if he is known.
    std::function<Result<User>(const net::Request&)> who;
    /// None: nobody remembers. Must outlive the server.
    AuditLog* audit = nullptr;
    std::function<Instant()> clock;
    /// The log cannot be written.
    std::function<void(const Error&)> complain;
    /// Of each user who is no administrator, and of each address that nobody knows.
    std::uint32_t requests_per_second = 1'000'000;
  };

  Server(net::EventLoop& loop, Ports ports);

  Router& router() { return router_; }
  net::HttpServer& http() { return http_; }
  const HttpMeter& meter() const { return meter_; }
  /// GET of this path is for whoever asks: he need not say who he is.
  void answer_anybody(std::string path, Router::Handle handle) {
    router_.add("GET", path, Role::anybody, std::move(handle));
    open_.insert(std::move(path));
  }

 private:
  void answer(net::Request request, net::Answer answer);
  void pass_on(Call call);
  bool has_patience(Call& call, const std::string& whose);
  void answered(const Call& call, int status);
  void note(const Call& call, int status);

  Ports ports_;
  Router router_;
  std::set<std::string> open_;
  HttpMeter meter_;
  RateLimit rate_;
  RateLimit strangers_;         ///< Lines of the log about those whom nobody knows ...
  RateLimit refusals_;          ///< ... and about what was refused to each user ...
  std::uint64_t left_out_ = 0;  ///< ... and those that are not there.
  bool complained_ = false;     ///< That the log cannot be written.
  std::function<void(const Call&, int)> answered_;
  net::HttpServer http_;  ///< Last: it calls what stands above.
};

}  // namespace tutti
