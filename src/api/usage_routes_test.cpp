/// Usage as a client meets it.
#include "api/usage_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "api/test_routes.h"

namespace tutti::usage_routes_test {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t hour_us = std::int64_t{3600} * 1'000'000;

/// Ana's job ran for an hour, bob's in queue "far" for two, and both are over.
class UsageRoutesTest : public test::RoutesTest {
 protected:
  UsageRoutesTest() {
    run(1, {.name = "small", .queue = "default", .user = "ana"}, 300);
    run(2, {.name = "large", .queue = "far", .user = "bob"}, 2000);
  }
  void run(std::int64_t hours, JobSpec spec, std::int64_t permille) {
    const TaskId task{JobId(next_++), 0};
    const Holding holding{.task = task,
                          .spec = std::make_shared<const JobSpec>(std::move(spec)),
                          .parts = {{"T4", permille}}};
    meter_.apply(clock_, {}, {&holding, 1});
    clock_.us += hours * hour_us;
    const TaskMove end{.task = task, .phase = TaskPhase::succeeded, .attempt = 1};
    meter_.apply(clock_, {&end, 1}, {});
  }
  std::string usage(const std::string& query = "") {
    return ask("GET", "/api/v1/usage" + query).body;
  }

  std::uint64_t next_ = 1;
};

TEST_F(UsageRoutesTest, OperatorsSeeAllOfItTheLargestFirst) {
  as("root", Role::operator_);
  EXPECT_THAT(usage(), AllOf(StartsWith(R"({"since":"1969-12-03","until":"1970-01-01","own":false,)"
                                        R"("rows":[{"user":"bob","device_hours":4,)"),
                             HasSubstr(R"({"user":"ana","device_hours":0.3,)"),
                             HasSubstr(R"("jobs":1,"tasks":1}],"left_out":0,"total":)"),
                             HasSubstr(R"("total":{"device_hours":4.3,)")));
  EXPECT_THAT(usage("?by=queue,model"), HasSubstr(R"({"queue":"far","model":"T4",)"));
  EXPECT_THAT(usage("?by=job"),
              HasSubstr(R"({"job":"1","name":"small","user":"ana","queue":"default",)"));
}

TEST_F(UsageRoutesTest, AUserSeesHisOwnAndOnlyInHisQueues) {
  as("ana");
  EXPECT_THAT(usage("?by=job"), AllOf(HasSubstr(R"("own":true)"), HasSubstr("small"),
                                      Not(HasSubstr("bob")), Not(HasSubstr("large"))));
  EXPECT_THAT(usage(), HasSubstr(R"("total":{"device_hours":0.3,)"));
  as("ana", Role::viewer);
  EXPECT_THAT(usage(), Not(HasSubstr("bob")));
  user_ = {.name = "ana", .role = Role::user, .queues = {"far"}};
  EXPECT_THAT(usage(), Not(HasSubstr("ana")));
  user_ = {.name = "ana", .role = Role::operator_, .queues = {"far"}};
  EXPECT_THAT(usage("?by=job"), AllOf(HasSubstr("large"), Not(HasSubstr("small"))));
  user_ = {.role = Role::viewer};  // Of no account: a token of nobody.
  EXPECT_THAT(usage(), HasSubstr(R"("rows":[],)"));
}

TEST_F(UsageRoutesTest, DaysAreChosen) {
  as("root", Role::admin);
  clock_.us +=
      std::int64_t{30} * 24 * hour_us;  // 1970-01-31, one day more than what is told by itself.
  EXPECT_THAT(usage(), AllOf(HasSubstr(R"("since":"1970-01-02")"), HasSubstr(R"("rows":[])")));
  EXPECT_THAT(usage("?since=31d"), HasSubstr("bob"));
  EXPECT_THAT(usage("?since=1970-01-01&until=1970-01-01"), HasSubstr("bob"));
  for (const std::string query :
       {"?since=0d", "?since=401d", "?since=yesterday", "?since=1970-02-30", "?since=1970-1-001",
        "?until=7d", "?since=2d&until=1970-01-01", "?by=", "?by=user,", "?by=node", "?of=ana"}) {
    EXPECT_EQ(ask("GET", "/api/v1/usage" + query).status, 400) << query;
  }
}

}  // namespace tutti::usage_routes_test
