#include "net/http_client.h"

#include <optional>
#include <utility>

#include "net/exchange.h"

namespace tutti::net {

Call::Call(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
Call::Call(Call&&) noexcept = default;
Call& Call::operator=(Call&& other) noexcept {
  std::swap(exchange_, other.exchange_);
  return *this;
}
Call::~Call() {
  if (exchange_) exchange_->cancel();
}

HttpClient::HttpClient(EventLoop& loop, ClientSettings settings)
    : core_(std::make_shared<ClientCore>(loop, std::move(settings))) {}
HttpClient::~HttpClient() = default;

Call HttpClient::send(ClientRequest request, Done done) {
  return begin(std::move(request), {.done = std::move(done), .follower = {}});
}

Call HttpClient::follow(ClientRequest request, Follower follower) {
  return begin(std::move(request), {.done = nullptr, .follower = std::move(follower)});
}

Call HttpClient::upgrade(ClientRequest request, std::string_view protocol, Upgraded done) {
  request.headers.add("Connection", "Upgrade").add("Upgrade", protocol);
  return begin(std::move(request), {.upgraded = std::move(done)});
}

Call HttpClient::begin(ClientRequest request, ExchangeOutcome outcome) {
  auto exchange = std::make_shared<Exchange>(core_, std::move(request), std::move(outcome));
  core_->loop.post([weak = std::weak_ptr(exchange)] {
    if (const auto self = weak.lock()) self->start();
  });
  return Call(std::move(exchange));
}

Result<Response> fetch(ClientRequest request, ClientSettings settings) {
  EventLoop loop;
  std::optional<Result<Response>> out;
  {
    HttpClient client(loop, std::move(settings));
    const Call call = client.send(std::move(request), [&](Result<Response> got) {
      out = std::move(got);
      loop.stop();
    });
    loop.run();
  }
  return *std::move(out);
}

}  // namespace tutti::net
