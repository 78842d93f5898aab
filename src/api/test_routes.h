/// For tests of routes: a real server, asked as a user whom the test chooses, over an engine whose
/// backend is deaf.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "api/attach_routes.h"
#include "api/job_routes.h"
#include "api/node_routes.h"
#include "model/catalog.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "sched/test_fleet.h"

namespace tutti::test {

class SilentBackend final : public Backend {
 public:
  void execute(const Action&, const State&) override {}
  std::vector<Observed> observe() override { return {}; }
};

class RoutesTest : public testing::Test {
 protected:
  RoutesTest() : catalog_(Catalog::builtin().value()) {
    EngineThread::Ports ports;
    ports.engine = &engine_;
    ports.post = [this](EngineThread::Work work) { loop_.post(std::move(work)); };
    ports.publish = [this](const std::vector<Happening>& happened) {
      for (const Happening& each : happened) {
        jobs_.apply(each);
        requests_.apply(each);
      }
    };
    ports.clock = [this] { return Instant{now_ += 1000}; };
    ports.failed = [](const Error& error) { ADD_FAILURE() << error.text(); };
    thread_.emplace(std::move(ports));
    JobRoutes::Ports routes;
    routes.loop = &loop_;
    routes.engine = &*thread_;
    routes.jobs = &jobs_;
    routes.requests = &requests_;
    routes.catalog = &catalog_;
    routes.factory = &factory_;
    routes.keep_environment = [this](std::string_view name, std::string_view variables) {
      kept_[std::string(name)] = variables;
      return Result<void>();
    };
    routes.open_output = [](const TaskId&, std::uint32_t) {
      return [left = 1]() mutable { return Result<std::string>(left-- > 0 ? "secret\n" : ""); };
    };
    routes.open_file = [](const std::string& path,
                          const std::string& user) -> Result<JobRoutes::ReadOutput> {
      if (user != "ana") return fail(Code::denied, "that is another one's file", path);
      return [left = 1, path]() mutable {
        return Result<std::string>(left-- > 0 ? "all of " + path : "");
      };
    };
    job_routes_.emplace(std::move(routes));
    job_routes_->declare(router_);
    AttachRoutes::Ports attach;
    attach.loop = &loop_;
    attach.engine = &*thread_;
    attach.jobs = &jobs_;
    attach.open_terminal = [this](const TaskId&, std::uint32_t) {
      return std::exchange(terminal_, fail(Code::not_found, "there is no terminal"));
    };
    attach_routes_.emplace(std::move(attach));
    attach_routes_->declare(router_);
    node_routes_.emplace(*thread_);
    node_routes_->declare(router_);
    url_ = server_.listen({.address = "127.0.0.1:0"}).value();
    thread_->send({NodeReported{node("n0")}}, [](const EngineThread::Answers&) {});
  }

  net::Response ask(std::string method, const std::string& target, std::string body = {},
                    const net::Headers& more = {}) {
    std::optional<Result<net::Response>> got;
    net::Headers headers{{"Content-Type", "application/json"}};
    for (std::size_t at = 0; at < more.size(); ++at) headers.add(more[at].first, more[at].second);
    net::HttpClient client(loop_);
    const net::Call call = client.send({.method = std::move(method),
                                        .url = url_.with_target(target),
                                        .headers = std::move(headers),
                                        .body = std::move(body)},
                                       [&](Result<net::Response> response) {
                                         got = std::move(response);
                                         loop_.stop();
                                       });
    loop_.run();
    EXPECT_TRUE(got->has_value()) << got->error().text();
    return *got ? **got : net::Response{};
  }
  void as(const std::string& name, Role role = Role::user) { user_ = {name, 1000, role}; }
  /// A job of the user at hand; only the first of them fits.
  net::Response submit(const std::string& more = "") {
    return ask("POST", "/api/v1/jobs",
               R"({"job": {"name": "j", "gpus": 8, "command": ["true"])" + more + "}}");
  }

  struct : Journal {
    Result<void> append(std::span<const Event>, Instant) override { return {}; }
  } journal_;
  SilentBackend backend_;
  RecipeFactory factory_{{.name = "pack", .scores = {{.name = "pack"}}}};
  Engine engine_{journal_, backend_, factory_};
  Catalog catalog_;
  net::EventLoop loop_;
  JobTable jobs_;
  RequestKeys requests_;
  std::int64_t now_ = 0;
  std::map<std::string, std::string> kept_;
  /// Of the next one who sits at a task that runs.
  Result<std::unique_ptr<TerminalPort>> terminal_ = fail(Code::not_found, "there is no terminal");
  User user_{"ana", 1000, Role::user};
  Router router_;
  std::optional<EngineThread> thread_;
  std::optional<JobRoutes> job_routes_;
  std::optional<AttachRoutes> attach_routes_;
  std::optional<NodeRoutes> node_routes_;
  net::HttpServer server_{loop_, {}, [this](net::Request request, net::Answer answer) {
                            router_.route({std::move(request), {}, user_, std::move(answer)});
                          }};
  net::Url url_;
};

}  // namespace tutti::test
