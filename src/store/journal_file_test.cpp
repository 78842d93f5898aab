#include "store/journal_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "store/chain.h"
#include "store/test_store.h"

namespace tutti::journal_file_test {

using test::append_numbered;
using test::Folder;
using test::lines_of;
using test::numbered;
using test::numbered_lines;
using test::open_journal;
using test::read_all;
using test::time_of;
using testing::HasSubstr;

/// Changes a journal behind its back.
void execute(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_close(database);
}

/// A closed journal of `rows` numbered events, without the note beside it.
std::string make_journal(const Folder& folder, std::uint64_t rows) {
  std::string path = folder / "journal.db";
  append_numbered(*open_journal(path), 1, rows);
  std::filesystem::remove(path + ".head");
  return path;
}

std::string where(const std::string& path, std::uint64_t row) {
  return path + ": row " + std::to_string(row);
}

TEST(JournalFileTest, NewOneIsEmptyAndPrivate) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  EXPECT_EQ(journal->rows(), 0U);
  EXPECT_EQ(journal->last_hash(), chain_origin());
  EXPECT_EQ(lines_of(*journal).value().size(), 0U);
  struct stat found{};
  ASSERT_EQ(::stat((folder / "journal.db").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST(JournalFileTest, KeepsEveryEventInOrderOverARestart) {
  const Folder folder;
  std::string hash;
  {
    const auto journal = open_journal(folder / "journal.db");
    const std::vector<Event> batch{numbered(1), numbered(2), numbered(3)};
    ASSERT_TRUE(journal->append(batch, time_of(3)).has_value());
    ASSERT_TRUE(journal->append({}, time_of(3)).has_value());
    EXPECT_EQ(journal->rows(), 3U);
    append_numbered(*journal, 4, 10);
    hash = journal->last_hash();
  }
  const auto journal = open_journal(folder / "journal.db");
  EXPECT_EQ(journal->rows(), 10U);
  EXPECT_EQ(journal->last_hash(), hash);
  append_numbered(*journal, 11, 12);
  std::vector<std::string> expected;
  for (std::uint64_t n = 1; n <= 3; ++n) expected.push_back(encode(numbered(n), time_of(3)));
  for (const std::string& line : numbered_lines(4, 12)) expected.push_back(line);
  EXPECT_EQ(lines_of(*journal).value(), expected);
}

TEST(JournalFileTest, HashDoesNotDependOnBatches) {
  const Folder folder;
  const auto one = open_journal(folder / "one.db");
  const auto all = open_journal(folder / "all.db");
  std::vector<Event> events;
  for (std::uint64_t n = 1; n <= 5; ++n) {
    events.push_back(numbered(n));
    ASSERT_TRUE(one->append({&events.back(), 1}, time_of(5)).has_value());
  }
  ASSERT_TRUE(all->append(events, time_of(5)).has_value());
  EXPECT_EQ(one->last_hash(), all->last_hash());
}

TEST(JournalFileTest, ReplaysFromAnyRow) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  append_numbered(*journal, 1, 5);
  for (std::uint64_t first = 1; first <= 7; ++first) {
    EXPECT_EQ(lines_of(*journal, first).value(), numbered_lines(first, 5)) << first;
  }
}

TEST(JournalFileTest, ReplayEndsWithTheFirstErrorOfTheVisitor) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  append_numbered(*journal, 1, 5);
  std::uint64_t last = 0;
  const auto done = journal->replay(1, [&](std::uint64_t row, const Event&, Instant) {
    last = row;
    return row < 3 ? Result<void>{} : fail(Code::conflict, "enough");
  });
  EXPECT_EQ(done.error().what, "enough");
  EXPECT_EQ(last, 3U);
  append_numbered(*journal, 6, 6);  // It can still be written.
}

TEST(JournalFileTest, NameMayHoldWhatANameMayHold) {
  const Folder folder;
  for (const std::string name : {" a b ", "timeout=1", "d\xc3\xbc", "it's", "%s;?mode=ro", "\\"}) {
    append_numbered(*open_journal(folder / name), 1, 2);
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
    EXPECT_EQ(read_all(folder / name).value(), numbered_lines(1, 2)) << name;
  }
}

TEST(JournalFileTest, SecondWriterIsToldWhoHasIt) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  const auto second = JournalFile::open(folder / "journal.db");
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().text(),
            "error: " + (folder / "journal.db.lock") + ": in use by process " +
                std::to_string(::getpid()) +
                "\nhint:  one server writes a journal: stop that one, or use another folder\n");
}

TEST(JournalFileTest, ReaderSeesWhatWasThereWhenItOpened) {
  const Folder folder;
  const auto writer = open_journal(folder / "journal.db");
  append_numbered(*writer, 1, 3);
  const auto reader = open_journal(folder / "journal.db", JournalFile::Access::read);
  append_numbered(*writer, 4, 5);
  EXPECT_EQ(lines_of(*reader).value(), numbered_lines(1, 3));
  const std::vector<Event> events{numbered(6)};
  const auto done = reader->append(events, time_of(6));
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().what, "it was opened to read");
}

