#include "backend/local/task_records.h"

#include <gtest/gtest.h>

namespace tutti::task_records_test {

TEST(TaskRecordsTest, AttemptsHaveNames) {
  const AttemptId id{.task = {JobId(18446744073709551614U), 4294967295U}, .attempt = 7};
  EXPECT_EQ(to_string(id), "18446744073709551614.4294967295.7");
  EXPECT_EQ(attempt_of(to_string(id)), id);
  for (const char* name : {"", "1", "1.2", "1.2.3.", "1.2.3.4", "01.2.3", "1.2.x", "1.2.-3", ".2.3",
                           "1.2.4294967296", " 1.2.3", "lost+found"}) {
    EXPECT_EQ(attempt_of(name), std::nullopt) << name;
  }
}

TEST(TaskRecordsTest, TextHoldsAllOfIt) {
  const TaskIdentity identity{.pid = 4711, .start_ticks = 99, .boot = "b", .mark = "m"};
  EXPECT_EQ(decode_task_identity(encode(identity)).value(), identity);
  for (int cause = 0; cause <= static_cast<int>(EndCause::refused); ++cause) {
    const TaskEnd end{.cause = static_cast<EndCause>(cause),
                      .exit_code = 139,
                      .signal = 11,
                      .core_dumped = true,
                      .began = true,
                      .reason = "why \"not\"",
                      .began_at = {1},
                      .ended_at = {2},
                      .cpu = {3},
                      .rss_max_kib = 4,
                      .output_bytes = 5,
                      .dropped_bytes = 6,
                      .rotated_bytes = 7};
    EXPECT_EQ(decode_task_end(encode(end)).value(), end);
  }
  EXPECT_FALSE(decode_task_end("").has_value());
  EXPECT_FALSE(decode_task_identity("{\"pid\": 0}").has_value());
}

}  // namespace tutti::task_records_test
