/// For the tests of store/: a folder that removes itself, and events that know their number.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/codec.h"
#include "store/journal_file.h"

namespace tutti::test {

/// A new folder for temporary files, in memory where the system has such a place: these tests are
/// about what is asked of a disk, not about how fast it is. Gone with this object.
class Folder {
 public:
  Folder() {
    const std::string memory = "/dev/shm";
    std::string name =
        (std::filesystem::is_directory(memory) ? memory : testing::TempDir()) + "/tutti-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(file ? static_cast<std::size_t>(file.tellg()) : 0, '\0');
  file.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The n-th event of a run: a report whose task, attempt and exit code follow from n.
inline Event numbered(std::uint64_t n) {
  return TaskExited{{JobId(n), static_cast<std::uint32_t>(n % 7)},
                    static_cast<std::uint32_t>(n % 3 + 1),
                    static_cast<std::int32_t>(n % 256)};
}

inline Instant time_of(std::uint64_t n) { return {static_cast<std::int64_t>(n * 1'000)}; }

inline std::unique_ptr<JournalFile> open_journal(
    const std::string& path, JournalFile::Access access = JournalFile::Access::write) {
  auto journal = JournalFile::open(path, access);
  EXPECT_TRUE(journal.has_value()) << journal.error().text();
  return journal ? *std::move(journal) : nullptr;
}

/// Appends the events `first` to `last`, one at a time.
inline void append_numbered(JournalFile& journal, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t n = first; n <= last; ++n) {
    const std::vector<Event> events{numbered(n)};
    const auto done = journal.append(events, time_of(n));
    ASSERT_TRUE(done.has_value()) << done.error().text();
  }
}

/// Every row as its line, or the error that ended the reading.
inline Result<std::vector<std::string>> lines_of(JournalFile& journal, std::uint64_t first = 1) {
  std::vector<std::string> lines;
  TRY(journal.replay(first, [&](std::uint64_t, const Event& event, Instant at) -> Result<void> {
    lines.push_back(encode(event, at));
    return {};
  }));
  return lines;
}

/// Opens and reads a journal to its end, as a server does when it starts.
inline Result<std::vector<std::string>> read_all(
    const std::string& path, JournalFile::Access access = JournalFile::Access::write) {
  const std::unique_ptr<JournalFile> journal = TRY(JournalFile::open(path, access));
  return lines_of(*journal);
}

inline std::vector<std::string> numbered_lines(std::uint64_t first, std::uint64_t last) {
  std::vector<std::string> lines;
  for (std::uint64_t n = first; n <= last; ++n) lines.push_back(encode(numbered(n), time_of(n)));
  return lines;
}

}  // namespace tutti::test
