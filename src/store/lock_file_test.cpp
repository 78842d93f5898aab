#include "store/lock_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "store/head_file.h"
#include "store/test_store.h"

namespace tutti::lock_file_test {

using test::Folder;

TEST(LockFileTest, SecondHolderIsToldWhoHasIt) {
  const Folder folder;
  const auto first = LockFile::acquire(folder / "lock");
  ASSERT_TRUE(first.has_value()) << first.error().text();
  const auto second = LockFile::acquire(folder / "lock");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, Code::conflict);
  EXPECT_EQ(second.error().what, "in use by process " + std::to_string(::getpid()));
  EXPECT_EQ(second.error().where, folder / "lock");
}

TEST(LockFileTest, IsFreeOnceReleased) {
  const Folder folder;
  {
    const auto first = LockFile::acquire(folder / "lock");
    ASSERT_TRUE(first.has_value());
  }
  EXPECT_EQ(test::bytes_of(folder / "lock"), "");
  EXPECT_TRUE(LockFile::acquire(folder / "lock").has_value());
}

TEST(LockFileTest, WhatADeadProcessLeftBehindIsTakenOver) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = LockFile::acquire(folder / "lock");
    ::_exit(held ? 0 : 1);  // Without destructors, as a killed process.
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  EXPECT_EQ(test::bytes_of(folder / "lock"), std::to_string(child) + "\n");
  EXPECT_TRUE(LockFile::acquire(folder / "lock").has_value());
}

/// Killed between fork and exec of another process, which has the lock too until its exec.
void die_while_starting_one(const std::string& path, std::chrono::milliseconds its_exec) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = LockFile::acquire(path);
    if (held && ::fork() == 0) std::this_thread::sleep_for(its_exec);
    ::_exit(held ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST(LockFileTest, WhatADeadProcessWasStartingIsWaitedFor) {
  const Folder folder;
  die_while_starting_one(folder / "lock", std::chrono::milliseconds(100));
  const auto lock = LockFile::acquire(folder / "lock");
  EXPECT_TRUE(lock.has_value()) << lock.error().text();
}

TEST(LockFileTest, ButNotForEver) {
  const Folder folder;
  die_while_starting_one(folder / "lock", std::chrono::seconds(4));
  const auto lock = LockFile::acquire(folder / "lock");
  ASSERT_FALSE(lock.has_value());
  EXPECT_THAT(lock.error().what, testing::MatchesRegex("in use by what process [0-9]+ started.*"));
}

TEST(LockFileTest, TextThatIsNoNumberIsNotShown) {
  const Folder folder;
  const auto first = LockFile::acquire(folder / "lock");
  ASSERT_TRUE(first.has_value());
  test::write_bytes(folder / "lock", "\x1b[31m");
  EXPECT_EQ(LockFile::acquire(folder / "lock").error().what, "in use by another process");
}

TEST(LockFileTest, MissingFolder) {
  const Folder folder;
  const auto lock = LockFile::acquire(folder / "no/lock");
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().code, Code::io);
  EXPECT_EQ(lock.error().what, "cannot open it: No such file or directory");
  EXPECT_EQ(lock.error().hint, "make its folder first");
}

TEST(HeadFileTest, RemembersTheLastNote) {
  const Folder folder;
  const std::string hash = std::string(63, 'a') + "b";
  {
    EXPECT_FALSE(HeadFile::read(folder / "head"));
    const auto head = HeadFile::open(folder / "head");
    ASSERT_TRUE(head.has_value()) << head.error().text();
    EXPECT_FALSE(HeadFile::read(folder / "head"));
    head->note({.row = 9, .hash = std::string(64, 'c')});
    head->note({.row = UINT64_MAX, .hash = hash});
  }
  const auto noted = HeadFile::read(folder / "head");
  ASSERT_TRUE(noted.has_value());
  EXPECT_EQ(noted->row, UINT64_MAX);
  EXPECT_EQ(noted->hash, hash);
}

// After a power cut, anything may stand in a file that was never synced.
TEST(HeadFileTest, WhatIsNoNoteSaysNothing) {
  const Folder folder;
  const std::string hash(64, 'a');
  const std::string row(20, '0');
  for (const std::string& text :
       {std::string(), std::string(86, '\0'), row + " " + hash, row + " " + hash + "\n\n",
        row + " " + std::string(64, 'x') + "\n", row + "-" + hash + "\n",
        std::string(20, '9') + " " + hash + "\n", "-" + row.substr(1) + " " + hash + "\n"}) {
    test::write_bytes(folder / "head", text);
    EXPECT_FALSE(HeadFile::read(folder / "head")) << text;
  }
}

}  // namespace tutti::lock_file_test
