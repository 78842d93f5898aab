#include "api/server.h"

#include <utility>

#include "api/json_text.h"

namespace tutti {

Server::Server(net::EventLoop& loop, Identify who)
    : who_(std::move(who)), http_(loop, {}, [this](net::Request request, net::Answer given) {
        answer(std::move(request), std::move(given));
      }) {}

void Server::answer(net::Request request, net::Answer given) {
  Call call{.request = std::move(request),
            .parts = {},
            .user = {},
            .answer = std::move(given),
            .meter = &meter_,
            .began = net::EventLoop::now()};
  if (open_.contains(call.request.path)) return router_.route(std::move(call));
  Result<User> user = who_(call.request);
  if (!user) {
    return call.send(
        {.status = 401,
         .headers = {{"Content-Type", "application/json"}, {"WWW-Authenticate", "Bearer"}},
         .body = error_json(user.error())});
  }
  call.user = *std::move(user);
  router_.route(std::move(call));
}

}  // namespace tutti
