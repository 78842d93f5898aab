/// For tests of routes: a real server with one node, asked as a user whom the test chooses.
#pragma once

#include <string>
#include <utility>

#include "api/test_server.h"

namespace tutti::test {

class RoutesTest : public ServerTest {
 protected:
  RoutesTest()
      : ServerTest([this](const net::Request&) -> Result<User> {
          if (user_.role == Role::anybody) return fail(Code::denied, "no token");
          return user_;
        }) {
    thread_->send({NodeReported{node("n0")}}, [](const EngineThread::Answers&) {});
  }

  net::Response ask(std::string method, const std::string& target, std::string body = {},
                    const net::Headers& more = {}) {
    net::ClientRequest request{.method = std::move(method),
                               .url = tcp_.with_target(target),
                               .headers = {{"Content-Type", "application/json"}},
                               .body = std::move(body)};
    for (std::size_t at = 0; at < more.size(); ++at) {
      request.headers.add(more[at].first, more[at].second);
    }
    return send(std::move(request));
  }
  void as(const std::string& name, Role role = Role::user) { user_ = {.name = name, .role = role}; }
  /// A job of the user at hand; only the first of them fits.
  net::Response submit(const std::string& more = "") {
    return ask("POST", "/api/v1/jobs",
               R"({"job": {"name": "j", "gpus": 8, "command": ["true"])" + more + "}}");
  }

  User user_{.name = "ana", .role = Role::user};
};

}  // namespace tutti::test
