#include "api/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "net/test_net.h"

namespace tutti::audit_log_test {

using testing::ElementsAre;

class AuditLogTest : public testing::Test {
 protected:
  AuditLog open(AuditLog::Limits limits = {}) { return AuditLog::open(path_, limits).value(); }
  static std::vector<std::string> all(const AuditLog& log, std::size_t page = 1000) {
    std::vector<std::string> out;
    std::optional<std::uint64_t> before = log.end();
    while (before) {
      AuditLog::Page got = log.read(*before, page).value();
      EXPECT_LE(got.lines.size(), page);
      std::ranges::move(got.lines, std::back_inserter(out));
      if (got.next) {
        EXPECT_LT(*got.next, *before);
      }
      before = got.next;
    }
    return out;
  }
  std::string text() const {
    std::ifstream file(path_ + "/audit.log");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  net::test::Folder folder_;
  std::string path_ = folder_ / "";
};

TEST_F(AuditLogTest, LinesAreReadTheNewestFirst) {
  AuditLog log = open();
  EXPECT_THAT(all(log), ElementsAre());
  for (const char* line : {"a", "", "ccc"}) ASSERT_TRUE(log.add(line).has_value());
  for (const std::size_t page : {1U, 2U, 3U, 4U}) {
    EXPECT_THAT(all(log, page), ElementsAre("ccc", "", "a")) << page;
  }
  struct stat status{};
  ASSERT_EQ(::stat((path_ + "/audit.log").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_FALSE(log.read(1, 10).has_value());  // In the middle of a line.
}

TEST_F(AuditLogTest, FullFilesArePutAsideAndTheOldestGo) {
  const AuditLog::Limits limits{.file_bytes = 100, .files = 3};
  std::vector<std::string> expected;
  {
    AuditLog log = open(limits);
    for (int line = 0; line < 200; ++line) {
      expected.insert(expected.begin(), "line " + std::to_string(line));
      ASSERT_TRUE(log.add(expected.front()).has_value());
    }
  }
  const auto files = std::distance(std::filesystem::directory_iterator(path_), {});
  EXPECT_EQ(files, 3);
  AuditLog log = open(limits);  // Another server goes on.
  for (const std::size_t page : {1U, 7U, 1000U}) {
    const std::vector<std::string> got = all(log, page);
    ASSERT_GE(got.size(), 20U);
    ASSERT_LE(got.size(), 40U);
    EXPECT_TRUE(std::ranges::equal(got, std::span(expected).first(got.size()))) << page;
  }
  const std::uint64_t end = log.end();
  ASSERT_TRUE(log.add("more").has_value());
  EXPECT_EQ(log.end(), end + 5);  // Positions stay what they are.
  EXPECT_EQ(log.read(end, 1)->lines, std::vector{expected.front()});
}

TEST_F(AuditLogTest, LinesOfManyPiecesAreReadWhole) {
  AuditLog log = open();
  std::vector<std::string> expected;
  for (int line = 0; line < 100; ++line) {
    expected.insert(expected.begin(), std::string(4000 + line, static_cast<char>('a' + line % 26)));
    ASSERT_TRUE(log.add(expected.front()).has_value());
  }
  EXPECT_EQ(all(log), expected);
  EXPECT_EQ(all(log, 3), expected);
}

TEST_F(AuditLogTest, WhatAPowerCutLeftIsALineOfItsOwn) {
  ASSERT_TRUE(open().add("whole").has_value());
  std::ofstream(path_ + "/audit.log", std::ios::app) << "torn";
  AuditLog log = open();
  ASSERT_TRUE(log.add("next").has_value());
  EXPECT_THAT(all(log), ElementsAre("next", "torn", "whole"));
}

// A full disk: nothing is written by half, and what was to be written comes later.
TEST_F(AuditLogTest, WhatCannotBeWrittenIsKept) {
  AuditLog log = open();
  ASSERT_TRUE(log.add("one").has_value());
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ::getrlimit(RLIMIT_FSIZE, &usual);
  const rlimit six{.rlim_cur = 6, .rlim_max = usual.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &six);
  const bool second = log.add("two").has_value();
  const bool third = log.add("three").has_value();
  const bool kept = log.write_kept().has_value();
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(second || third || kept);
  EXPECT_EQ(text(), "one\n");
  ASSERT_TRUE(log.write_kept().has_value());
  EXPECT_EQ(text(), "one\ntwo\nthree\n");
  EXPECT_THAT(all(log), ElementsAre("three", "two", "one"));
}

}  // namespace tutti::audit_log_test
