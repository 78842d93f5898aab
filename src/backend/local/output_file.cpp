#include "backend/local/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

namespace tutti {

Result<OutputFile> OutputFile::open(Options options) {
  OutputFile out;
  out.options_ = std::move(options);
  const std::string& path = out.options_.path;
  if (path == "/dev/null") return out;
  const std::size_t slash = path.rfind('/');
  const AsUser rights(out.options_.user);
  if (!rights.valid()) return fail(system_error(path, "take the rights of its user", errno));
  out.folder_ = TRY(OpenFolder::enter(path.substr(0, std::max<std::size_t>(slash, 1))));
  out.name_ = path.substr(slash + 1);
  TRY(out.begin());
  return out;
}

/// Opens the file, and goes on at its end. REQUIRES: the rights of the user.
Result<void> OutputFile::begin() {
  // Without O_NONBLOCK a pipe that somebody put there would be waited for.
  file_ = TRY(
      folder_.open_file(name_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK, options_.mode));
  struct stat found{};
  if (::fstat(file_.get(), &found) != 0) {
    return fail(system_error(options_.path, "look at it", errno));
  }
  if (!S_ISREG(found.st_mode)) {
    file_.close();
    return fail({.code = Code::invalid, .what = "not a file", .where = options_.path});
  }
  size_ = found.st_size;
  return {};
}

Result<void> OutputFile::rotate() {
  const AsUser rights(options_.user);
  if (!rights.valid())
    return fail(system_error(options_.path, "take the rights of its user", errno));
  const std::string older = name_ + ".1";
  file_.close();
  if (is_full()) {
    if (::renameat(folder_.get(), name_.c_str(), folder_.get(), older.c_str()) != 0) {
      return fail(system_error(options_.path, "rename it", errno));
    }
    rotated_ += std::exchange(previous_, size_);
    next_due_ = false;
  }
  return begin();
}

void OutputFile::append(std::string_view bytes) {
  bytes_ += static_cast<std::int64_t>(bytes.size());
  if (!folder_.valid()) return;
  while (!bytes.empty()) {
    if (!file_.valid() || is_full()) {
      if (const Result<void> done = rotate(); !done) return drop(bytes.size(), done.error().what);
    }
    note_dropped();
    const std::int64_t room = std::max<std::int64_t>(options_.bytes_max / 2 - size_, 1);
    std::string_view piece = bytes.substr(0, static_cast<std::size_t>(room));
    if (piece.size() < bytes.size()) {
      next_due_ = true;
      const std::size_t line_end = piece.rfind('\n');
      // Rather a file that is not quite full than a line in two of them.
      if (line_end == std::string_view::npos && at_line_start_ && size_ > 0) continue;
      if (line_end != std::string_view::npos) piece = piece.substr(0, line_end + 1);
    }
    write(piece);
    bytes.remove_prefix(piece.size());
  }
}

void OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(file_.get(), bytes.data(), bytes.size()); });
    if (written <= 0) return drop(bytes.size(), std::generic_category().message(errno));
    size_ += written;
    at_line_start_ = bytes[static_cast<std::size_t>(written) - 1] == '\n';
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::drop(std::size_t bytes, std::string why) {
  dropped_ += static_cast<std::int64_t>(bytes);
  unsaid_ += static_cast<std::int64_t>(bytes);
  why_ = std::move(why);
}

void OutputFile::note_dropped() {
  if (unsaid_ == 0 || !file_.valid()) return;
  const std::string line = std::string(at_line_start_ ? "" : "\n") +
                           "[tutti: " + std::to_string(unsaid_) +
                           " bytes of output are missing here: " + why_ + "]\n";
  // All of the line or nothing: half of it would be taken for the task's own.
  const off_t before = size_;
  const ssize_t written =
      uninterrupted([&] { return ::write(file_.get(), line.data(), line.size()); });
  if (written == static_cast<ssize_t>(line.size())) {
    size_ += written;
    at_line_start_ = true;
    unsaid_ = 0;
  } else if (written > 0 && ::ftruncate(file_.get(), before) != 0) {
    size_ += written;
  }
}

}  // namespace tutti
