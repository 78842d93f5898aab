#include "backend/local/output_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tutti {
namespace {

class OutputReaderTest : public testing::Test {
 protected:
  OutputReaderTest() : path_(testing::TempDir() + "/reader-output") {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".1");
  }
  void write(const std::string& text) const { std::ofstream(path_, std::ios::app) << text; }
  void replace() const { std::filesystem::rename(path_, path_ + ".1"); }
  static std::string all(OutputReader& reader) {
    std::string out;
    for (;;) {
      const auto piece = reader.next();
      EXPECT_TRUE(piece.has_value()) << piece.error().text();
      if (!piece || piece->empty()) return out;
      out += *piece;
    }
  }
  std::string path_;
};

TEST_F(OutputReaderTest, ReadsAlong) {
  OutputReader reader(path_);
  EXPECT_EQ(all(reader), "");
  write("one");
  EXPECT_EQ(all(reader), "one");
  EXPECT_EQ(all(reader), "");
  write("two");
  EXPECT_EQ(all(reader), "two");
}

TEST_F(OutputReaderTest, ReadsAFileToItsEndThoughItMadeWay) {
  write("a");
  OutputReader reader(path_);
  EXPECT_EQ(all(reader), "a");
  write("b");
  replace();
  write("c");
  EXPECT_EQ(all(reader), "bc");
  write("d");
  EXPECT_EQ(all(reader), "d");
}

TEST_F(OutputReaderTest, BeginsWithTheFileBefore) {
  write(std::string(100'000, 'x'));
  replace();
  write("y");
  OutputReader reader(path_);
  EXPECT_EQ(all(reader), std::string(100'000, 'x') + "y");
}

TEST_F(OutputReaderTest, FollowsNoLinkAndReadsNoFolder) {
  std::filesystem::create_symlink("/etc/passwd", path_);
  OutputReader linked(path_);
  EXPECT_EQ(all(linked), "");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  OutputReader folder(path_);
  EXPECT_EQ(all(folder), "");
  std::filesystem::remove(path_);
}

}  // namespace
}  // namespace tutti
