#include "backend/local/host.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "backend/local/cgroup.h"
#include "backend/local/system.h"

namespace tutti {
namespace {

std::int64_t limit_of(rlim_t value) {
  return value == RLIM_INFINITY ? -1 : static_cast<std::int64_t>(value);
}

/// The number of the listening socket at this port, in one of the kernel's tables.
std::optional<std::string> socket_at(const std::string& table, std::uint16_t port) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // Titles.
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::array<std::string, 10> word;
    for (std::string& each : word) words >> each;
    const std::string& local = word[1];
    unsigned found = 0;
    const std::size_t colon = local.rfind(':') + 1;
    std::from_chars(local.data() + colon, local.data() + local.size(), found, 16);
    if (found == port && word[3] == "0A") return word[9];  // TCP_LISTEN
  }
  return std::nullopt;
}

std::vector<std::string> names_in(const std::string& folder) {
  const Result<OpenFolder> opened = OpenFolder::open(folder);
  if (!opened) return {};
  return opened->names().value_or(std::vector<std::string>{});
}

bool has_open(const std::string& process, const std::string& what) {
  const std::string folder = process + "/fd";
  return std::ranges::any_of(names_in(folder), [&](const std::string& name) {
    std::array<char, 128> target{};
    const ssize_t size =
        ::readlink((folder + "/" + name).c_str(), target.data(), target.size() - 1);
    return size > 0 && what == target.data();
  });
}

bool is_marked_as_delegated(const std::string& folder) {
  for (const char* name : {"user.delegate", "trusted.delegate"}) {
    char value = 0;
    if (::getxattr(folder.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

/// "/system.slice/tutti.service"
Result<std::string> own_group(const std::string& proc) {
  const std::string path = proc + "/self/cgroup";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return fail(
      Error{Code::unsupported, "this process is in no control group of version 2", path, {}});
}

}  // namespace

ProcessLimit raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return {.name = "nofile"};
  const ProcessLimit before{"nofile", limit_of(limit.rlim_cur), limit_of(limit.rlim_max)};
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);  // Where it is refused, it stays as it was.
  return before;
}

void notify_service(std::string_view text) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path == nullptr || path[0] == '\0' || std::strlen(path) >= sizeof address.sun_path) return;
  const std::size_t length = std::strlen(path);
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // A name that is in no folder.
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  ::sendto(socket.get(), text.data(), text.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), size);
}

pid_t listener_of(std::uint16_t port, const std::string& proc) {
  std::optional<std::string> number = socket_at(proc + "/net/tcp", port);
  if (!number) number = socket_at(proc + "/net/tcp6", port);
  if (!number) return 0;
  const std::string socket = "socket:[" + *number + "]";
  for (const std::string& name : names_in(proc)) {
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid > 0 && has_open(proc + "/" + name, socket)) return pid;
  }
  return 0;
}

Result<std::string> take_cgroup(const CgroupFiles& files) {
  const std::string group = files.root + TRY(own_group(files.proc));
  std::string around = group.substr(0, group.rfind('/'));
  const auto is_ours = files.is_delegated ? files.is_delegated : is_marked_as_delegated;
  if (is_ours(group)) {
    return fail(Error{Code::unsupported,
                      "this server is in the very control group that it was given, not below it",
                      group, "systemd 254 or newer: DelegateSubgroup=server"});
  }
  if (!is_ours(around)) {
    return fail(Error{Code::unsupported, "no control group was given to this server", around,
                      "systemd: Delegate=yes; or --cgroup FOLDER"});
  }
  TRY(Cgroup::prepare(around));
  return around;
}

}  // namespace tutti
