#include "backend/local/output_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/output_file.h"
#include "backend/local/test_tasks.h"
#include "base/prng.h"

namespace tutti::output_reader_test {

using test::TempFolder;

std::string read_all(OutputReader& reader, std::size_t most = 1 << 20) {
  std::string out;
  for (;;) {
    const Result<std::string> more = reader.next(most);
    EXPECT_TRUE(more.has_value()) << more.error().text();
    if (!more || more->empty()) return out;
    out += *more;
  }
}

OutputFile output_at(const std::string& path, std::int64_t bytes_max) {
  return OutputFile::open({.path = path, .bytes_max = bytes_max}).value();
}

TEST(OutputReaderTest, WhoeverKeepsUpMissesNothing) {
  const TempFolder folder;
  Prng prng(11);
  OutputReader reader(folder / "out", ::geteuid());
  EXPECT_EQ(read_all(reader), "") << "there is no file yet";
  OutputFile file = output_at(folder / "out", 200);
  std::string written;
  std::string read;
  for (int piece = 0; piece < 2000; ++piece) {
    std::string text(prng.below(30), static_cast<char>('a' + piece % 26));
    text += '\n';
    file.append(text);
    written += text;
    if (prng.chance(500)) read += read_all(reader, 1 + prng.below(50));
  }
  read += read_all(reader);
  EXPECT_GT(file.rotated(), 1000);
  // Now and then a file came in between, but never two.
  EXPECT_EQ(read.size(), written.size());
  EXPECT_TRUE(read == written);
}

TEST(OutputReaderTest, AFileIsReadToItsEndThoughItMadeWay) {
  const TempFolder folder;
  const auto write = [&](const std::string& text) {
    std::ofstream(folder / "out", std::ios::app) << text;
  };
  OutputReader reader(folder / "out");
  write("a");
  EXPECT_EQ(read_all(reader), "a");
  write("b");
  std::filesystem::rename(folder / "out", folder / "out.1");
  write("c");
  EXPECT_EQ(read_all(reader), "bc");
  write("d");
  EXPECT_EQ(read_all(reader), "d");
}

TEST(OutputReaderTest, WhoeverComesLateGetsWhatIsLeft) {
  const TempFolder folder;
  OutputFile file = output_at(folder / "out", 20);
  file.append("1234567\n");
  file.append("abcdefg\n");
  OutputReader reader(folder / "out", ::geteuid());
  EXPECT_EQ(read_all(reader), "1234567\nabcdefg\n");
  for (const char* text : {"2345678\n", "bcdefgh\n", "3456789\n", "cdefghi\n"}) file.append(text);
  EXPECT_EQ(read_all(reader), "3456789\ncdefghi\n") << "two files were gone by then";
}

TEST(OutputReaderTest, TheLastLines) {
  const TempFolder folder;
  OutputFile file = output_at(folder / "out", 40);
  file.append("one\ntwo\nthree\nfour\nfive\nsix\nse");
  ASSERT_EQ(test::bytes_of(folder / "out"), "five\nsix\nse");
  const auto last = [&](std::size_t lines) {
    OutputReader reader(folder / "out", ::geteuid());
    EXPECT_TRUE(reader.begin_at_last(lines));
    return read_all(reader);
  };
  EXPECT_EQ(last(0), "");
  EXPECT_EQ(last(1), "se");
  EXPECT_EQ(last(2), "six\nse");
  EXPECT_EQ(last(3), "five\nsix\nse");
  EXPECT_EQ(last(4), "four\nfive\nsix\nse");
  EXPECT_EQ(last(100), "one\ntwo\nthree\nfour\nfive\nsix\nse");
  file.append("ven\n");
  EXPECT_EQ(last(1), "seven\n");
  OutputReader none(folder / "none", ::geteuid());
  EXPECT_TRUE(none.begin_at_last(5));
  EXPECT_EQ(read_all(none), "");
}

TEST(OutputReaderTest, WhatIsNotTheTasksIsNotRead) {
  const TempFolder folder;
  std::ofstream(folder / "secret") << "secret";
  OutputReader stranger(folder / "secret", ::geteuid() + 1);
  EXPECT_FALSE(stranger.next(10).has_value());
  std::filesystem::create_symlink(folder / "secret", folder / "link");
  OutputReader link(folder / "link", ::geteuid());
  EXPECT_FALSE(link.next(10).has_value());
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  OutputReader pipe(folder / "pipe", ::geteuid());
  EXPECT_FALSE(pipe.next(10).has_value());
  std::filesystem::create_hard_link(folder / "secret", folder / "twin");
  OutputReader twin(folder / "twin", ::geteuid());
  EXPECT_FALSE(twin.next(10).has_value());
  // Also where it comes in the place of a file that was read before.
  OutputFile file = output_at(folder / "out", 20);
  file.append("12345678\n");
  OutputReader reader(folder / "out", ::geteuid());
  EXPECT_EQ(read_all(reader), "12345678\n");
  std::filesystem::rename(folder / "out", folder / "out.1");
  std::filesystem::create_symlink(folder / "secret", folder / "out");
  EXPECT_FALSE(reader.next(10).has_value());
}

}  // namespace tutti::output_reader_test
