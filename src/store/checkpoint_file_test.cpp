#include "store/checkpoint_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "store/chain.h"
#include "store/test_store.h"

namespace tutti::checkpoint_file_test {

using test::bytes_of;
using test::Folder;
using test::write_bytes;
using ::testing::HasSubstr;

constexpr std::size_t mebibyte = std::size_t{1} << 20U;

CheckpointNote note(JournalRow row = 7) {
  return {.row = row, .hash = chain_origin(), .state_hash = 0xabc, .at = {-5}};
}

Result<void> write(const std::string& path, std::string_view bytes, JournalRow row = 7) {
  auto draft = TRY(CheckpointFile::Draft::begin(path));
  // In pieces that are no blocks.
  for (std::size_t at = 0; at < bytes.size(); at += 700'000) draft.add(bytes.substr(at, 700'000));
  TRY(draft.complete(note(row)));
  return draft.publish();
}

std::string error_of(const std::string& path) {
  const auto file = CheckpointFile::open(path);
  return file ? "" : file.error().what;
}

TEST(CheckpointFileTest, ComesBackAsItWasWritten) {
  const Folder folder;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, mebibyte, 3 * mebibyte + 5}) {
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<char>(at * 7 / 3);
    ASSERT_TRUE(write(folder / "c", bytes).has_value());
    const auto file = CheckpointFile::open(folder / "c");
    ASSERT_TRUE(file.has_value()) << file.error().text();
    EXPECT_EQ(file->bytes(), bytes);
    EXPECT_EQ(file->note(), note());
  }
}

TEST(CheckpointFileTest, SaysWhereItIsDamaged) {
  const Folder folder;
  ASSERT_TRUE(write(folder / "c", std::string(2 * mebibyte + 10, 'x')).has_value());
  const std::string whole = bytes_of(folder / "c");
  const auto with = [&](std::size_t at, char byte) {
    std::string damaged = whole;
    damaged[at] = byte;
    write_bytes(folder / "c", damaged);
    return error_of(folder / "c");
  };
  EXPECT_EQ(with(0, 'y'), "bytes 0 to 1048576 are damaged");
  EXPECT_EQ(with(2 * mebibyte + 9, 'y'), "bytes 2097152 to 2097162 are damaged");
  EXPECT_EQ(with(2 * mebibyte + 11, 'y'), "its digests are damaged");
  EXPECT_THAT(with(whole.find("\nrow ") + 5, 'x'), HasSubstr("its description is damaged"));
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 50) {
    write_bytes(folder / "c", whole.substr(0, size));
    EXPECT_NE(error_of(folder / "c"), "") << size;
  }
  std::string newer = whole;
  newer[whole.find("tutti checkpoint 1") + 17] = '2';
  write_bytes(folder / "c", newer);
  EXPECT_EQ(error_of(folder / "c"), "format 2 is newer than 1, the newest one known here");
}

TEST(CheckpointFileTest, WhatIsNotPublishedIsNotThere) {
  const Folder folder;
  const CheckpointFolder checkpoints(folder / "all");
  ASSERT_TRUE(checkpoints.make().has_value());
  {
    auto draft = CheckpointFile::Draft::begin(checkpoints.path_of(5));
    ASSERT_TRUE(draft.has_value());
    draft->add("bytes");
    ASSERT_TRUE(draft->complete(note()).has_value());
    EXPECT_TRUE(CheckpointFile::open(draft->draft_path()).has_value());
    EXPECT_TRUE(checkpoints.list().empty());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder / "all"));
}

TEST(CheckpointFileTest, TheNewestTwoAreKept) {
  const Folder folder;
  const CheckpointFolder checkpoints(folder / "all");
  EXPECT_TRUE(checkpoints.list().empty());
  ASSERT_TRUE(checkpoints.make().has_value());
  ASSERT_TRUE(checkpoints.make().has_value()) << "it is there already";
  for (const JournalRow row : {9, 100, 20}) {
    ASSERT_TRUE(write(checkpoints.path_of(row), "x", row).has_value());
  }
  write_bytes(checkpoints.path_of(300) + ".new", "half");
  write_bytes(folder / "all/checkpoint-x", "something else");
  checkpoints.prune();
  const auto left = checkpoints.list();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].row, 100U);
  EXPECT_EQ(left[1].row, 20U);
  EXPECT_FALSE(std::filesystem::exists(checkpoints.path_of(300) + ".new"));
  EXPECT_TRUE(std::filesystem::exists(folder / "all/checkpoint-x"));
}

}  // namespace tutti::checkpoint_file_test