TEST(JournalFileTest, ReaderMakesNothing) {
  const Folder folder;
  const auto reader = JournalFile::open(folder / "journal.db", JournalFile::Access::read);
  ASSERT_FALSE(reader.has_value());
  EXPECT_EQ(reader.error().what, "cannot open it: No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder / "journal.db"));
}

TEST(JournalFileTest, NewerFormatIsRefused) {
  const Folder folder;
  const std::string path = make_journal(folder, 1);
  execute(path, "UPDATE tutti_journal SET format = 2");
  const auto journal = JournalFile::open(path);
  ASSERT_FALSE(journal.has_value());
  EXPECT_EQ(journal.error().code, Code::unsupported);
  EXPECT_EQ(journal.error().text(),
            "error: " + path + ": format 2 is newer than 1, the newest one known here\n" +
                "hint:  use the version of Tutti that wrote it, or a newer one\n");
}

TEST(JournalFileTest, OtherFilesAreRefused) {
  const Folder folder;
  test::write_bytes(folder / "text.db", std::string(5000, 'x'));
  const auto text = JournalFile::open(folder / "text.db");
  ASSERT_FALSE(text.has_value());
  EXPECT_THAT(text.error().what, HasSubstr("not a journal: SQLite cannot read this file"));
  EXPECT_EQ(test::bytes_of(folder / "text.db"), std::string(5000, 'x'));

  execute(folder / "other.db", "CREATE TABLE notes (text TEXT)");
  const std::string before = test::bytes_of(folder / "other.db");
  const auto other = JournalFile::open(folder / "other.db");
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().what, "a database, but not a journal of Tutti");
  EXPECT_EQ(test::bytes_of(folder / "other.db"), before);

  EXPECT_FALSE(JournalFile::open(folder / "no/journal.db").has_value());
  EXPECT_FALSE(JournalFile::open(folder / "a\"b.db").has_value());
  EXPECT_FALSE(std::filesystem::exists(folder / "a\"b.db"));
}

TEST(JournalFileTest, TamperingIsFoundWithTheNumberOfTheRow) {
  struct Case {
    std::string sql;
    std::uint64_t row;
    std::string what;
  };
  for (const auto& [sql, row, what] : std::vector<Case>{
           {"UPDATE events SET line = replace(line, '\"attempt\":3', '\"attempt\":2')", 2,
            "damaged"},
           {"UPDATE events SET hash = upper(hash) WHERE number = 4", 4, "damaged"},
           {"UPDATE events SET line = line || char(0) || 'x' WHERE number = 3", 3, "damaged"},
           {"UPDATE events SET line = line || ' ' WHERE number = 9", 9, "damaged"},
           {"DELETE FROM events WHERE number = 5", 5, "missing"},
           {"DELETE FROM events WHERE number = 1", 1, "missing"},
           {"UPDATE events SET number = 11 WHERE number = 5", 10, "missing"},
           {"UPDATE events SET number = -1 WHERE number = 6", 6, "missing"},
           {"UPDATE tutti_journal SET base_hash = replace(base_hash, '0', '1')", 1, "damaged"}}) {
    const Folder folder;
    const std::string path = make_journal(folder, 9);
    execute(path, sql);
    const auto lines = read_all(path);
    ASSERT_FALSE(lines.has_value()) << sql;
    EXPECT_EQ(lines.error().where, where(path, row)) << sql;
    EXPECT_THAT(lines.error().what, HasSubstr(what)) << sql;
  }
}

// What a checkpoint covers may be dropped; the chain then begins behind it.
TEST(JournalFileTest, ChainHoldsFromTheOldestRowKept) {
  const Folder folder;
  const std::string path = make_journal(folder, 9);
  execute(path,
          "UPDATE tutti_journal SET base_row = 4, "
          "base_hash = (SELECT hash FROM events WHERE number = 4); "
          "DELETE FROM events WHERE number <= 4");
  const auto journal = open_journal(path);
  EXPECT_EQ(lines_of(*journal, 5).value(), numbered_lines(5, 9));
  EXPECT_EQ(lines_of(*journal, 6).value(), numbered_lines(6, 9));
  const auto lines = lines_of(*journal, 4);
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().code, Code::not_found);
  EXPECT_EQ(lines.error().where, where(path, 4));
  EXPECT_EQ(lines.error().what, "it was dropped; row 5 is the oldest one kept");
  append_numbered(*journal, 10, 10);
  EXPECT_EQ(lines_of(*journal, 10).value(), numbered_lines(10, 10));
}

