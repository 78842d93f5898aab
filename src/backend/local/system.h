/// What the local backend asks of the operating system: descriptors, folders held open, whole
/// files.
///
/// Plain system calls, because a keeper must stay small. Nothing here follows a symbolic link that
/// stands in the last place of a path, and no descriptor outlives an exec.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/descriptor.h"

namespace tutti {

using net::Descriptor;
using net::write_all;

/// Both ends of a pipe.
struct Pipe {
  Descriptor read;
  Descriptor write;
};
Result<Pipe> make_pipe(int flags = 0);

/// What the system refused, and why: "cannot open it: No such file or directory".
Error system_error(std::string where, std::string_view what, int error);

/// For what may fail, because whoever needs it finds out by itself.
inline void disregard(const Result<void>& /*done*/) {}

/// Calls again for as long as a signal interrupts.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

/// Takes the lock of fcntl(2) on a file that is open for writing. It goes with our process, is not
/// handed on to any other, and is lost when the file is closed through whichever descriptor of
/// ours. False, with errno, where it cannot be taken; EAGAIN where another process has it.
bool lock_file(const Descriptor& file);
/// The process that has this lock, 0 for none of another one.
pid_t lock_holder(const Descriptor& file);

/// The time of day, as engines count it.
Instant time_of_day();
/// A clock that nobody sets and that goes on while the machine sleeps, in microseconds.
Instant steady_time();

/// The process `pid` as something that is no other one when that has ended; readable when it ends.
Descriptor open_process(pid_t pid);
/// False when it has ended.
bool send_signal(const Descriptor& process, int signal);

/// A folder that is held open: what is asked for in it is not looked for where a path leads by now.
class OpenFolder {
 public:
  enum class Sync : bool { no, yes };
  static constexpr std::size_t file_bytes_max = std::size_t{16} << 20U;

  OpenFolder() = default;
  static Result<OpenFolder> open(const std::string& path);
  /// Only to open and rename files in it, for which nobody need be able to list it. It may be named
  /// by a link.
  static Result<OpenFolder> enter(const std::string& path);
  /// The folder `name` in this one, made for its owner alone where `mode` says so.
  Result<OpenFolder> make(const std::string& name, mode_t mode) const;
  Result<OpenFolder> open_inner(const std::string& name) const;

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }
  int get() const { return descriptor_.get(); }
  bool valid() const { return descriptor_.valid(); }

  /// Has somebody removed it, so that nothing more can be put there?
  bool is_removed() const;
  /// All that is in it.
  Result<std::vector<std::string>> names() const;
  bool has(const char* name) const;
  Result<Descriptor> open_file(const char* name, int flags, mode_t mode = 0600) const;
  /// The whole file. REQUIRES: at most file_bytes_max, else an error.
  Result<std::string> read(const char* name) const;
  /// Puts `text` in the place of the file, so that whoever reads sees all of the old or all of the
  /// new one. With Sync::yes it also outlives a power cut.
  Result<void> replace(const char* name, std::string_view text, Sync sync) const;
  /// An empty file, if there is none.
  Result<void> touch(const char* name) const;
  /// What has a name in here keeps it after a power cut.
  Result<void> sync() const;
  /// Removes the folder `name` and the files in it; folders in it are an error.
  Result<void> remove(const std::string& name) const;

 private:
  OpenFolder(std::string path, Descriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  std::string path_;
  Descriptor descriptor_;
};

}  // namespace tutti
