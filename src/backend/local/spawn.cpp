#include "backend/local/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "backend/local/system.h"

namespace tutti {
namespace {

/// The two arguments of posix_spawn that must be given back.
struct SpawnArguments {
  SpawnArguments() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  ~SpawnArguments() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  SpawnArguments(const SpawnArguments&) = delete;
  SpawnArguments& operator=(const SpawnArguments&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

}  // namespace

Result<pid_t> spawn_keeper(const std::string& folder) {
  SpawnArguments with;
  sigset_t all;
  sigfillset(&all);
  ::posix_spawnattr_setsigmask(&with.attributes, &all);
  ::posix_spawnattr_setsigdefault(&with.attributes, &all);
  ::posix_spawnattr_setflags(&with.attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawn_file_actions_addopen(&with.actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&with.actions, 0, 1);
  // A bug of ours speaks there.
  const std::string log = folder + "/keeper.log";
  ::posix_spawn_file_actions_addopen(&with.actions, 2, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  ::posix_spawn_file_actions_addclosefrom_np(&with.actions, 3);

  std::array<std::string, 3> arguments{"tutti", "keeper", folder};
  std::array<char*, 4> pointers{arguments[0].data(), arguments[1].data(), arguments[2].data(),
                                nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &with.actions, &with.attributes,
                                  pointers.data(), environ);
  if (error != 0) return fail(system_error(folder, "start its keeper", error));
  return pid;
}

}  // namespace tutti
