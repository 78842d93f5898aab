#include "net/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

namespace tutti::net {
namespace {

constexpr int backlog = 4096;  // The kernel cuts it to net.core.somaxconn.

Descriptor open_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// No delay for small writes; a peer that is gone without a word is noticed within minutes.
void set_up_tcp(int socket) {
  const int on = 1;
  const int idle_s = 60;
  // What waits for a reader who is slow waits with us, where it is counted: the kernel would take
  // megabytes. What is on its way does not count, so this slows nobody down.
  const int unsent_bytes = 256 << 10;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof unsent_bytes);
}

/// The address of a unix socket; `path` fits.
sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Result<void> check_path(const std::string& path) {
  constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Code::invalid, "the path of a unix socket is empty or holds NUL");
  }
  if (path.size() <= longest) return {};
  return fail({.code = Code::limit,
               .what = "the path of a unix socket may have " + std::to_string(longest) +
                       " bytes, this one has " + std::to_string(path.size()),
               .where = path,
               .hint = "use a shorter one"});
}

const sockaddr* generic(const void* address) { return static_cast<const sockaddr*>(address); }

/// Whether somebody listens at the file, and if so, which process.
struct Holder {
  bool alive = false;
  pid_t pid = 0;
};

Holder holder_of(const std::string& path) {
  const Descriptor probe = open_socket(AF_UNIX);
  const sockaddr_un address = unix_address(path);
  const int done = ::connect(probe.get(), generic(&address), sizeof address);
  if (done != 0 && errno == ECONNREFUSED) return {};
  // Anything else, such as a full queue of connections, may be a living server.
  return {.alive = true, .pid = done == 0 ? peer_of(probe.get()).pid : 0};
}

/// Makes way for a new socket at `path`.
Result<void> remove_stale(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return fail(system_error("look at", path, errno));
  }
  if (!S_ISSOCK(found.st_mode)) {
    return fail({.code = Code::conflict,
                 .what = "something that is no socket has this name",
                 .where = path,
                 .hint = "move it away, or name another path"});
  }
  if (const Holder holder = holder_of(path); holder.alive) {
    return fail({.code = Code::conflict,
                 .what = holder.pid > 0 ? "a server listens here already: process " +
                                              std::to_string(holder.pid)
                                        : "a server seems to listen here already",
                 .where = path,
                 .hint = "stop that one, or name another path"});
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail(system_error("remove the stale", path, errno));
  }
  return {};
}

std::string text_of(const sockaddr_storage& address, bool with_port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
    return text.data() + (with_port ? ":" + std::to_string(ntohs(in.sin_port)) : "");
  }
  const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
  ::inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
  if (!with_port) return text.data();
  return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(in.sin6_port));
}

std::string local_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return text_of(address, /*with_port=*/true);
}

struct HostAndPort {
  std::string host;
  std::string port;
};

Result<HostAndPort> split_address(std::string_view text) {
  const auto bad = [&](std::string what) {
    return fail({.code = Code::invalid,
                 .what = std::move(what),
                 .where = std::string(text),
                 .hint = "write it as 127.0.0.1:7070, [::1]:7070 or unix:/path/of/a/socket"});
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("the port is missing");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  unsigned number = 0;
  const auto [rest, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || rest != port.data() + port.size() || number > 65'535) {
    return bad("\"" + std::string(port) + "\" is no port; ports are 0 to 65535, 0 is any");
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad("an IPv6 address stands in brackets");
  }
  if (host.empty())
    return bad("the host is missing; 0.0.0.0 is every IPv4 address of this machine");
  return HostAndPort{std::string(host), std::string(port)};
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<AddressList> look_up(const HostAndPort& name, std::string_view text) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.host.c_str(), name.port.c_str(), &wanted, &found);
  if (error == 0) return AddressList(found, &::freeaddrinfo);
  return fail(
      {.code = Code::not_found,
       .what = "this machine has no address of this name: " + std::string(::gai_strerror(error)),
       .where = std::string(text),
       .hint = "127.0.0.1 is reached from this machine only, 0.0.0.0 from everywhere"});
}

Error listen_error(std::string_view address, int error) {
  if (error == EADDRINUSE) {
    const std::string port(address.substr(address.rfind(':')));
    return {.code = Code::conflict,
            .what = "the port is in use",
            .where = std::string(address),
            .hint = "`ss -ltnp sport = " + port + "` shows by whom; port 0 takes any free one"};
  }
  Error out = system_error("listen at", std::string(address), error);
  if (error == EADDRNOTAVAIL) out.hint = "that is no address of this machine";
  if (error == EACCES) out.hint = "ports below 1024 belong to root";
  return out;
}

}  // namespace

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Error system_error(std::string_view verb, std::string where, int error) {
  std::string hint;
  if (error == ENOENT) hint = "make its folder first";
  if (error == EACCES || error == EPERM) hint = "this user lacks the right to do so";
  if (error == EMFILE || error == ENFILE) hint = "too many files are open: raise ulimit -n";
  return {.code = Code::io,
          .what = "cannot " + std::string(verb) + " it: " + std::generic_category().message(error),
          .where = std::move(where),
          .hint = std::move(hint)};
}

