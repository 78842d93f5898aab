/// Every input that fuzzing found worth keeping, once through its target: what was mended stays so.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "generated/source_dir.h"

#define TARGET(name) extern "C" int fuzz_##name(const std::uint8_t*, std::size_t);
TUTTI_FUZZ_TARGETS
#undef TARGET

namespace tutti {
namespace {

using Target = int (*)(const std::uint8_t*, std::size_t);

#define TARGET(name) {#name, fuzz_##name},
const std::map<std::string, Target> targets{TUTTI_FUZZ_TARGETS};
#undef TARGET

std::filesystem::path corpora() { return std::filesystem::path(TUTTI_SOURCE_DIR) / "fuzz/corpus"; }

class CorpusTest : public testing::TestWithParam<std::string> {};

TEST_P(CorpusTest, EveryInputIsSurvived) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(corpora() / GetParam())) {
    files.push_back(entry.path());
  }
  ASSERT_FALSE(files.empty());
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    SCOPED_TRACE(file.filename());
    std::ifstream in(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_EQ(
        targets.at(GetParam())(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
        0);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const auto& [name, target] : targets) out.push_back(name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(All, CorpusTest, testing::ValuesIn(names()),
                         [](const auto& one) { return one.param; });

// A corpus that no target reads would be dead weight.
TEST(CorporaTest, EachBelongsToATarget) {
  for (const auto& entry : std::filesystem::directory_iterator(corpora())) {
    EXPECT_TRUE(targets.contains(entry.path().filename().string())) << entry.path();
  }
}

}  // namespace
}  // namespace tutti
