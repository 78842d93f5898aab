/// Disks that are full, that fail, and that forget what was not synced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "store/restore.h"
#include "store/test_disk.h"
#include "store/test_store.h"

namespace tutti::disk_test {

using test::FaultyDisk;
using test::Folder;
using test::numbered;
using test::numbered_lines;
using test::time_of;
using testing::HasSubstr;

/// Appends events one by one; returns the number of the first that was refused, or `last` + 1.
std::uint64_t append_until_refused(JournalFile& journal, std::uint64_t first, std::uint64_t last,
                                   Error& why, Event (*event)(std::uint64_t) = numbered) {
  for (std::uint64_t n = first; n <= last; ++n) {
    const std::vector<Event> events{event(n)};
    if (auto done = journal.append(events, time_of(n)); !done) {
      why = std::move(done).error();
      return n;
    }
  }
  return last + 1;
}

/// Events so large that after a hundred of them the log is copied into the file.
Event large(std::uint64_t n) {
  return TaskRefused{{JobId(n), 0}, 1, std::string(40'000, static_cast<char>('a' + n % 26))};
}
constexpr std::uint64_t many = 250;

std::vector<std::string> large_lines(std::uint64_t last) {
  std::vector<std::string> lines;
  for (std::uint64_t n = 1; n <= last; ++n) lines.push_back(encode(large(n), time_of(n)));
  return lines;
}

TEST(DiskTest, FailedSyncEndsAllWritingUntilItIsOpenedAgain) {
  for (int syncs = 0; syncs < 8; ++syncs) {
    const Folder folder;
    const std::string path = folder / "journal.db";
    FaultyDisk disk;
    auto journal = test::open_journal(path);
    disk.syncs_left = syncs;
    Error why;
    const std::uint64_t refused = append_until_refused(*journal, 1, 20, why);
    ASSERT_LE(refused, 20U);
    EXPECT_EQ(why.code, Code::io);
    EXPECT_THAT(why.what, HasSubstr("the disk failed (SQLite 1034"));
    EXPECT_EQ(why.where, path);
    EXPECT_EQ(journal->rows(), refused - 1);
    // The disk works again; but nobody knows any more what is on it.
    Error later;
    EXPECT_EQ(append_until_refused(*journal, refused, 20, later), refused);
    EXPECT_EQ(later.what, why.what);
    journal.reset();
    const auto again = test::open_journal(path);
    ASSERT_GE(again->rows(), refused - 1);
    ASSERT_LE(again->rows(), refused);
    EXPECT_EQ(test::lines_of(*again).value(), numbered_lines(1, again->rows()));
    test::append_numbered(*again, again->rows() + 1, 20);
  }
}

// Copying the log into the file fails: what was acknowledged stands in the log, which stays.
TEST(DiskTest, FailedCopyOfTheLogLosesNothing) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  FaultyDisk disk;
  auto journal = test::open_journal(path);
  disk.file_sync_fails = true;
  Error why;
  const std::uint64_t refused = append_until_refused(*journal, 1, many, why, large);
  ASSERT_FALSE(disk.file_sync_fails);  // It did fail, and after an append that was durable.
  ASSERT_LE(refused, many);
  EXPECT_THAT(why.what, HasSubstr("the disk failed (SQLite 1034"));
  journal.reset();
  disk.cut_power();
  const auto lines = test::read_all(path);
  ASSERT_TRUE(lines.has_value()) << lines.error().text();
  EXPECT_TRUE(*lines == large_lines(refused - 1)) << lines->size();
}

TEST(DiskTest, FullDiskRefusesAndGoesOnOnceThereIsSpace) {
  for (int writes = 0; writes < 12; ++writes) {
    const Folder folder;
    const std::string path = folder / "journal.db";
    FaultyDisk disk;
    auto journal = test::open_journal(path);
    disk.writes_left = writes;
    Error why;
    const std::uint64_t refused = append_until_refused(*journal, 1, 20, why);
    ASSERT_LE(refused, 20U);
    EXPECT_EQ(why.code, Code::io);
    EXPECT_THAT(why.what, HasSubstr("the disk is full"));
    EXPECT_EQ(why.hint, "free some space there; what was acknowledged is kept");
    Error later;
    EXPECT_EQ(append_until_refused(*journal, refused, 20, later), refused);
    disk.writes_left = FaultyDisk::never;
    test::append_numbered(*journal, refused, 20);
    EXPECT_EQ(test::lines_of(*journal).value(), numbered_lines(1, 20));
    journal.reset();
    EXPECT_EQ(test::read_all(path).value(), numbered_lines(1, 20));
  }
}

TEST(DiskTest, FailedWriteLosesNothing) {
  for (int writes = 0; writes < 12; ++writes) {
    const Folder folder;
    const std::string path = folder / "journal.db";
    FaultyDisk disk;
    auto journal = test::open_journal(path);
    disk.write_errors_after = writes;
    Error why;
    const std::uint64_t refused = append_until_refused(*journal, 1, 20, why);
    ASSERT_LE(refused, 20U);
    EXPECT_THAT(why.what, HasSubstr("the disk failed (SQLite 778"));
    journal.reset();
    EXPECT_EQ(test::read_all(path).value(), numbered_lines(1, refused - 1));
  }
}

TEST(DiskTest, BackupToAFullDiskLeavesNothing) {
  const Folder folder;
  FaultyDisk disk;
  const auto journal = test::open_journal(folder / "journal.db");
  test::append_numbered(*journal, 1, 20);
  disk.writes_left = 1;
  const auto done = journal->backup_to(folder / "backup.db");
  ASSERT_FALSE(done.has_value());
  EXPECT_THAT(done.error().what, HasSubstr("the disk is full"));
  EXPECT_EQ(done.error().where, folder / "backup.db");
  EXPECT_FALSE(std::filesystem::exists(folder / "backup.db"));
}

// The note beside the journal is never newer than what the disk holds.
TEST(DiskTest, PowerCutLosesNothingAcknowledged) {
  for (const std::uint64_t rows : {std::uint64_t{1}, std::uint64_t{7}, many}) {
    const Folder folder;
    const std::string path = folder / "journal.db";
    FaultyDisk disk;
    auto journal = test::open_journal(path);
    Error why;
    ASSERT_EQ(append_until_refused(*journal, 1, rows, why, large), rows + 1) << why.text();
    disk.syncs_left = 0;
    EXPECT_EQ(append_until_refused(*journal, rows + 1, rows + 1, why, large), rows + 1);
    journal.reset();
    disk.cut_power();
    const auto lines = test::read_all(path);
    ASSERT_TRUE(lines.has_value()) << lines.error().text();
    EXPECT_TRUE(*lines == large_lines(rows)) << lines->size();
  }
}

/// Takes orders and never answers.
class SilentBackend final : public Backend {
 public:
  void execute(const Action&, const State&) override {}
  std::vector<Observed> observe() override { return {}; }
};

Event job(std::uint64_t n) {
  const TaskShape shape{.resources = {{"cpu", 1'000}}};
  const RoleSpec role{.name = "t", .alternatives = {shape}};
  JobSpec spec{.name = "job-" + std::to_string(n)};
  spec.gangs = {std::make_shared<const GangSpec>(GangSpec{.groups = {{.roles = {role}}}})};
  return JobSubmitted{JobId(n), std::make_shared<const JobSpec>(std::move(spec))};
}

// An engine has applied exactly what a restart reads back, wherever its disk fills up: between what
// was submitted and the plan that follows from it, too.
TEST(DiskTest, EngineHasAppliedWhatTheDiskTook) {
  const RecipeFactory factory(*builtin_policy("default"));
  for (int writes = 0; writes < 40; ++writes) {
    const Folder folder;
    const std::string path = folder / "journal.db";
    FaultyDisk disk;
    auto journal = test::open_journal(path);
    SilentBackend backend;
    Engine engine(*journal, backend, factory);
    const std::vector<Event> node{NodeReported{{.name = "n", .capacity = {{"cpu", 9'000}}}}};
    ASSERT_TRUE(engine.step(node, time_of(1)).has_value());
    disk.writes_left = writes;
    std::uint64_t next = 2;
    for (Result<Engine::Step> step; step; ++next) {
      const std::vector<Event> submitted{job(next)};
      step = engine.step(submitted, time_of(next));
    }
    disk.writes_left = FaultyDisk::never;
    const std::vector<Event> submitted{job(next)};
    const auto step = engine.step(submitted, time_of(next));
    ASSERT_TRUE(step.has_value()) << step.error().text();
    journal.reset();
    const auto again = test::open_journal(path);
    const auto state = restore(*again);
    ASSERT_TRUE(state.has_value()) << state.error().text();
    EXPECT_EQ(state->hash(), engine.state().hash()) << writes;
    EXPECT_GT(state->live_jobs(), 0U);
  }
}

}  // namespace tutti::disk_test