// --- Listening ----------------------------------------------------------------------------------

Result<ListeningSocket> ListeningSocket::tcp(std::string_view address) {
  const HostAndPort name = TRY(split_address(address));
  const AddressList found = TRY(look_up(name, address));
  Descriptor socket = open_socket(found->ai_family);
  if (!socket.valid()) return fail(listen_error(address, errno));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    return fail(listen_error(address, errno));
  }
  std::string got = local_address(socket.get());
  return ListeningSocket(std::move(socket), std::move(got));
}

Result<ListeningSocket> ListeningSocket::unix_file(const std::string& path, mode_t mode) {
  TRY(check_path(path));
  TRY(remove_stale(path));
  Descriptor socket = open_socket(AF_UNIX);
  if (!socket.valid()) return fail(system_error("listen at", path, errno));
  // Nobody else may connect before the mode is what it should be.
  ::fchmod(socket.get(), mode & 0600U);
  const sockaddr_un address = unix_address(path);
  if (::bind(socket.get(), generic(&address), sizeof address) != 0) {
    return fail(system_error("make", path, errno));
  }
  ListeningSocket out(std::move(socket), path);
  struct stat made{};
  if (::stat(path.c_str(), &made) != 0) return fail(system_error("look at", path, errno));
  out.path_ = path;
  out.device_ = made.st_dev;
  out.inode_ = made.st_ino;
  if (::chmod(path.c_str(), mode) != 0 || ::listen(out.descriptor(), backlog) != 0) {
    return fail(system_error("listen at", path, errno));
  }
  return out;
}

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(address_, other.address_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

ListeningSocket::~ListeningSocket() {
  struct stat found{};
  if (!socket_.valid() || path_.empty() || ::stat(path_.c_str(), &found) != 0) return;
  if (found.st_dev == device_ && found.st_ino == inode_) ::unlink(path_.c_str());
}

Opened accept_one(const ListeningSocket& listener) {
  Descriptor socket(
      ::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket.valid()) return {.socket = {}, .error = errno};
  if (listener.is_tcp()) set_up_tcp(socket.get());
  return {.socket = std::move(socket)};
}

Peer peer_of(int socket) {
  Peer out;
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return out;
  if (address.ss_family != AF_UNIX) {
    out.address = text_of(address, /*with_port=*/false);
    return out;
  }
  ucred who{};
  size = sizeof who;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return out;
  out.address = "uid " + std::to_string(who.uid);
  out.local = true;
  out.uid = who.uid;
  out.gid = who.gid;
  out.pid = who.pid;
  return out;
}

// --- Connecting ---------------------------------------------------------------------------------

Opened connect_tcp(const IpAddress& address) {
  sockaddr_storage to{};
  socklen_t size = 0;
  if (address.bytes.size() == 4) {
    auto& in = reinterpret_cast<sockaddr_in&>(to);
    in.sin_family = AF_INET;
    in.sin_port = htons(address.port);
    std::ranges::copy(address.bytes, reinterpret_cast<std::uint8_t*>(&in.sin_addr));
    size = sizeof in;
  } else {
    auto& in = reinterpret_cast<sockaddr_in6&>(to);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(address.port);
    std::ranges::copy(address.bytes, reinterpret_cast<std::uint8_t*>(&in.sin6_addr));
    size = sizeof in;
  }
  Descriptor socket = open_socket(to.ss_family);
  if (!socket.valid()) return {.socket = {}, .error = errno};
  set_up_tcp(socket.get());
  if (::connect(socket.get(), generic(&to), size) != 0 && errno != EINPROGRESS) {
    return {.socket = {}, .error = errno};
  }
  return {.socket = std::move(socket)};
}

Opened connect_unix(const std::string& path) {
  if (!check_path(path)) return {.socket = {}, .error = ENAMETOOLONG};
  Descriptor socket = open_socket(AF_UNIX);
  if (!socket.valid()) return {.socket = {}, .error = errno};
  const sockaddr_un to = unix_address(path);
  if (::connect(socket.get(), generic(&to), sizeof to) != 0) return {.socket = {}, .error = errno};
  return {.socket = std::move(socket)};
}

int socket_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  if (error != 0) return error;
  sockaddr_storage address{};
  size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) return 0;
  return errno == ENOTCONN ? EINPROGRESS : errno;
}

}  // namespace tutti::net
