/// A whole server in one thread and its engine's, for tests: all routes, and no backend.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/attach_routes.h"
#include "api/event_routes.h"
#include "api/health_routes.h"
#include "api/job_routes.h"
#include "api/node_routes.h"
#include "net/http_client.h"
#include "net/test_net.h"
#include "sched/test_fleet.h"

namespace tutti::test {

class ServerTest : public testing::Test {
 protected:
  struct NoBackend final : Backend {
    void execute(const Action&, const State&) override {}
    std::vector<Observed> observe() override { return {}; }
  };

  ServerTest() {
    EngineThread::Ports ports;
    ports.engine = &engine_;
    ports.post = [this](EngineThread::Work work) { loop_.post(std::move(work)); };
    ports.publish = [this](const std::vector<Happening>& happened) {
      for (const Happening& each : happened) feed_.apply(each);
    };
    ports.clock = [] { return Instant{1}; };
    ports.failed = [](const Error& error) { ADD_FAILURE() << error.text(); };
    thread_.emplace(std::move(ports));
    job_routes_.emplace(JobRoutes::Ports{
        .loop = &loop_, .engine = &*thread_, .jobs = &jobs_, .requests = &requests_});
    job_routes_->declare(server_.router());
    node_routes_.emplace(*thread_);
    node_routes_->declare(server_.router());
    attach_routes_.emplace(AttachRoutes::Ports{
        .loop = &loop_, .engine = &*thread_, .jobs = &jobs_, .open_terminal = {}});
    attach_routes_->declare(server_.router());
    event_routes_.emplace(feed_, jobs_);
    event_routes_->declare(server_.router());
    health_routes_.emplace(HealthRoutes::Ports{.loop = &loop_,
                                               .engine = &*thread_,
                                               .journal = &measured_,
                                               .jobs = &jobs_,
                                               .feed = &feed_,
                                               .server = &server_,
                                               .version = "1.2",
                                               .commit = "abc",
                                               .patience = Duration::milliseconds(50)});
    health_routes_->declare();
    tcp_ = server_.http().listen({.address = "127.0.0.1:0"}).value();
    local_ = server_.http().listen({.address = "unix:" + folder_ / "s"}).value();
  }

  net::Response ask(const net::Url& url, const std::string& target) {
    std::optional<Result<net::Response>> got;
    net::HttpClient client(loop_);
    const net::Call call = client.send({.url = url.with_target(target)}, [&](auto response) {
      got = std::move(response);
      loop_.stop();
    });
    loop_.run();
    return got->value();
  }
  /// The events are durable.
  void send(std::vector<Event> events) {
    thread_->send(std::move(events), [this](const EngineThread::Answers& answers) {
      for (const auto& each : answers) EXPECT_TRUE(each.has_value()) << each.error().text();
      loop_.stop();
    });
    loop_.run();
  }

  net::test::Folder folder_;
  NullJournal journal_;
  MeasuredJournal measured_{journal_};
  NoBackend backend_;
  RecipeFactory factory_{{.name = "pack", .scores = {{.name = "pack"}}}};
  Engine engine_{measured_, backend_, factory_};
  net::EventLoop loop_;
  JobTable jobs_;
  RequestKeys requests_;
  EventFeed feed_{loop_, jobs_, 0};
  std::optional<EngineThread> thread_;
  std::optional<JobRoutes> job_routes_;
  std::optional<NodeRoutes> node_routes_;
  std::optional<AttachRoutes> attach_routes_;
  std::optional<EventRoutes> event_routes_;
  std::optional<HealthRoutes> health_routes_;
  Server server_{loop_, Access("token", ::geteuid())};
  net::Url tcp_;
  net::Url local_;
};

}  // namespace tutti::test
