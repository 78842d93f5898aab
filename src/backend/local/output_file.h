/// A file that takes what a task writes, and never grows beyond a cap.
///
/// When it is half as large as the cap it becomes NAME.1, in the place of an older one, and a new
/// file begins, between two lines where that can be. So the last half of the cap can always be
/// read, and at most the cap. What cannot be written (a full disk) is dropped and counted, never
/// waited for; once there is room again a line in the file says how much is missing.
/// Every file is opened and renamed with the rights of the task's user, and links are not followed.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "backend/local/as_user.h"
#include "backend/local/system.h"

namespace tutti {

class OutputFile {
 public:
  struct Options {
    std::string path;  ///< Absolute. "/dev/null" keeps nothing.
    std::int64_t bytes_max = 0;
    std::optional<TaskUser> user;
    mode_t mode = 0600;
  };
  static Result<OutputFile> open(Options options);

  /// Takes the bytes, whatever becomes of them.
  void append(std::string_view bytes);
  /// Says in the file what is missing, if there is room for that.
  void finish() { note_dropped(); }

  std::int64_t bytes() const { return bytes_; }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t rotated() const { return rotated_; }

 private:
  Result<void> begin();
  Result<void> rotate();
  void write(std::string_view bytes);
  void drop(std::size_t bytes, std::string why);
  void note_dropped();
  bool is_full() const { return next_due_ || size_ >= options_.bytes_max / 2; }

  Options options_;
  OpenFolder folder_;
  std::string name_;
  Descriptor file_;
  std::int64_t size_ = 0;      ///< Of the file.
  std::int64_t previous_ = 0;  ///< Size of the one before.
  bool next_due_ = false;      ///< The file takes no more, though it has room.
  bool at_line_start_ = true;
  std::int64_t bytes_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t rotated_ = 0;
  std::int64_t unsaid_ = 0;  ///< Dropped bytes that no line in the file speaks of yet.
  std::string why_;
};

}  // namespace tutti
