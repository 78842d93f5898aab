/// Reads what a task writes, also while it writes: the other side of output_file.h.
///
/// It goes from each file to the next one, as they take turns, and misses nothing as long as it is
/// not a whole file behind. Nothing here waits: who follows asks again after a while.
/// A user can put anything in the place of a file in a folder of his own. So what belongs to
/// somebody else, is a link, or has a second name, is not read for him.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "backend/local/system.h"

namespace tutti {

class OutputReader {
 public:
  /// From the first byte that is still there. The file need not be there yet. `owner`: whose file
  /// it must be, ours unless a task's user has made it.
  explicit OutputReader(std::string path, uid_t owner = ::geteuid())
      : path_(std::move(path)), owner_(owner) {}

  /// Goes to where the last so many lines begin, of all that is there by now.
  Result<void> begin_at_last(std::size_t lines);
  /// The next bytes, at most `most`; empty where there are no more by now.
  Result<std::string> next(std::size_t most = std::size_t{64} << 10U);

 private:
  /// Which file it is, whatever its name by now.
  struct Inode {
    dev_t device = 0;
    ino_t number = 0;
    friend bool operator==(const Inode&, const Inode&) = default;
  };

  /// None where there is no such file.
  Result<Descriptor> open(const std::string& path) const;
  Result<bool> open_next();
  static Inode inode_of(const Descriptor& file);
  static std::optional<Inode> inode_at(const std::string& path);
  std::string older() const { return path_ + ".1"; }

  std::string path_;
  uid_t owner_;
  Descriptor file_;              ///< Being read.
  std::optional<Inode> before_;  ///< The file that was read to its end last.
};

}  // namespace tutti
