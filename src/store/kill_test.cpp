/// A process that appends and is killed at any moment has kept all that it acknowledged, once.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/prng.h"
#include "store/test_store.h"

namespace tutti::kill_test {

using test::Folder;
using test::numbered;
using test::time_of;

/// Appends batches of 1 to 5 events until it is killed or refused, and writes the number of the
/// last event of each to `out` once it was acknowledged. Never returns.
[[noreturn]] void append_for_ever(const std::string& path, int out) {
  auto journal = JournalFile::open(path);
  if (!journal) ::_exit(2);
  std::uint64_t next = (*journal)->rows() + 1;
  Prng prng(next);
  for (;;) {
    std::vector<Event> batch;
    for (const std::uint64_t end = next + 1 + prng.below(5); next < end; ++next) {
      batch.push_back(numbered(next));
    }
    if (!(*journal)->append(batch, time_of(next - batch.size()))) ::_exit(3);
    const std::uint64_t acknowledged = next - 1;
    if (::write(out, &acknowledged, sizeof acknowledged) != sizeof acknowledged) ::_exit(4);
  }
}

/// The events of a batch carry its time, so only what is not the time is compared.
std::vector<std::string> events_of(const std::string& path) {
  std::vector<std::string> out;
  const auto journal = test::open_journal(path);
  if (journal == nullptr) return out;
  const auto done = journal->replay(1, [&](std::uint64_t, const Event& event, Instant) {
    out.push_back(encode(event, Instant{}));
    return Result<void>{};
  });
  EXPECT_TRUE(done.has_value()) << done.error().text();
  return out;
}

/// Checks that rows 1, 2, ... are the events 1, 2, ..., and returns how many there are.
std::uint64_t check_rows(const std::string& path) {
  const std::vector<std::string> events = events_of(path);
  for (std::size_t at = 0; at < events.size(); ++at) {
    EXPECT_EQ(events[at], encode(numbered(at + 1), Instant{})) << at + 1;
  }
  return events.size();
}

struct Child {
  pid_t pid = -1;
  int acknowledged = -1;  ///< Where it writes its numbers.
};

template <class Prepare>
Child start(const std::string& path, Prepare prepare) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    prepare();
    append_for_ever(path, ends[1]);
  }
  ::close(ends[1]);
  return {.pid = pid, .acknowledged = ends[0]};
}

/// Waits until the child has acknowledged something; returns its number, or `last` if it is gone.
std::uint64_t wait_for_one(const Child& child, std::uint64_t last) {
  std::uint64_t number = 0;
  return ::read(child.acknowledged, &number, sizeof number) == sizeof number ? number : last;
}

/// Reads numbers until the child is gone; returns the last one, or `last`.
std::uint64_t drain(const Child& child, std::uint64_t last) {
  for (std::uint64_t number = 0;
       ::read(child.acknowledged, &number, sizeof number) == sizeof number;) {
    last = number;
  }
  ::close(child.acknowledged);
  return last;
}

TEST(KillTest, NothingAcknowledgedIsLost) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  Prng prng(42);
  std::uint64_t acknowledged = 0;
  std::uint64_t rows = 0;
  for (int round = 0; round < 25; ++round) {
    const Child child = start(path, [] {});
    // Every other one may be killed while it opens the journal, too.
    acknowledged = round % 2 == 0 ? wait_for_one(child, rows) : rows;
    ::usleep(static_cast<useconds_t>(prng.below(12'000)));
    ASSERT_EQ(::kill(child.pid, SIGKILL), 0);
    acknowledged = drain(child, acknowledged);
    int status = 0;
    ASSERT_EQ(::waitpid(child.pid, &status, 0), child.pid);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    rows = check_rows(path);
    ASSERT_GE(rows, acknowledged) << "round " << round;
    ASSERT_LE(rows, acknowledged + 5) << "round " << round;  // One batch that nobody heard of.
  }
  EXPECT_GT(acknowledged, 13U);
}

TEST(KillTest, WriterIsNamedUntilItIsDead) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  const Child child = start(path, [] {});
  EXPECT_GT(wait_for_one(child, 0), 0U);
  const auto second = JournalFile::open(path);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().what, "in use by process " + std::to_string(child.pid));
  EXPECT_TRUE(JournalFile::open(path, JournalFile::Access::read).has_value());
  ASSERT_EQ(::kill(child.pid, SIGKILL), 0);
  drain(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child.pid, &status, 0), child.pid);
  EXPECT_TRUE(JournalFile::open(path).has_value());
}

// The same where the disk takes no more: the append is refused, what came before is kept.
TEST(KillTest, NothingAcknowledgedIsLostWhenAFileMayNotGrow) {
  for (const rlim_t limit : {40'000U, 100'000U, 150'001U}) {
    const Folder folder;
    const std::string path = folder / "journal.db";
    const Child child = start(path, [limit] {
      const rlimit most{.rlim_cur = limit, .rlim_max = limit};
      if (::setrlimit(RLIMIT_FSIZE, &most) != 0) ::_exit(5);
      ::signal(SIGXFSZ, SIG_IGN);
    });
    const std::uint64_t acknowledged = drain(child, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child.pid, &status, 0), child.pid);
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), 3);
    EXPECT_GT(acknowledged, 0U) << limit;
    EXPECT_EQ(check_rows(path), acknowledged) << limit;
  }
}

}  // namespace tutti::kill_test
