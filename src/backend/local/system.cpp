#include "backend/local/system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <system_error>

namespace tutti {
namespace {

constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Instant read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return {now.tv_sec * std::int64_t{1'000'000} + now.tv_nsec / 1000};
}

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<Pipe> make_pipe(int flags) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | flags) != 0) return fail(system_error({}, "make a pipe", errno));
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Error system_error(std::string where, std::string_view what, int error) {
  std::string hint;
  if (error == ENOSPC || error == EDQUOT) hint = "free some space on that disk";
  if (error == EROFS) hint = "that disk is mounted read-only; name a place on another one";
  if (error == EMFILE || error == ENFILE) hint = "raise the limit of open files (ulimit -n)";
  if (error == ELOOP) hint = "a symbolic link stands there, and is not followed";
  return {.code = Code::io,
          .what = "cannot " + std::string(what) + ": " + std::generic_category().message(error),
          .where = std::move(where),
          .hint = std::move(hint)};
}

bool lock_file(const Descriptor& file) {
  struct flock lock = whole_file();
  const int done = uninterrupted([&] { return ::fcntl(file.get(), F_SETLK, &lock); });
  if (done != 0 && errno == EACCES) errno = EAGAIN;
  return done == 0;
}

pid_t lock_holder(const Descriptor& file) {
  struct flock lock = whole_file();
  const bool held = ::fcntl(file.get(), F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  return held ? lock.l_pid : 0;
}

Instant time_of_day() { return read_clock(CLOCK_REALTIME); }
Instant steady_time() { return read_clock(CLOCK_BOOTTIME); }

Descriptor open_process(pid_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool send_signal(const Descriptor& process, int signal) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0) == 0;
}

// --- Folders ------------------------------------------------------------------------------------

Result<OpenFolder> OpenFolder::open(const std::string& path) {
  Descriptor opened(::open(path.c_str(), folder_flags));
  if (!opened.valid()) return fail(system_error(path, "open it", errno));
  return OpenFolder(path, std::move(opened));
}

Result<OpenFolder> OpenFolder::enter(const std::string& path) {
  Descriptor opened(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid()) return fail(system_error(path, "open it", errno));
  return OpenFolder(path, std::move(opened));
}

Result<OpenFolder> OpenFolder::open_inner(const std::string& name) const {
  Descriptor opened(::openat(get(), name.c_str(), folder_flags));
  if (!opened.valid()) return fail(system_error(path_of(name), "open it", errno));
  return OpenFolder(path_of(name), std::move(opened));
}

Result<OpenFolder> OpenFolder::make(const std::string& name, mode_t mode) const {
  if (::mkdirat(get(), name.c_str(), mode) != 0 && errno != EEXIST) {
    return fail(system_error(path_of(name), "make it", errno));
  }
  return open_inner(name);
}

bool OpenFolder::is_removed() const {
  struct stat found{};
  return ::fstat(get(), &found) == 0 && found.st_nlink == 0;
}

Result<std::vector<std::string>> OpenFolder::names() const {
  const int again = ::openat(get(), ".", folder_flags);
  DIR* const listing = again < 0 ? nullptr : ::fdopendir(again);
  if (listing == nullptr) return fail(system_error(path_, "list it", errno));
  std::vector<std::string> out;
  while (const dirent* const entry = ::readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") out.emplace_back(name);
  }
  ::closedir(listing);
  return out;
}

bool OpenFolder::has(const char* name) const {
  return ::faccessat(get(), name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<Descriptor> OpenFolder::open_file(const char* name, int flags, mode_t mode) const {
  Descriptor file(uninterrupted(
      [&] { return ::openat(get(), name, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode); }));
  if (!file.valid()) return fail(system_error(path_of(name), "open it", errno));
  return file;
}

Result<std::string> OpenFolder::read(const char* name) const {
  const Descriptor file = TRY(open_file(name, O_RDONLY));
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return fail(system_error(path_of(name), "read it", errno));
  if (static_cast<std::size_t>(found.st_size) > file_bytes_max) {
    return fail({.code = Code::limit,
                 .what = std::to_string(found.st_size) + " bytes, at most " +
                         std::to_string(file_bytes_max),
                 .where = path_of(name)});
  }
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got =
        uninterrupted([&] { return ::read(file.get(), text.data() + size, text.size() - size); });
    if (got < 0) return fail(system_error(path_of(name), "read it", errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

Result<void> OpenFolder::replace(const char* name, std::string_view text, Sync sync) const {
  const std::string draft = std::string(name) + ".new";
  const Descriptor file = TRY(open_file(draft.c_str(), O_WRONLY | O_CREAT));
  // A draft may have been made before, to hold its place on a disk that fills up.
  const bool written = write_all(file.get(), text) &&
                       ::ftruncate(file.get(), static_cast<off_t>(text.size())) == 0 &&
                       (sync == Sync::no || ::fsync(file.get()) == 0);
  if (!written) return fail(system_error(path_of(name), "write it", errno));
  if (::renameat(get(), draft.c_str(), get(), name) != 0) {
    return fail(system_error(path_of(name), "write it", errno));
  }
  if (sync == Sync::yes) TRY(this->sync());
  return {};
}

Result<void> OpenFolder::touch(const char* name) const {
  TRY(open_file(name, O_WRONLY | O_CREAT));
  return {};
}

Result<void> OpenFolder::sync() const {
  if (::fsync(get()) != 0) return fail(system_error(path_, "sync it", errno));
  return {};
}

Result<void> OpenFolder::remove(const std::string& name) const {
  const OpenFolder inner = TRY(open_inner(name));
  for (const std::string& each : TRY(inner.names())) {
    if (::unlinkat(inner.get(), each.c_str(), 0) != 0 && errno != ENOENT) {
      return fail(system_error(inner.path_of(each), "remove it", errno));
    }
  }
  if (::unlinkat(get(), name.c_str(), AT_REMOVEDIR) != 0) {
    return fail(system_error(path_of(name), "remove it", errno));
  }
  return {};
}

}  // namespace tutti
