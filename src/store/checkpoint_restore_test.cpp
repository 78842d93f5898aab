/// A server's start from a checkpoint and the rows behind it; and journals that lost their first
/// rows. tests/golden/checkpoint-1 is one in the first arrangement, of the journal store-1.db:
/// TUTTI_UPDATE=1 rewrites it, only together with that, before the release of its name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "generated/source_dir.h"
#include "store/restore.h"
#include "store/test_store.h"

namespace tutti::checkpoint_restore_test {

using test::bytes_of;
using test::Folder;
using test::write_bytes;
using ::testing::HasSubstr;

std::string golden(const std::string& name) { return TUTTI_SOURCE_DIR "/tests/golden/" + name; }

/// Counts what it hears.
class Ear final : public Companion {
 public:
  void happened(JournalRow row, const Event&, const State&) override {
    ++heard;
    newest = row;
  }
  Result<void> read(CheckpointReader& from, JournalRow row) override {
    heard = newest = 0;
    if (!from.begin("ear")) return fail(Code::invalid, "there is no ear in it");
    before = from.in().number();
    began_after = row;
    return from.in().result();
  }
  void clear() override { heard = newest = before = began_after = 0; }

  std::uint64_t heard = 0;
  std::uint64_t before = 0;  ///< As the checkpoint says.
  JournalRow newest = 0;
  JournalRow began_after = 0;
};

/// Writes the checkpoint of row `last`.
void write_checkpoint(JournalFile& journal, const CheckpointFolder& folder, JournalRow last) {
  ASSERT_TRUE(folder.make().has_value());
  Ear ear;
  const auto restored = restore(journal, folder, ear, last);
  ASSERT_TRUE(restored.has_value()) << restored.error().text();
  auto draft = CheckpointFile::Draft::begin(folder.path_of(last));
  ASSERT_TRUE(draft.has_value()) << draft.error().text();
  CheckpointWriter writer(restored->state, [&](std::string_view piece) { draft->add(piece); });
  writer.begin("ear");
  writer.out().number(ear.before + ear.heard);
  writer.finish();
  const auto done = draft->complete({.row = last,
                                     .hash = *journal.hash_at(last),
                                     .state_hash = restored->state.hash(),
                                     .at = restored->state.now()});
  ASSERT_TRUE(done.has_value()) << done.error().text();
  ASSERT_TRUE(draft->publish().has_value());
}

class CheckpointRestoreTest : public testing::Test {
 protected:
  CheckpointRestoreTest() {
    write_bytes(path_, bytes_of(golden("store-1.db")));
    journal_ = test::open_journal(path_);
    whole_ = restore(*journal_).value().hash();
    rows_ = journal_->rows();
  }

  void reopen() {
    journal_.reset();
    journal_ = test::open_journal(path_);
    ASSERT_NE(journal_, nullptr);
  }
  Result<Restored> start() { return restore(*journal_, checkpoints_, ear_, journal_->rows()); }
  void expect_whole(JournalRow from) {
    const auto restored = start();
    ASSERT_TRUE(restored.has_value()) << restored.error().text();
    EXPECT_EQ(restored->state.hash(), whole_);
    EXPECT_EQ(restored->state.verify(), "");
    EXPECT_EQ(restored->from, from);
    EXPECT_EQ(ear_.before + ear_.heard, rows_);
    EXPECT_EQ(ear_.newest, rows_);
    EXPECT_EQ(ear_.began_after, from);
  }
  static constexpr Instant ever = Instant::max();

  Folder folder_;
  std::string path_ = folder_ / "journal.db";
  CheckpointFolder checkpoints_{folder_ / "checkpoints"};
  std::unique_ptr<JournalFile> journal_;
  std::uint64_t whole_ = 0;
  JournalRow rows_ = 0;
  Ear ear_;
};

TEST_F(CheckpointRestoreTest, BeginsAtTheNewestOne) {
  expect_whole(0);
  write_checkpoint(*journal_, checkpoints_, 20);
  expect_whole(20);
  write_checkpoint(*journal_, checkpoints_, rows_ - 3);
  expect_whole(rows_ - 3);
  EXPECT_EQ(ear_.heard, 3U);
  write_checkpoint(*journal_, checkpoints_, rows_);
  const auto restored = start();
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->state.hash(), whole_);
  EXPECT_EQ(ear_.heard, 0U);
}

TEST_F(CheckpointRestoreTest, OneOfEveryRowLeadsToTheSameEnd) {
  for (JournalRow row = 1; row <= rows_; row += 7) {
    std::filesystem::remove_all(folder_ / "checkpoints");
    write_checkpoint(*journal_, checkpoints_, row);
    const auto restored = start();
    ASSERT_TRUE(restored.has_value()) << restored.error().text();
    ASSERT_EQ(restored->from, row);
    ASSERT_EQ(restored->state.hash(), whole_) << row;
  }
}

TEST_F(CheckpointRestoreTest, DamagedAndAlienOnesAreNamedAndLeftAside) {
  write_checkpoint(*journal_, checkpoints_, 10);
  write_checkpoint(*journal_, checkpoints_, 20);
  std::string bytes = bytes_of(checkpoints_.path_of(20));
  bytes[100] = static_cast<char>(bytes[100] ^ 1);
  write_bytes(checkpoints_.path_of(20), bytes);
  expect_whole(10);
  const auto remarks = start()->remarks;
  ASSERT_EQ(remarks.size(), 1U);
  EXPECT_THAT(remarks[0], HasSubstr("checkpoint-20: bytes 0 to "));
  // Of another journal: its row 20 is another one.
  const auto other = test::open_journal(folder_ / "other.db");
  test::append_numbered(*other, 1, 30);
  const CheckpointFolder others(folder_ / "others");
  write_checkpoint(*other, others, 20);
  std::filesystem::rename(others.path_of(20), checkpoints_.path_of(20));
  expect_whole(10);
  EXPECT_THAT(start()->remarks.at(0), HasSubstr("it is of another journal: the hash of row 20"));
}

