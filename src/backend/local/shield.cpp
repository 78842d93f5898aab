#include "backend/local/shield.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace tutti {
namespace {

/// As of version 6; older kernels take a shorter one, and older headers know less of it.
struct Rules {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scopes = 0;
};
constexpr std::uint64_t scope_signals = 2;
constexpr std::uint64_t truncate_file = 1ULL << 14U;

/// What may be done to a file rather than in a folder.
constexpr std::uint64_t of_file =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE;

/// The version of Landlock that this kernel has, 0 for none.
long version() {
  const long got =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return got < 0 ? 0 : got;
}

/// All but to list folders, whose names are no secret: without that nobody could list "/".
std::uint64_t rights_of(long version) {
  std::uint64_t out = of_file | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                      LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
                      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                      LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                      LANDLOCK_ACCESS_FS_MAKE_SYM;
  if (version >= 2) out |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) out |= truncate_file;
  return out;
}

/// "/", "/a", "/a/b" for "/a/b/c".
std::vector<std::string> folders_above(const std::string& folder) {
  std::vector<std::string> out{"/"};
  for (std::size_t at = folder.find('/', 1); at != std::string::npos;
       at = folder.find('/', at + 1)) {
    out.push_back(folder.substr(0, at));
  }
  return out;
}

/// The one of them in which this user may make files, or empty.
std::string writable_above(const std::string& folder) {
  for (const std::string& each : folders_above(folder)) {
    if (::faccessat(AT_FDCWD, each.c_str(), W_OK, AT_EACCESS) == 0) return each;
  }
  return "";
}

/// Allows all that lies in `above`, but for the one that is on the way to `folder`.
Result<void> allow_beside(int rules, const std::string& above, const std::string& folder,
                          long version) {
  const OpenFolder opened = TRY(OpenFolder::open(above));
  for (const std::string& name : TRY(opened.names())) {
    const std::string path = above == "/" ? "/" + name : above + "/" + name;
    if (folder == path || folder.starts_with(path + "/")) continue;
    const Descriptor beside(::openat(opened.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat found{};
    if (!beside.valid() || ::fstat(beside.get(), &found) != 0 || S_ISLNK(found.st_mode)) continue;
    const std::uint64_t rights = rights_of(version);
    const landlock_path_beneath_attr rule{
        .allowed_access = S_ISDIR(found.st_mode) ? rights : rights & (of_file | truncate_file),
        .parent_fd = beside.get()};
    if (::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
      return fail(system_error(path, "allow it to tasks", errno));
    }
  }
  return {};
}

}  // namespace

std::string Shield::missing(const std::string& folder) {
  const long has = version();
  if (has == 0) return "this kernel has no Landlock: tasks can read and write " + folder;
  if (const std::string open = writable_above(folder); !open.empty()) {
    return "tasks can read and write " + folder + ", because to bar it would bar new files in " +
           open + " as well; a folder whose parents belong to root can be barred";
  }
  if (has < 6) return "this kernel cannot keep tasks from sending signals to the server";
  return "";
}

Result<Shield> Shield::make(const std::string& folder) {
  const long has = version();
  const bool bars_files = writable_above(folder).empty();
  if (has == 0 || (!bars_files && has < 6)) return Shield();
  Rules rules;
  if (bars_files) rules.files = rights_of(has);
  if (has >= 6) rules.scopes = scope_signals;
  const std::size_t size = has >= 6 ? sizeof rules : sizeof rules.files;
  Descriptor made(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, size, 0)));
  if (!made.valid()) return fail(system_error(folder, "bar it to tasks", errno));
  if (bars_files) {
    for (const std::string& above : folders_above(folder)) {
      TRY(allow_beside(made.get(), above, folder, has));
    }
  }
  return Shield(std::move(made));
}

bool Shield::raise() const {
  return !rules_.valid() || ::syscall(SYS_landlock_restrict_self, rules_.get(), 0) == 0;
}

}  // namespace tutti