TEST(JournalFileTest, LostEndIsNoticed) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  append_numbered(*open_journal(path), 1, 9);
  execute(path, "DELETE FROM events WHERE number > 7");
  const auto lines = read_all(path);
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().what, "rows 8 to 9 were acknowledged and are gone");
  EXPECT_EQ(lines.error().hint,
            "restore a newer backup; or, if losing those rows is meant, remove " + path + ".head");
  std::filesystem::remove(path + ".head");
  EXPECT_EQ(read_all(path).value(), numbered_lines(1, 7));
}

TEST(JournalFileTest, AnotherJournalInItsPlaceIsNoticed) {
  const Folder folder;
  append_numbered(*open_journal(folder / "journal.db"), 1, 3);
  append_numbered(*open_journal(folder / "other.db"), 2, 6);
  std::filesystem::rename(folder / "other.db", folder / "journal.db");
  const auto lines = read_all(folder / "journal.db");
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().where, where(folder / "journal.db", 3));
  EXPECT_THAT(lines.error().what, HasSubstr("another row was acknowledged"));
}

TEST(JournalFileTest, EventOfANewerVersionIsRefusedWithItsRow) {
  const Folder folder;
  const std::string path = make_journal(folder, 2);
  const std::string line = R"({"tag":9999,"version":1,"at":3000})";
  const std::string before = open_journal(path)->last_hash();
  execute(path,
          "INSERT INTO events VALUES (3, '" + line + "', '" + Chain().hash(before, 3, line) + "')");
  const auto journal = open_journal(path);  // The row is what was written.
  const auto lines = lines_of(*journal);
  ASSERT_FALSE(lines.has_value());
  EXPECT_EQ(lines.error().where, where(path, 3) + ":1:1");
  EXPECT_EQ(lines.error().what, "no event has tag 9999");
}

TEST(JournalFileTest, BackupIsAJournalOfItsOwn) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  append_numbered(*journal, 1, 20);
  const auto done = journal->backup_to(folder / "backup.db");
  ASSERT_TRUE(done.has_value()) << done.error().text();
  append_numbered(*journal, 21, 22);
  const auto backup = open_journal(folder / "backup.db");
  EXPECT_EQ(lines_of(*backup).value(), numbered_lines(1, 20));
  append_numbered(*backup, 21, 22);
  EXPECT_EQ(backup->last_hash(), journal->last_hash());
}

TEST(JournalFileTest, BackupOverwritesNothing) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  test::write_bytes(folder / "precious", "data");
  const auto done = journal->backup_to(folder / "precious");
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().what, "cannot create it: File exists");
  EXPECT_EQ(test::bytes_of(folder / "precious"), "data");
}

// Each backup is a prefix of the journal, whatever is appended meanwhile.
TEST(JournalFileTest, BacksUpFromAnotherThreadWhileItIsWritten) {
  const Folder folder;
  const auto journal = open_journal(folder / "journal.db");
  std::vector<Result<void>> done;
  std::thread reader([&] {
    for (int at = 0; at < 10; ++at) {
      done.push_back(journal->backup_to(folder / std::to_string(at)));
    }
  });
  append_numbered(*journal, 1, 300);
  reader.join();
  std::uint64_t rows = 0;
  for (int at = 0; at < 10; ++at) {
    ASSERT_TRUE(done[at].has_value()) << done[at].error().text();
    const auto backup = open_journal(folder / std::to_string(at), JournalFile::Access::read);
    EXPECT_GE(backup->rows(), rows);
    rows = backup->rows();
    EXPECT_EQ(lines_of(*backup).value(), numbered_lines(1, rows));
  }
  EXPECT_EQ(lines_of(*journal).value(), numbered_lines(1, 300));
}

TEST(JournalFileTest, KnowsWhoDecidedFromWhichRowOn) {
  using Decider = JournalFile::Decider;
  const Folder folder;
  const std::string path = folder / "journal.db";
  {
    const auto journal = open_journal(path);
    EXPECT_THAT(journal->deciders().value(), testing::IsEmpty());
    EXPECT_TRUE(journal->note_decider({.version = "1", .policy = "fgd", .policy_text = ""}));
    append_numbered(*journal, 1, 3);
  }
  const auto journal = open_journal(path);
  EXPECT_TRUE(journal->note_decider({.version = "1", .policy = "fgd", .policy_text = ""}));
  EXPECT_TRUE(journal->note_decider({.version = "2", .policy = "fgd", .policy_text = ""}));
  EXPECT_TRUE(
      journal->note_decider({.version = "2", .policy = "mine", .policy_text = "policy: 1"}));
  const Decider first{.first = 1, .version = "1", .policy = "fgd", .policy_text = ""};
  const Decider last{.first = 4, .version = "2", .policy = "mine", .policy_text = "policy: 1"};
  EXPECT_THAT(journal->deciders().value(), testing::ElementsAre(first, last));
  ASSERT_TRUE(journal->backup_to(folder / "copy.db"));
  const auto copy = JournalFile::open(folder / "copy.db", JournalFile::Access::read).value();
  EXPECT_THAT(copy->deciders().value(), testing::ElementsAre(first, last));
}

}  // namespace tutti::journal_file_test
