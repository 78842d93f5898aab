/// A whole server in one thread and its engine's, for tests: all routes, and a backend that is
/// deaf.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/routes.h"
#include "model/catalog.h"
#include "net/http_client.h"
#include "net/test_net.h"
#include "sched/test_fleet.h"

namespace tutti::test {

class ServerTest : public testing::Test {
 protected:
  class SilentBackend final : public Backend {
   public:
    void execute(const Action&, const State&) override {}
    std::vector<Observed> observe() override { return {}; }
  };

  /// Asked with the token "token", those of `tokens_`, or over the socket.
  ServerTest()
      : ServerTest([this](const net::Request& request) {
          return Access("token", ::geteuid(), &tokens_).who(request, clock_);
        }) {}

  explicit ServerTest(std::function<Result<User>(const net::Request&)> who)
      : server_(loop_, {.who = std::move(who),
                        .audit = &audit_,
                        .clock = [this] { return clock_; },
                        .complain = {}}) {
    EngineThread::Ports ports;
    ports.engine = &engine_;
    ports.post = [this](EngineThread::Work work) { loop_.post(std::move(work)); };
    ports.publish = [this](const std::vector<Happening>& happened) {
      for (const Happening& each : happened) {
        feed_.apply(each);
        requests_.apply(each);
        meter_.apply(each.at, each.moves, each.begun);
      }
    };
    ports.clock = [this] { return Instant{now_ += 1000}; };
    ports.failed = [](const Error& error) { ADD_FAILURE() << error.text(); };
    thread_.emplace(std::move(ports));
    routes_.emplace(server_, ports_of_routes());
    tcp_ = server_.http().listen({.address = "127.0.0.1:0"}).value();
    local_ = server_.http().listen({.address = "unix:" + folder_ / "s"}).value();
  }

  net::Response send(net::ClientRequest request) {
    std::optional<Result<net::Response>> got;
    net::HttpClient client(loop_);
    const net::Call call = client.send(std::move(request), [&](Result<net::Response> response) {
      got = std::move(response);
      loop_.stop();
    });
    loop_.run();
    EXPECT_TRUE(got->has_value()) << got->error().text();
    return *got ? **got : net::Response{};
  }
  net::Response ask(const net::Url& url, const std::string& target) {
    return send({.url = url.with_target(target)});
  }
  /// The events are durable.
  void take(std::vector<Event> events) {
    thread_->send(std::move(events), [this](const EngineThread::Answers& answers) {
      for (const auto& each : answers) EXPECT_TRUE(each.has_value()) << each.error().text();
      loop_.stop();
    });
    loop_.run();
  }

  net::test::Folder folder_;
  AuditLog audit_ = AuditLog::open(folder_ / "").value();
  NullJournal journal_;
  MeasuredJournal measured_{journal_};
  SilentBackend backend_;
  RecipeFactory factory_{{.name = "pack", .scores = {{.name = "pack"}}}};
  Engine engine_{measured_, backend_, factory_};
  Catalog catalog_ = Catalog::builtin().value();
  net::EventLoop loop_;
  JobTable jobs_;
  RequestKeys requests_;
  Meter meter_;
  EventFeed feed_{loop_, jobs_, 0};
  std::int64_t now_ = 0;  ///< Of the engine's thread ...
  Instant clock_{1};      ///< ... and of tokens.
  Tokens tokens_{[](std::string_view) { return Result<void>(); }};
  std::map<std::string, std::string> kept_;  ///< Variables of jobs.
  /// Of the next one who sits at a task that runs.
  Result<std::unique_ptr<TerminalPort>> terminal_ = fail(Code::not_found, "there is no terminal");
  std::optional<EngineThread> thread_;
  std::optional<AllRoutes> routes_;
  Server server_;
  net::Url tcp_;
  net::Url local_;

 private:
  AllRoutes::Ports ports_of_routes() {
    AllRoutes::Ports ports{.jobs = {.loop = &loop_,
                                    .engine = &*thread_,
                                    .jobs = &jobs_,
                                    .requests = &requests_,
                                    .catalog = &catalog_,
                                    .factory = &factory_},
                           .feed = &feed_,
                           .tokens = &tokens_,
                           .clock = [this] { return clock_; },
                           .audit = &audit_,
                           .meter = &meter_,
                           .journal = &measured_,
                           .version = "1.2",
                           .commit = "abc",
                           .settings = {{"policy", "pack"}},
                           .patience = Duration::milliseconds(50),
                           .between_checks = Duration::milliseconds(50)};
    ports.jobs.keep_environment = [this](std::string_view name, std::string_view variables) {
      kept_[std::string(name)] = variables;
      return Result<void>();
    };
    ports.jobs.open_output = [](const TaskId&, std::uint32_t) {
      return [left = 1]() mutable { return Result<std::string>(left-- > 0 ? "secret\n" : ""); };
    };
    ports.jobs.open_file = [](const std::string& path,
                              const std::string& user) -> Result<JobRoutes::ReadOutput> {
      if (user != "ana") return fail(Code::denied, "that is another one's file", path);
      return [left = 1, path]() mutable {
        return Result<std::string>(left-- > 0 ? "all of " + path : "");
      };
    };
    ports.open_terminal = [this](const TaskId&, std::uint32_t) {
      return std::exchange(terminal_, fail(Code::not_found, "there is no terminal"));
    };
    return ports;
  }
};

}  // namespace tutti::test
