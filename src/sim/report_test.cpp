#include "sim/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "format/json.h"

namespace tutti::report_test {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view stub = "<script id=\"data\">/*DATA*/</script><p>end</p>";

Report small() {
  Report report;
  report.version = "0.1.0";
  report.headline = "pack fills it";
  report.fleet = {"two",      2,      3,      true, {{"H100", 1, 2}, {"T4", 1, 1}},
                  {"a", "b"}, {0, 1}, {2, 1}, {1}};
  Report::Run run;
  run.policy = "pack";
  run.workload = "jobs";
  run.seeds = {42, std::numeric_limits<std::uint64_t>::max()};
  run.curve = {{0, 0, 0}, {100, 95.12349, 2}};
  run.unallocated_gpu_percent = {{100, {4.87651, 0.1}}, {130, {4.5, 0}}};
  run.left_by_model = {{"H100", 2, 0.25}};
  run.failed_before_100 = {{"8", 1.5}, {"share", 0}};
  run.decisions_per_second = 312'000.4;
  run.map = Report::NodeMap{{5, 90}, {7, 80}, {0, 250, 1000}};
  report.runs.push_back(run);
  return report;
}

Value parsed(const Report& report) {
  Result<Value> value = parse_json(to_json(report));
  EXPECT_TRUE(value.has_value()) << (value ? "" : value.error().text());
  return value ? *std::move(value) : Value::null();
}

TEST(ReportTest, WritesItsMembersUnderTheirNames) {
  EXPECT_EQ(
      to_json(small()),
      R"({"version":"0.1.0","headline":"pack fills it","command":"","fleet":{"name":"two",)"
      R"("nodes":2,"gpus":3,"all_gpus":true,"models":[{"model":"H100","nodes":1,"gpus":2},)"
      R"({"model":"T4","nodes":1,"gpus":1}],"node_names":["a","b"],"node_models":[0,1],)"
      R"("node_devices":[2,1],"closed_nodes":[1]},"runs":[{"policy":"pack","workload":"jobs",)"
      R"("seeds":[42,18446744073709551615],"curve":[{"arrived_percent":0,)"
      R"("allocated_percent":0,"fragmented_percent":0},{"arrived_percent":100,)"
      R"("allocated_percent":95.123,"fragmented_percent":2}],)"
      R"("unallocated_gpu_percent":{"100":{"mean":4.877,"sd":0.1},"130":{"mean":4.5,"sd":0}},)"
      R"("left_by_model":[{"model":"H100","gpus":2,"unallocated":0.25}],)"
      R"("failed_before_100":{"8":1.5,"share":0},"decisions_per_second":312000,)"
      R"("map":{"cpu_free_percent":[5,90],"memory_free_percent":[7,80],)"
      R"("device_free_permille":[0,250,1000]}}],"notes":[],"never_start":[],"waiting":[]})");
}

TEST(ReportTest, WritesATraceWithoutAMap) {
  Report report = small();
  report.runs[0].map.reset();
  report.runs[0].trace =
      Report::Trace{10, 9, 3600, 81.25, {1, 2, 3, 4, 5}, {{0, 50, 3}, {60.5, 0, 0}}};
  const std::string json = to_json(report);
  EXPECT_THAT(json, Not(HasSubstr("\"map\"")));
  EXPECT_THAT(json, HasSubstr(R"("trace":{"jobs":10,"finished":9,"makespan_s":3600,)"
                              R"("utilisation_percent":81.25,"wait_s":{"mean":1,"p50":2,"p95":3,)"
                              R"("p99":4,"max":5},"over_time":[{"at_s":0,"allocated_percent":50,)"
                              R"("queued_jobs":3},{"at_s":60.5,"allocated_percent":0,)"
                              R"("queued_jobs":0}]})"));
  parsed(report);
}

TEST(ReportTest, WritesASnapshot) {
  Report report = small();
  report.runs[0].snapshot = Report::Anew{2.12349, 5, 1, 4, 3, 2, 6};
  EXPECT_THAT(to_json(report),
              HasSubstr(R"("snapshot":{"gpus_allocated":2.123,"running":5,"running_unplaced":1,)"
                        R"("pending":4,"pending_started":3,"free_whole_nodes":2,)"
                        R"("largest_gang_8gpu":6}})"));
  parsed(report);
}

TEST(ReportTest, AnEmptyReportIsStillJson) { parsed(Report{}); }

TEST(ReportTest, NoNameEndsTheScript) {
  const std::string evil = "</script><script>alert(1)</script><!-- \"\\ \n";
  Report report = small();
  report.headline = evil;
  report.fleet.name = report.fleet.node_names[1] = report.fleet.models[0].model = evil;
  report.runs[0].policy = report.runs[0].workload = report.runs[0].left_by_model[0].model = evil;
  report.runs[0].failed_before_100[evil] = 1;
  EXPECT_THAT(to_json(report), Not(HasSubstr("<")));
  const Value value = parsed(report);
  ASSERT_NE(value.find("headline"), nullptr);
  EXPECT_EQ(value.find("headline")->text_value(), evil);
}

TEST(ReportTest, FillsThePageAtItsPlace) {
  const Report report = small();
  EXPECT_EQ(to_html(report, stub),
            "<script id=\"data\">" + to_json(report) + "</script><p>end</p>");
}

TEST(ReportTest, TheTextOfThePlaceInANameIsOnlyText) {
  Report report = small();
  report.headline = "/*DATA*/";
  EXPECT_EQ(to_html(report, stub),
            "<script id=\"data\">" + to_json(report) + "</script><p>end</p>");
}

TEST(ReportTest, FiguresThatAreNotNumbersAreNull) {
  Report report = small();
  report.runs[0].decisions_per_second = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(to_json(report), HasSubstr("\"decisions_per_second\":null"));
}

TEST(ReportTest, TenThousandNodesStaySmall) {
  Report report;
  for (int node = 0; node < 10'000; ++node) {
    report.fleet.node_names.push_back("node-" + std::to_string(node));
    report.fleet.node_models.push_back(0);
    report.fleet.node_devices.push_back(8);
  }
  Report::Run run;
  run.map = Report::NodeMap{std::vector<std::uint32_t>(10'000, 12),
                            std::vector<std::uint32_t>(10'000, 34),
                            std::vector<std::uint32_t>(80'000, 0)};
  report.runs.assign(6, run);
  EXPECT_LT(to_json(report).size(), 2'000'000U);
}

TEST(ReportDeathTest, AMapOfAnotherFleetIsABug) {
  Report report = small();
  report.runs[0].map->device_free_permille.pop_back();
  EXPECT_DEATH(to_json(report), "devices");
}

TEST(ReportDeathTest, AClosedNodeThatIsNotThereIsABug) {
  Report report = small();
  report.fleet.closed_nodes.push_back(2);
  EXPECT_DEATH(to_json(report), "closed");
}

TEST(ReportTest, ThePageIsThereOrSaysHowToGetIt) {
  const Result<std::string_view> page = report_page();
  if (!page) {
    EXPECT_EQ(page.error().code, Code::unsupported);
    EXPECT_THAT(page.error().hint, HasSubstr("npm"));
    return;
  }
  EXPECT_LT(page->size(), 1'200'000U);
  EXPECT_THAT(std::string(*page), HasSubstr("Content-Security-Policy"));
  const std::string html = to_html(small(), *page);
  EXPECT_THAT(html, HasSubstr("\"headline\":\"pack fills it\""));
  EXPECT_EQ(html.find("/*DATA*/"), html.npos);
}

}  // namespace tutti::report_test
