/// What a server says of itself, through a real one.
#include "api/health_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <string>

#include "api/test_server.h"

namespace tutti::health_routes_test {

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

using HealthRoutesTest = test::ServerTest;

TEST_F(HealthRoutesTest, AnybodyMaySeeThatItLives) {
  EXPECT_EQ(ask(tcp_, "/healthz").body, R"({"status":"ok"})");
  EXPECT_EQ(ask(tcp_, "/readyz").body, R"({"status":"ready"})");
  EXPECT_EQ(ask(tcp_, "/metrics").status, 401);
}

TEST_F(HealthRoutesTest, OperatorsMaySeeHowItWasStarted) {
  EXPECT_EQ(ask(local_, "/api/v1/server").body,
            R"({"version":"1.2","commit":"abc","settings":{"policy":"pack"}})");
  EXPECT_EQ(ask(tcp_, "/api/v1/server").status, 401);
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
  take({NodeReported{test::node("n0")}, NodeReported{test::node("n1")}});
  take({NodeCordoned{"n1", true}, DeviceHealthChanged{"n1", 0, Health::failed}});
  take({JobSubmitted{JobId(1), test::job(test::task(1000, 3))},
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

}  // namespace tutti::health_routes_test
