/// Whatever happens to the bytes of a journal, it is read whole and right, or refused: never in
/// part, never otherwise than written, and never with a crash.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/prng.h"
#include "store/test_store.h"

namespace tutti::damage_test {

using test::Folder;
using test::numbered_lines;

constexpr std::size_t page_size = 4096;

/// A journal that was closed, or whose process died with rows in the log only.
struct Written {
  std::string file;
  std::string log;
  std::string head;
};

Written written(std::uint64_t rows, bool closed) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  const pid_t child = ::fork();
  if (child == 0) {
    auto journal = test::open_journal(path);
    test::append_numbered(*journal, 1, rows);
    if (closed) journal.reset();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return {.file = test::bytes_of(path),
          .log = test::bytes_of(path + "-wal"),
          .head = test::bytes_of(path + ".head")};
}

/// How many were read whole, and how many refused.
struct Outcomes {
  int read = 0;
  int refused = 0;
};

void check(const Written& bytes, std::uint64_t rows, Outcomes& outcomes, const std::string& what) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  test::write_bytes(path, bytes.file);
  if (!bytes.log.empty()) test::write_bytes(path + "-wal", bytes.log);
  test::write_bytes(path + ".head", bytes.head);
  const auto lines = test::read_all(path, JournalFile::Access::read);
  if (lines) {
    ++outcomes.read;
    ASSERT_EQ(*lines, numbered_lines(1, rows)) << what;
    return;
  }
  ++outcomes.refused;
  ASSERT_TRUE(lines.error().where.starts_with(path)) << what << ": " << lines.error().text();
  ASSERT_NE(lines.error().what, "") << what;
}

/// Offsets worth damaging: those of each page's header, and some of the rest of it.
std::vector<std::size_t> offsets(std::size_t size, Prng& prng) {
  std::vector<std::size_t> out;
  for (std::size_t page = 0; page < size; page += page_size) {
    const std::size_t length = std::min(page_size, size - page);
    for (std::size_t at = 0; at < std::min<std::size_t>(length, 12); ++at) out.push_back(page + at);
    for (int n = 0; n < 20; ++n) {
      out.push_back(page + static_cast<std::size_t>(prng.below(length)));
    }
  }
  return out;
}

class DamageTest : public testing::TestWithParam<bool> {};

TEST_P(DamageTest, FlippedBits) {
  const bool closed = GetParam();
  const std::uint64_t rows = closed ? 150 : 30;
  const Written right = written(rows, closed);
  Prng prng(42);
  Outcomes outcomes;
  check(right, rows, outcomes, "undamaged");
  ASSERT_EQ(outcomes.read, 1);
  for (std::string Written::* const part : {&Written::file, &Written::log}) {
    for (const std::size_t at : offsets((right.*part).size(), prng)) {
      Written bytes = right;
      char& byte = (bytes.*part)[at];
      byte = static_cast<char>(byte ^ (1 << prng.below(8)));
      check(bytes, rows, outcomes, "byte " + std::to_string(at));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(outcomes.read, 10);  // Where nothing stood.
  EXPECT_GT(outcomes.refused, 50);
}

TEST_P(DamageTest, CutOff) {
  constexpr std::uint64_t rows = 30;
  const Written right = written(rows, /*closed=*/GetParam());
  Outcomes outcomes;
  for (std::string Written::* const part : {&Written::file, &Written::log}) {
    for (std::size_t at = 0; at < (right.*part).size(); at += 1000) {
      Written bytes = right;
      (bytes.*part).resize(at);
      check(bytes, rows, outcomes, "cut at " + std::to_string(at));
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(outcomes.refused, 5);
}

INSTANTIATE_TEST_SUITE_P(All, DamageTest, testing::Bool(),
                         [](const auto& closed) { return closed.param ? "Closed" : "Killed"; });

}  // namespace tutti::damage_test
