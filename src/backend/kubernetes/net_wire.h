/// The real wire: HTTP over net/, to one API server.
#pragma once

#include <memory>
#include <string>

#include "backend/kubernetes/kubeconfig.h"
#include "backend/kubernetes/wire.h"
#include "net/event_loop.h"
#include "net/http_client.h"

namespace tutti {

class NetWire final : public Wire {
 public:
  /// Reads the authority's file, once. The loop must outlive it.
  static Result<std::unique_ptr<NetWire>> open(net::EventLoop& loop, const ClusterAccess& access,
                                               const ReadFile& read_file);

  Ticket send(WireRequest request, Done done) override;
  Ticket follow(WireRequest request, Follower follower) override;
  Ticket after(Duration delay, Task task) override;
  Instant now() const override { return net::EventLoop::now(); }
  void identify(const std::string& certificate, const std::string& key) override;

 private:
  NetWire(net::EventLoop& loop, net::Url server, net::ClientSettings settings);
  net::ClientRequest as_sent(WireRequest request) const;

  net::EventLoop& loop_;
  net::Url server_;
  std::string prefix_;  ///< Of every target.
  net::ClientSettings settings_;
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace tutti
