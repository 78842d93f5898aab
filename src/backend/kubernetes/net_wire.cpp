#include "backend/kubernetes/net_wire.h"

#include <utility>

namespace tutti {
namespace {

/// Something of net/ that ends when it is dropped.
template <class Held>
class Holding final : public Underway {
 public:
  explicit Holding(Held held) : held_(std::move(held)) {}

 private:
  Held held_;
};

template <class Held>
Ticket hold(Held held) {
  return std::make_unique<Holding<Held>>(std::move(held));
}

/// As many as may be in flight, so that none is opened anew for each request.
constexpr std::size_t kept_connections = 64;

}  // namespace

Result<std::unique_ptr<NetWire>> NetWire::open(net::EventLoop& loop, const ClusterAccess& access,
                                               const ReadFile& read_file) {
  net::ClientSettings settings{.proxy = access.proxy, .idle_connections = kept_connections};
  settings.tls.ca_text = TRY(read(access.authority, read_file));
  settings.tls.server_name = access.tls_server_name;
  settings.tls.unverified = access.unverified;
  return std::unique_ptr<NetWire>(new NetWire(loop, access.server, std::move(settings)));
}

NetWire::NetWire(net::EventLoop& loop, net::Url server, net::ClientSettings settings)
    : loop_(loop),
      server_(std::move(server)),
      prefix_(server_.target),
      settings_(std::move(settings)),
      client_(std::make_unique<net::HttpClient>(loop_, settings_)) {
  while (prefix_.ends_with('/')) prefix_.pop_back();
}

/// Requests that are under way go on as who they were.
void NetWire::identify(const std::string& certificate, const std::string& key) {
  settings_.tls.certificate_text = certificate;
  settings_.tls.key_text = key;
  client_ = std::make_unique<net::HttpClient>(loop_, settings_);
}

net::ClientRequest NetWire::as_sent(WireRequest request) const {
  return {.method = std::move(request.method),
          .url = server_.with_target(prefix_ + request.target),
          .headers = std::move(request.headers),
          .body = std::move(request.body),
          .deadline = request.deadline,
          .silence = request.silence};
}

Ticket NetWire::send(WireRequest request, Done done) {
  return hold(client_->send(as_sent(std::move(request)), std::move(done)));
}

Ticket NetWire::follow(WireRequest request, Follower follower) {
  return hold(client_->follow(as_sent(std::move(request)), {.head = std::move(follower.head),
                                                            .body = std::move(follower.body),
                                                            .end = std::move(follower.end)}));
}

Ticket NetWire::after(Duration delay, Task task) {
  return hold(loop_.after(delay, std::move(task)));
}

}  // namespace tutti
