#include "api/job_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sched/test_fleet.h"

namespace tutti::job_quota_test {

class JobQuotaTest : public testing::Test {
 protected:
  void submit(std::uint64_t id, const std::string& user) {
    JobSpec spec = *test::job(test::task(1000, 1));
    spec.user = user;
    apply(JobSubmitted{JobId(id), std::make_shared<const JobSpec>(std::move(spec))});
  }
  void apply(const Event& event, std::vector<TaskMove> moves = {}) {
    table_.apply({.row = 1,
                  .at = {},
                  .event = std::make_shared<const Event>(event),
                  .moves = std::move(moves)});
  }

  JobTable table_;
  JobQuota quota_{table_, 2};
};

TEST_F(JobQuotaTest, CountsWhatIsThereAndWhatIsOnItsWay) {
  submit(1, "ana");
  submit(2, "bob");
  auto place = quota_.take("ana");
  ASSERT_TRUE(place.has_value());
  const auto third = quota_.take("ana");
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().what, "ana has 2 jobs that are not over, and may have 2");
  EXPECT_TRUE(quota_.take("bob").has_value());
  place->reset();  // It was refused.
  EXPECT_TRUE(quota_.take("ana").has_value());
}

TEST_F(JobQuotaTest, WhatIsOverDoesNotCount) {
  submit(1, "ana");
  submit(2, "ana");
  EXPECT_EQ(table_.live_of("ana"), 2U);
  EXPECT_FALSE(quota_.take("ana").has_value());
  TaskMove move;
  move.task = {JobId(1), 0};
  move.phase = TaskPhase::failed;
  apply(JobCancelled{JobId(1)}, {move});
  EXPECT_EQ(table_.live_of("ana"), 1U);
  EXPECT_EQ(table_.by_queue().at("default").waiting, 1U);
  EXPECT_TRUE(quota_.take("ana").has_value());
}

}  // namespace tutti::job_quota_test
