/// What a server says of itself, through a real one.
#include "api/health_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <latch>
#include <optional>
#include <string>
#include <utility>

#include "net/http_client.h"
#include "net/test_net.h"
#include "sched/test_fleet.h"

namespace tutti {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(HistogramTest, CountsByUpperBounds) {
  Histogram figures;
  figures.add(Duration{100});  // A bound belongs to its bucket.
  figures.add(Duration{101});
  figures.add(Duration::seconds(1000));
  EXPECT_EQ(figures.in_bucket(0), 1U);
  EXPECT_EQ(figures.in_bucket(1), 1U);
  EXPECT_EQ(figures.in_bucket(Histogram::bounds.size()), 1U);
  MetricsText text;
  text.family("x_seconds", "histogram", "Help.").histogram(figures);
  EXPECT_THAT(text.text(), AllOf(HasSubstr("# HELP x_seconds Help.\n# TYPE x_seconds histogram\n"),
                                 HasSubstr("x_seconds_bucket{le=\"0.0003\"} 2\n"),
                                 HasSubstr("x_seconds_bucket{le=\"100\"} 2\n"),
                                 HasSubstr("x_seconds_bucket{le=\"+Inf\"} 3\n"),
                                 HasSubstr("x_seconds_sum 1000.000201\nx_seconds_count 3\n")));
}

TEST(MetricsTextTest, LabelsAreEscaped) {
  MetricsText text;
  text.family("x", "gauge", "Help.").sample({{"a", "q\"\\\n"}, {"b", ""}}, 0.5);
  EXPECT_THAT(text.text(), HasSubstr("x{a=\"q\\\"\\\\\\n\",b=\"\"} 0.5\n"));
}

TEST(HttpMeterTest, WordsOfClientsMakeNoRows) {
  HttpMeter meter;
  for (const char* method : {"GET", "GET", "BREW", "BAKE"}) {
    meter.answered(method, 200, Duration::milliseconds(1));
  }
  MetricsText text;
  meter.write(text);
  EXPECT_THAT(text.text(),
              AllOf(HasSubstr("tutti_http_requests_total{code=\"200\",method=\"GET\"} 2\n"),
                    HasSubstr("{code=\"200\",method=\"other\"} 2\n"), Not(HasSubstr("BREW"))));
}

class HealthRoutesTest : public testing::Test {
 protected:
  struct NoBackend final : Backend {
    void execute(const Action&, const State&) override {}
    std::vector<Observed> observe() override { return {}; }
  };

  HealthRoutesTest() {
    EngineThread::Ports ports;
    ports.engine = &engine_;
    ports.post = [this](EngineThread::Work work) { loop_.post(std::move(work)); };
    ports.publish = [this](const std::vector<Happening>& happened) {
      for (const Happening& each : happened) feed_.apply(each);
    };
    ports.clock = [] { return Instant{1}; };
    ports.failed = [](const Error& error) { ADD_FAILURE() << error.text(); };
    thread_.emplace(std::move(ports));
    routes_.emplace(HealthRoutes::Ports{.loop = &loop_,
                                        .engine = &*thread_,
                                        .journal = &measured_,
                                        .jobs = &jobs_,
                                        .feed = &feed_,
                                        .server = &server_,
                                        .version = "1.2",
                                        .commit = "abc",
                                        .patience = Duration::milliseconds(50)});
    routes_->declare();
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
  EventFeed feed_{loop_, jobs_, 0};
  std::optional<EngineThread> thread_;
  std::optional<HealthRoutes> routes_;
  Server server_{loop_, Access("token", ::geteuid())};
  net::Url tcp_;
  net::Url local_;
};

TEST_F(HealthRoutesTest, AnybodyMaySeeThatItLives) {
  EXPECT_EQ(ask(tcp_, "/healthz").body, R"({"status":"ok"})");
  EXPECT_EQ(ask(tcp_, "/readyz").body, R"({"status":"ready"})");
  EXPECT_EQ(ask(tcp_, "/metrics").status, 401);
}

TEST_F(HealthRoutesTest, ItIsNotReadyWhileTheEngineHangs) {
  std::latch go_on(1);
  thread_->ask([&](const State&) -> EngineThread::Work {
    go_on.wait();
    return [] {};
  });
  const net::Response answer = ask(tcp_, "/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("does not answer"));
  EXPECT_EQ(ask(tcp_, "/healthz").status, 200);
  go_on.count_down();
  EXPECT_EQ(ask(tcp_, "/readyz").status, 200);
}

TEST_F(HealthRoutesTest, MetricsCountWhatThereIs) {
  send({NodeReported{test::node("n0")}, NodeReported{test::node("n1")}});
  send({NodeCordoned{"n1", true}, DeviceHealthChanged{"n1", 0, Health::failed}});
  send({JobSubmitted{JobId(1), test::job(test::task(1000, 3))},
        JobSubmitted{JobId(2), test::job(test::task(1000, 64))}});
  ask(tcp_, "/metrics");
  const net::Response answer = ask(local_, "/metrics");
  EXPECT_EQ(answer.headers.find("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* line :
       {"tutti_build_info{version=\"1.2\",commit=\"abc\"} 1", "tutti_nodes{state=\"ready\"} 1",
        "tutti_nodes{state=\"cordoned\"} 1", "tutti_jobs{state=\"pending\"} 1",
        "tutti_jobs{state=\"running\"} 1", "tutti_devices{state=\"used\",model=\"A100-80G\"} 3",
        "tutti_devices{state=\"free\",model=\"A100-80G\"} 12",
        "tutti_devices{state=\"failed\",model=\"A100-80G\"} 1", "tutti_cycle_seconds_count 3",
        "tutti_journal_commit_seconds_count 4",
        "tutti_http_requests_total{code=\"401\",method=\"GET\"} 1", "tutti_event_readers 0",
        "tutti_journal_rows 7"}) {
    EXPECT_THAT(answer.body, HasSubstr(std::string("\n") + line + "\n"));
  }
  EXPECT_THAT(answer.body, HasSubstr("\nprocess_resident_memory_bytes "));
  EXPECT_THAT(answer.body, Not(HasSubstr("\nprocess_open_fds 0\n")));
}

}  // namespace
}  // namespace tutti
