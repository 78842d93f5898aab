/// Reads along while a keeper writes and replaces the files of a task's output.
///
/// Begins with the file that made way for the newest one, if there is one. What is in the file that
/// is being read is read to its end, also after it made way for another; only who reads so slowly
/// that two files were replaced meanwhile misses something.
#pragma once

#include <sys/types.h>

#include <string>

#include "backend/local/system.h"
#include "base/result.h"

namespace tutti {

class OutputReader {
 public:
  /// `path` need not exist yet.
  explicit OutputReader(std::string path) : path_(std::move(path)) {}

  /// The next piece, at most 64 KiB; empty where there is no more yet.
  Result<std::string> next();

 private:
  /// The newest file, unless it is the one that is open.
  bool open_newest();
  bool open(const std::string& path);

  std::string path_;
  Descriptor file_;
  ino_t inode_ = 0;
  bool begun_ = false;
};

}  // namespace tutti
