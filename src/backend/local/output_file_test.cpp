#include "backend/local/output_file.h"

#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/local/test_tasks.h"
#include "base/prng.h"

namespace tutti::output_file_test {

using test::bytes_of;
using test::TempFolder;

OutputFile open_output(const std::string& path, std::int64_t bytes_max) {
  Result<OutputFile> file = OutputFile::open({.path = path, .bytes_max = bytes_max});
  EXPECT_TRUE(file.has_value()) << file.error().text();
  return *std::move(file);
}

TEST(OutputFileTest, WhatIsWrittenIsThere) {
  const TempFolder folder;
  OutputFile file = open_output(folder / "out", 1000);
  file.append("one\n");
  file.append(std::string("\0\xff\n", 3));
  EXPECT_EQ(bytes_of(folder / "out"), std::string("one\n\0\xff\n", 7));
  EXPECT_EQ(file.bytes(), 7);
  EXPECT_FALSE(std::filesystem::exists(folder / "out.1"));
  // Another attempt goes on behind it.
  OutputFile again = open_output(folder / "out", 1000);
  again.append("two\n");
  EXPECT_EQ(bytes_of(folder / "out").substr(7), "two\n");
}

TEST(OutputFileTest, FilesChangeBetweenLines) {
  const TempFolder folder;
  OutputFile file = open_output(folder / "out", 20);
  file.append("1234\n678\nabcd\n");
  EXPECT_EQ(bytes_of(folder / "out.1"), "1234\n678\n");
  EXPECT_EQ(bytes_of(folder / "out"), "abcd\n");
  EXPECT_EQ(file.rotated(), 0);
  file.append("0123456\nx\n");  // Would have room for half of the line.
  EXPECT_EQ(bytes_of(folder / "out.1"), "abcd\n");
  EXPECT_EQ(bytes_of(folder / "out"), "0123456\nx\n");
  EXPECT_EQ(file.rotated(), 9);
  file.append("a line that no file can hold\n");
  EXPECT_EQ(bytes_of(folder / "out.1") + bytes_of(folder / "out"), "t no file can hold\n");
  EXPECT_EQ(file.bytes(), 14 + 10 + 29);
}

TEST(OutputFileTest, TheEndIsKeptAndTheRestCounted) {
  const TempFolder folder;
  Prng prng(3);
  std::string all;
  OutputFile file = open_output(folder / "out", 1000);
  for (int piece = 0; piece < 400; ++piece) {
    std::string text(prng.below(40), static_cast<char>('a' + piece % 26));
    if (prng.chance(700)) text += '\n';
    file.append(text);
    all += text;
    const std::string kept = bytes_of(folder / "out.1") + bytes_of(folder / "out");
    ASSERT_TRUE(all.ends_with(kept));
    ASSERT_LE(kept.size(), 1000U);
    ASSERT_EQ(file.rotated() + static_cast<std::int64_t>(kept.size()), file.bytes());
  }
  EXPECT_GT(file.rotated(), 1000);
  EXPECT_EQ(file.dropped(), 0);
}

TEST(OutputFileTest, LinksAreNotFollowed) {
  const TempFolder folder;
  std::ofstream(folder / "precious") << "precious";
  std::filesystem::create_symlink(folder / "precious", folder / "out");
  const Result<OutputFile> file = OutputFile::open({.path = folder / "out", .bytes_max = 10});
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().hint, "a symbolic link stands there, and is not followed");
  // One that is planted later, in either place.
  OutputFile later = open_output(folder / "later", 10);
  later.append("abcd\n");
  std::filesystem::create_symlink(folder / "precious", folder / "later.1");
  later.append("efgh\n");
  EXPECT_EQ(bytes_of(folder / "later.1"), "abcd\n");
  std::filesystem::remove(folder / "later");
  std::filesystem::create_symlink(folder / "precious", folder / "later");
  later.append("ijkl\n");
  later.append("mnop\n");
  EXPECT_EQ(bytes_of(folder / "precious"), "precious");
}

TEST(OutputFileTest, WhatIsNoFileIsRefused) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(OutputFile::open({.path = folder / "pipe", .bytes_max = 10}).has_value());
  EXPECT_FALSE(OutputFile::open({.path = "/dev/zero", .bytes_max = 10}).has_value());
  EXPECT_FALSE(OutputFile::open({.path = folder.path(), .bytes_max = 10}).has_value());
  EXPECT_FALSE(OutputFile::open({.path = folder / "no/where", .bytes_max = 10}).has_value());
  OutputFile nothing = open_output("/dev/null", 10);
  nothing.append("gone");
  EXPECT_EQ(nothing.bytes(), 4);
}

TEST(OutputFileTest, AFullDiskDropsAndSaysSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing: root, who can mount a small disk";
  const TempFolder folder;
  if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "missing: the right to mount a small disk";
  }
  const std::string line(99, 'x');
  {
    OutputFile file = open_output(folder / "out", 1 << 20);
    std::ofstream(folder / "filler") << std::string(32 << 10, 'f');
    for (int lines = 0; lines < 1000; ++lines) file.append(line + "\n");
    EXPECT_GT(file.dropped(), 60'000);
    const std::int64_t dropped = file.dropped();
    std::filesystem::remove(folder / "filler");
    file.append("there is room\n");
    EXPECT_EQ(file.dropped(), dropped);
    const std::string text = bytes_of(folder / "out");
    EXPECT_TRUE(text.ends_with("[tutti: " + std::to_string(dropped) +
                               " bytes of output are missing here: No space left on device]\n"
                               "there is room\n"))
        << text.substr(text.size() - 200);
  }
  EXPECT_EQ(::umount(folder.path().c_str()), 0);
}

TEST(OutputFileTest, AFileThatMayNotGrowDropsAndSaysSo) {
  const TempFolder folder;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    OutputFile file = open_output(folder / "out", 1 << 20);
    const rlimit most{.rlim_cur = 100, .rlim_max = RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &most) != 0) ::_exit(1);
    for (int lines = 0; lines < 30; ++lines) file.append("0123456\n");
    const rlimit more{.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &more) != 0) ::_exit(2);
    file.finish();
    ::_exit(file.dropped() == 240 - 100 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(
      bytes_of(folder / "out")
          .ends_with("0123\n[tutti: 140 bytes of output are missing here: File too large]\n"));
}

}  // namespace tutti::output_file_test
