#include "store/lock_file.h"

#include <fcntl.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill() is POSIX.
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace tutti {
namespace {

/// The process id that the file holds, or nothing where its holder has not written it yet.
std::string holder(const net::Descriptor& file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  std::string out(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  out.resize(std::min(out.size(), out.find_first_not_of("0123456789")));
  return out;
}

bool is_dead(const std::string& pid) {
  pid_t number = 0;
  std::from_chars(pid.data(), pid.data() + pid.size(), number);
  return number > 0 && ::kill(number, 0) != 0 && errno == ESRCH;
}

Error in_use(const std::string& path, const std::string& pid, bool dead) {
  std::string who = pid.empty() ? "another process" : "process " + pid;
  if (dead) who = "what process " + pid + " started before it ended";
  return {.code = Code::conflict,
          .what = "in use by " + who,
          .where = path,
          .hint = "one server writes a journal: stop that one, or use another folder"};
}

/// Is the file that was locked still the one of that name? Somebody may have removed it meanwhile.
bool still_named(const net::Descriptor& file, const std::string& path) {
  struct stat locked{};
  struct stat named{};
  return ::fstat(file.get(), &locked) == 0 && ::stat(path.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

}  // namespace

Error file_error(const std::string& path, const std::string& verb, int error) {
  std::string hint;
  if (error == ENOENT) hint = "make its folder first";
  if (error == EACCES || error == EPERM) hint = "give this user the right to write there";
  if (error == ENOSPC || error == EDQUOT) hint = "free some space on that disk";
  if (error == EROFS) hint = "that disk is mounted read-only; name a place on another one";
  return {.code = Code::io,
          .what = "cannot " + verb + " it: " + std::generic_category().message(error),
          .where = path,
          .hint = std::move(hint)};
}

Result<LockFile> LockFile::acquire(const std::string& path) {
  // A process that was killed while it started another one left the lock to that one too, until
  // that one has its own program: for milliseconds.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point patience = Clock::now() + std::chrono::seconds(2);
  for (;;) {
    net::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) return fail(file_error(path, "open", errno));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return fail(file_error(path, "lock", errno));
      const std::string pid = holder(file);
      const bool dead = is_dead(pid);
      if (!dead || Clock::now() > patience) return fail(in_use(path, pid, dead));
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      continue;
    }
    if (!still_named(file, path)) continue;
    const std::string pid = std::to_string(::getpid()) + "\n";
    if (::ftruncate(file.get(), 0) != 0 ||
        ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
      return fail(file_error(path, "write", errno));
    }
    return LockFile(std::move(file));
  }
}

LockFile::~LockFile() {
  // Who holds no lock names nobody. Without this the text would merely be stale.
  if (file_.valid() && ::ftruncate(file_.get(), 0) != 0) return;
}

}  // namespace tutti
