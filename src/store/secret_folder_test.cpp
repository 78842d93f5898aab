#include "store/secret_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tutti::secret_folder_test {

class SecretFolderTest : public testing::Test {
 protected:
  SecretFolderTest() : path_(testing::TempDir() + "/secrets") {
    std::filesystem::remove_all(path_);
  }
  static mode_t mode(const std::string& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777U;
  }
  std::string path_;
};

TEST_F(SecretFolderTest, KeepsWhatItsOwnerAloneMayRead) {
  const auto folder = SecretFolder::open(path_);
  ASSERT_TRUE(folder.has_value()) << folder.error().text();
  EXPECT_EQ(mode(path_), 0700U);
  const std::string large(100'000, 'x');
  ASSERT_TRUE(folder->put("17", large).has_value());
  EXPECT_EQ(folder->get("17"), large);
  ASSERT_TRUE(folder->put("17", std::string("a\0b", 3)).has_value());
  EXPECT_EQ(folder->get("17"), std::string("a\0b", 3));
  EXPECT_EQ(mode(path_ + "/17"), 0600U);
  EXPECT_EQ(SecretFolder::open(path_)->get("17"), std::string("a\0b", 3));
  folder->remove("17");
  folder->remove("17");
  const auto gone = folder->get("17");
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, Code::not_found);
  EXPECT_THAT(gone.error().text(), testing::HasSubstr("/secrets/17: cannot open it"));
  ASSERT_TRUE(folder->put("admin.token", "t").has_value());
  EXPECT_EQ(folder->get("admin.token"), "t");
}

TEST_F(SecretFolderTest, ClosesAFolderThatOthersCouldRead) {
  std::filesystem::create_directories(path_);
  ASSERT_EQ(::chmod(path_.c_str(), 0755), 0);
  ASSERT_TRUE(SecretFolder::open(path_).has_value());
  EXPECT_EQ(mode(path_), 0700U);
}

TEST_F(SecretFolderTest, RefusesWhatIsNoFolderOfItsOwn) {
  std::filesystem::create_directories(path_ + "-other");
  std::filesystem::create_symlink(path_ + "-other", path_);
  EXPECT_FALSE(SecretFolder::open(path_).has_value());
  std::filesystem::remove(path_);
  std::ofstream(path_) << "a file";
  EXPECT_FALSE(SecretFolder::open(path_).has_value());
  EXPECT_FALSE(SecretFolder::open("/nowhere/at/all").has_value());
}

}  // namespace tutti::secret_folder_test
