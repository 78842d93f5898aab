#include "api/request_keys.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace tutti::request_keys_test {

class RequestKeysTest : public testing::Test {
 protected:
  void submit(std::uint64_t id, std::string request, Duration after_start) {
    JobSubmitted event{JobId(id), std::make_shared<const JobSpec>(), std::move(request)};
    keys_.apply({.row = id,
                 .at = Instant{} + after_start,
                 .event = std::make_shared<const Event>(std::move(event)),
                 .moves = {}});
  }
  RequestKeys keys_;
};

TEST_F(RequestKeysTest, TextsReadBack) {
  const RequestKey key{.name = "k-1 uid 1000", .content = 0xab};
  EXPECT_EQ(key.text(), "00000000000000ab k-1 uid 1000");
  EXPECT_EQ(RequestKey::parse(key.text())->name, key.name);
  EXPECT_EQ(RequestKey::parse(key.text())->content, key.content);
  for (const char* bad : {"", "ab k", "00000000000000abk", "0000000000000000ab k", "x"}) {
    EXPECT_FALSE(RequestKey::parse(bad).has_value()) << bad;
  }
}

TEST_F(RequestKeysTest, RemembersTheJobsOfARequestForADay) {
  submit(1, RequestKey{"a ana", 7}.text(), {});
  submit(2, RequestKey{"a ana", 7}.text(), {});
  submit(3, "", {});
  submit(4, RequestKey{"b ana", 8}.text(), Duration::seconds(10));
  ASSERT_NE(keys_.find("a ana"), nullptr);
  EXPECT_EQ(keys_.find("a ana")->jobs, (std::vector{JobId(1), JobId(2)}));
  EXPECT_EQ(keys_.find("a ana")->content, 7U);
  EXPECT_EQ(keys_.find("a bob"), nullptr);
  submit(5, "", RequestKeys::remembered);
  EXPECT_NE(keys_.find("a ana"), nullptr);
  submit(6, "", RequestKeys::remembered + Duration::seconds(1));
  EXPECT_EQ(keys_.find("a ana"), nullptr);
  EXPECT_NE(keys_.find("b ana"), nullptr);
}

}  // namespace tutti::request_keys_test
