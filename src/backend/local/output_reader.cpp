#include "backend/local/output_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace tutti {
namespace {

struct Lines {
  off_t begin = 0;        ///< Of the last lines that were asked for, or of the file.
  std::size_t found = 0;  ///< How many there are.
};

/// Where the last `wanted` lines of the file begin. O(their bytes).
Lines last_lines(const Descriptor& file, std::size_t wanted) {
  std::array<char, std::size_t{64} << 10U> block;  // NOLINT: filled by pread.
  Lines out{.begin = ::lseek(file.get(), 0, SEEK_END)};
  if (wanted == 0) return out;
  bool at_end = true;
  for (off_t end = out.begin; end > 0;) {
    const off_t begin = std::max<off_t>(0, end - static_cast<off_t>(block.size()));
    const ssize_t got = uninterrupted([&] {
      return ::pread(file.get(), block.data(), static_cast<std::size_t>(end - begin), begin);
    });
    for (ssize_t at = got - 1; at >= 0; --at) {
      const bool ends_last_line = std::exchange(at_end, false);
      if (block[static_cast<std::size_t>(at)] != '\n' || ends_last_line) continue;
      if (++out.found == wanted) return {.begin = begin + at + 1, .found = wanted};
    }
    end = begin;
  }
  if (!at_end) ++out.found;  // The first one has no line end before it.
  out.begin = 0;
  return out;
}

}  // namespace

OutputReader::Inode OutputReader::inode_of(const Descriptor& file) {
  struct stat found{};
  ::fstat(file.get(), &found);
  return {.device = found.st_dev, .number = found.st_ino};
}

std::optional<OutputReader::Inode> OutputReader::inode_at(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return std::nullopt;
  return Inode{.device = found.st_dev, .number = found.st_ino};
}

Result<Descriptor> OutputReader::open(const std::string& path) const {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  Descriptor file(uninterrupted([&] { return ::open(path.c_str(), flags); }));
  if (!file.valid() && errno == ENOENT) return file;
  if (!file.valid()) return fail(system_error(path, "read it", errno));
  struct stat found{};
  const bool known = ::fstat(file.get(), &found) == 0;
  if (known && S_ISREG(found.st_mode) && found.st_uid == owner_ && found.st_nlink <= 1) return file;
  return fail({.code = Code::invalid,
               .what = "not the file that the task made",
               .where = path,
               .hint = "it is read for nobody who does not own it"});
}

/// The file after the one that was read last. False where there is none by now.
Result<bool> OutputReader::open_next() {
  for (;;) {
    const std::optional<Inode> aside = inode_at(older());
    if (aside && aside != before_) {
      file_ = TRY(open(older()));
      if (!file_.valid()) continue;
      return true;
    }
    file_ = TRY(open(path_));
    // Only if none took its turn meanwhile is this the one that comes next.
    if (inode_at(older()) == aside) return file_.valid();
    file_.close();
  }
}

Result<std::string> OutputReader::next(std::size_t most) {
  std::string out(most, '\0');
  for (;;) {
    if (!file_.valid() && !TRY(open_next())) return "";
    // What was written before it took its turn was not there when we looked the first time.
    for (const bool again : {false, true}) {
      const ssize_t got =
          uninterrupted([&] { return ::read(file_.get(), out.data(), out.size()); });
      if (got < 0) return fail(system_error(path_, "read it", errno));
      out.resize(static_cast<std::size_t>(got));
      if (got > 0 || (!again && inode_at(path_) == inode_of(file_))) return out;
      out.resize(most);
    }
    before_ = inode_of(file_);
    file_.close();
    if (!TRY(open_next())) return "";
  }
}

Result<void> OutputReader::begin_at_last(std::size_t lines) {
  before_.reset();
  file_ = TRY(open(path_));
  const Lines here = file_.valid() ? last_lines(file_, lines) : Lines{};
  if (here.found < lines) {
    Descriptor previous = TRY(open(older()));
    if (previous.valid()) {
      file_ = std::move(previous);
      ::lseek(file_.get(), last_lines(file_, lines - here.found).begin, SEEK_SET);
      return {};
    }
  }
  if (file_.valid()) ::lseek(file_.get(), here.begin, SEEK_SET);
  return {};
}

}  // namespace tutti
