/// One process at a time: an advisory lock (flock) on a file that names its holder.
///
/// The kernel drops the lock when its holder ends, however that happens, so a file that a dead
/// process left behind locks nobody out. The file itself stays: removing it would let two processes
/// lock two files of one name.
#pragma once

#include <string>

#include "base/result.h"
#include "net/descriptor.h"

namespace tutti {

/// Why the operating system refused to `verb` the file: "cannot open it: No space left on device".
Error file_error(const std::string& path, const std::string& verb, int error);

class LockFile {
 public:
  /// Locks `path`, made when absent, and writes our process id into it. Where another process has
  /// it, the error says which one. Waits only where that one is dead, for two seconds at most.
  static Result<LockFile> acquire(const std::string& path);

  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&&) noexcept = default;
  ~LockFile();

 private:
  explicit LockFile(net::Descriptor file) : file_(std::move(file)) {}

  net::Descriptor file_;
};

}  // namespace tutti
