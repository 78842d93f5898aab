/// Journals that released versions have written must be read for ever, to the same end.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "generated/source_dir.h"
#include "model/codec.h"
#include "model/state.h"

namespace tutti::journal_test {

class JournalReplayTest : public testing::TestWithParam<const char*> {
 protected:
  static std::ifstream open(const std::string& extension) {
    std::ifstream file(TUTTI_SOURCE_DIR "/tests/golden/journal-" + std::string(GetParam()) + "." +
                       extension);
    EXPECT_TRUE(file.is_open()) << extension;
    return file;
  }
};

TEST_P(JournalReplayTest, EndsInTheStateThatItsWriterHad) {
  State state;
  std::set<std::uint16_t> tags;
  std::set<TaskPhase> phases;
  std::ifstream lines = open("jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto decoded = decode_event(line);
    ASSERT_TRUE(decoded.has_value()) << decoded.error().text() << line;
    const auto& [event, at] = *decoded;
    const auto admitted = state.admissible(event);
    ASSERT_TRUE(admitted.has_value()) << admitted.error().text() << line;
    state.apply(event, at);
    ASSERT_EQ(state.verify(), "") << line;
    tags.insert(tag_of(event));
    for (std::size_t row = 0; row < state.tasks().size(); ++row) {
      const Task& task = state.tasks()[TaskIndex(row)];
      if (task.gang.valid()) phases.insert(task.phase);
    }
  }
  std::uint64_t hash = 0;
  open("hash") >> hash;
  EXPECT_EQ(state.hash(), hash);
  // It was worth keeping: every event of its version, every phase, and jobs that are not over.
  EXPECT_GE(tags.size(), 13U);
  EXPECT_EQ(phases.size(), 7U);
  EXPECT_GT(state.live_jobs(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Releases, JournalReplayTest, testing::Values("0.1"));

}  // namespace tutti::journal_test