TEST_F(CheckpointRestoreTest, DroppedRowsAreNotNeeded) {
  write_checkpoint(*journal_, checkpoints_, 30);
  EXPECT_EQ(journal_->drop(30, 25, Instant{}).value(), 0U) << "they are not old enough";
  EXPECT_EQ(journal_->drop(30, 25, ever).value(), 25U);
  EXPECT_EQ(journal_->first_row(), 26U);
  expect_whole(30);
  EXPECT_EQ(journal_->drop(30, 25, ever).value(), 5U);
  EXPECT_EQ(journal_->drop(30, 25, ever).value(), 0U);
  reopen();
  EXPECT_EQ(journal_->first_row(), 31U);
  EXPECT_EQ(journal_->rows(), rows_);
  expect_whole(30);
  // It goes on: rows are added and chained as ever.
  const std::vector<Event> next{NodeLost{"nobody"}};
  ASSERT_TRUE(journal_->append(next, start()->state.now()).has_value());
  reopen();
  EXPECT_EQ(start()->row, rows_ + 1);
  EXPECT_THAT(restore(*journal_).error().what, HasSubstr("row 31 is the oldest one kept"));
}

TEST_F(CheckpointRestoreTest, AllRowsMayBeDropped) {
  write_checkpoint(*journal_, checkpoints_, rows_);
  EXPECT_EQ(journal_->drop(rows_, 1000, ever).value(), rows_);
  reopen();
  EXPECT_EQ(journal_->rows(), rows_);
  const auto restored = start();
  ASSERT_TRUE(restored.has_value()) << restored.error().text();
  EXPECT_EQ(restored->state.hash(), whole_);
}

TEST_F(CheckpointRestoreTest, WhatCannotBeHadIsRefusedWithTheReason) {
  write_checkpoint(*journal_, checkpoints_, 20);
  write_checkpoint(*journal_, checkpoints_, 30);
  ASSERT_TRUE(journal_->drop(25, 1000, ever).has_value());
  std::string bytes = bytes_of(checkpoints_.path_of(30));
  bytes[bytes.find("tutti checkpoint 1") + 17] = '9';
  write_bytes(checkpoints_.path_of(30), bytes);
  const auto restored = start();
  ASSERT_FALSE(restored.has_value());
  EXPECT_THAT(restored.error().what, HasSubstr("rows 1 to 25 were dropped"));
  EXPECT_THAT(restored.error().what, HasSubstr("checkpoint-30: format 9 is newer than 1"));
  EXPECT_THAT(restored.error().what,
              HasSubstr("checkpoint-20: rows behind its row 20 were dropped; the first one kept "
                        "is 26"));
  EXPECT_THAT(restored.error().hint, HasSubstr("restore a backup"));
}

// The journal may have been changed, with all its hashes, before the row of the checkpoint only if
// that row's hash changed.
TEST_F(CheckpointRestoreTest, TheChainGoesOnFromItsHash) {
  write_checkpoint(*journal_, checkpoints_, 30);
  ASSERT_TRUE(journal_->drop(30, 1000, ever).has_value());
  journal_.reset();
  std::string bytes = bytes_of(path_);
  // A line behind it, wherever SQLite keeps it.
  const std::size_t at = bytes.rfind("\"version\":1");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 10] = '2';
  write_bytes(path_, bytes);
  const auto opened = JournalFile::open(path_);
  if (!opened) {
    EXPECT_THAT(opened.error().what, HasSubstr("it is damaged"));
    return;
  }
  EXPECT_THAT(restore(**opened, checkpoints_, ear_, (*opened)->rows()).error().what,
              HasSubstr("it is damaged"));
}

TEST_F(CheckpointRestoreTest, RowsAreDroppedBesideAReader) {
  write_checkpoint(*journal_, checkpoints_, 30);
  const auto reader = test::open_journal(path_, JournalFile::Access::read);
  std::uint64_t seen = 0;
  const auto done =
      reader->replay(1, [&](std::uint64_t row, const Event&, Instant) -> Result<void> {
        if (row == 5) {
          EXPECT_EQ(journal_->drop(30, 1000, ever).value(), 30U);
        }
        ++seen;
        return {};
      });
  EXPECT_TRUE(done.has_value()) << done.error().text();
  EXPECT_EQ(seen, rows_) << "it reads what was there when it began";
}

TEST_F(CheckpointRestoreTest, TheFirstArrangementIsReadForEver) {
  if (std::getenv("TUTTI_UPDATE") != nullptr) {
    write_checkpoint(*journal_, checkpoints_, 40);
    write_bytes(golden("checkpoint-1"), bytes_of(checkpoints_.path_of(40)));
  }
  ASSERT_TRUE(checkpoints_.make().has_value());
  write_bytes(checkpoints_.path_of(40), bytes_of(golden("checkpoint-1")));
  ASSERT_TRUE(journal_->drop(40, 1000, ever).has_value());
  expect_whole(40);
}

}  // namespace tutti::checkpoint_restore_test
