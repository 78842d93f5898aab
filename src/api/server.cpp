#include "api/server.h"

#include <utility>

#include "api/json_text.h"

namespace tutti {

Server::Server(net::EventLoop& loop, Access access)
    : access_(std::move(access)), http_(loop, {}, [this](net::Request request, net::Answer given) {
        answer(std::move(request), std::move(given));
      }) {}

void Server::answer(net::Request request, net::Answer given) {
  // Whoever asks whether it lives need not say who he is.
  if (request.path == "/healthz") {
    return given.send({.status = 200,
                       .headers = {{"Content-Type", "application/json"}},
                       .body = R"({"status":"ok"})"});
  }
  Result<User> user = access_.who(request);
  if (!user) {
    return given.send(
        {.status = 401,
         .headers = {{"Content-Type", "application/json"}, {"WWW-Authenticate", "Bearer"}},
         .body = error_json(user.error())});
  }
  router_.route({.request = std::move(request),
                 .parts = {},
                 .user = *std::move(user),
                 .answer = std::move(given)});
}

}  // namespace tutti
