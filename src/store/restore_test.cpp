/// Journals that older versions have left behind are read for ever: tests/golden/journal-0.1.jsonl
/// holds the lines, and tests/golden/store-1.db the same in the first arrangement of tables.
///
/// TUTTI_UPDATE=1 rewrites store-1.db: only together with the lines, before the release of that
/// name.
#include "store/restore.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/engine.h"
#include "generated/source_dir.h"
#include "policy/registry.h"
#include "store/test_store.h"

namespace tutti::restore_test {

using test::Folder;
using test::time_of;

std::string golden(const std::string& name) { return TUTTI_SOURCE_DIR "/tests/golden/" + name; }

std::vector<std::string> golden_lines() {
  std::vector<std::string> lines;
  std::ifstream file(golden("journal-0.1.jsonl"));
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::uint64_t golden_hash() {
  std::uint64_t hash = 0;
  std::ifstream(golden("journal-0.1.hash")) >> hash;
  return hash;
}

/// Events that were decided together have one time, and one transaction.
void append_golden(JournalFile& journal) {
  std::vector<Event> batch;
  Instant at;
  for (const std::string& line : golden_lines()) {
    auto decoded = decode_event(line);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text() << line;
    if (decoded->second != at) {
      ASSERT_TRUE(journal.append(batch, at).has_value());
      batch.clear();
    }
    at = decoded->second;
    batch.push_back(std::move(decoded->first));
  }
  ASSERT_TRUE(journal.append(batch, at).has_value());
}

TEST(RestoreTest, GoldenEventsSurviveTheFile) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  append_golden(*test::open_journal(path));
  const auto journal = test::open_journal(path);
  EXPECT_EQ(test::lines_of(*journal).value(), golden_lines());
  const auto state = restore(*journal);
  ASSERT_TRUE(state.has_value()) << state.error().text();
  EXPECT_EQ(state->verify(), "");
  EXPECT_EQ(state->hash(), golden_hash());
  if (std::getenv("TUTTI_UPDATE") == nullptr) return;
  std::filesystem::remove(golden("store-1.db"));
  ASSERT_TRUE(journal->backup_to(golden("store-1.db")).has_value());
}

TEST(RestoreTest, FirstFormatIsReadAndWrittenOn) {
  const Folder folder;
  const std::string path = folder / "journal.db";
  test::write_bytes(path, test::bytes_of(golden("store-1.db")));
  const auto journal = test::open_journal(path);
  ASSERT_NE(journal, nullptr);
  const auto state = restore(*journal);
  ASSERT_TRUE(state.has_value()) << state.error().text();
  EXPECT_EQ(state->hash(), golden_hash());
  const std::vector<Event> next{JobCancelled{JobId(7)}};
  ASSERT_TRUE(journal->append(next, state->now()).has_value());
  EXPECT_EQ(journal->rows(), golden_lines().size() + 1);
}

/// Takes orders, and tells nothing.
class SilentBackend final : public Backend {
 public:
  void execute(const Action&, const State&) override {}
  std::vector<Observed> observe() override { return {}; }
};

// An engine journals what it is told before it judges it.
TEST(RestoreTest, WhatTheEngineRefusedIsRefusedAgain) {
  const Folder folder;
  const auto journal = test::open_journal(folder / "journal.db");
  SilentBackend backend;
  const RecipeFactory factory(*builtin_policy("pack"));
  Engine engine(*journal, backend, factory);
  const std::vector<Event> events{
      QueueSet{{.name = "a"}},
      JobSubmitted{JobId(1), std::make_shared<const JobSpec>(JobSpec{.queue = "nowhere"})},
      NodeReported{{.name = "n", .capacity = {{"cpu", 4'000}}}}};
  const auto step = engine.step(events, time_of(1));
  ASSERT_TRUE(step.has_value());
  ASSERT_EQ(step->refused.size(), 1U);
  const auto state = restore(*journal);
  ASSERT_TRUE(state.has_value()) << state.error().text();
  EXPECT_EQ(state->hash(), engine.state().hash());
}

TEST(RestoreTest, TimeThatGoesBackIsRefusedWithItsRow) {
  const Folder folder;
  const auto journal = test::open_journal(folder / "journal.db");
  const std::vector<Event> events{NodeLost{"n"}};
  ASSERT_TRUE(journal->append(events, Instant{5}).has_value());
  ASSERT_TRUE(journal->append(events, Instant{4}).has_value());
  const auto state = restore(*journal);
  ASSERT_FALSE(state.has_value());
  EXPECT_EQ(state.error().where, folder / "journal.db: row 2");
  EXPECT_EQ(state.error().what, "its time is 4 us, before the 5 us of the row before it");
}

}  // namespace tutti::restore_test
