/// Sockets by name: listening ones, connecting ones, and who is at the other end.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/descriptor.h"
#include "net/event_loop.h"
#include "net/message.h"

namespace tutti::net {

/// An open non-blocking socket that listens. Its file, if it has one, goes with it.
class ListeningSocket {
 public:
  /// "127.0.0.1:7070", "[::1]:0", "localhost:7070": a port of 0 is any free one.
  static Result<ListeningSocket> tcp(std::string_view address);
  /// A file that a dead server left behind is replaced, a living server's is not: the error names
  /// its process. `mode` says who may connect, as for chmod.
  static Result<ListeningSocket> unix_file(const std::string& path, mode_t mode);

  ListeningSocket(ListeningSocket&&) noexcept = default;
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket();

  int descriptor() const { return socket_.get(); }
  /// "127.0.0.1:43501", with the port that it got; or the path.
  const std::string& address() const { return address_; }
  bool is_tcp() const { return path_.empty(); }

 private:
  ListeningSocket(Descriptor socket, std::string address)
      : socket_(std::move(socket)), address_(std::move(address)) {}

  Descriptor socket_;
  std::string address_;
  std::string path_;  ///< Empty for TCP.
  dev_t device_ = 0;  ///< With the inode: which file is ours.
  ino_t inode_ = 0;
};

/// A socket, or errno.
struct Opened {
  Descriptor socket;
  int error = 0;
};

/// Takes one waiting connection; non-blocking, without Nagle's delay.
Opened accept_one(const ListeningSocket& listener);

/// Address, and for unix sockets the identity that the kernel vouches for.
Peer peer_of(int socket);

/// A non-blocking socket that connects. When it is writable, socket_error says whether it did.
Opened connect_tcp(const IpAddress& address);
Opened connect_unix(const std::string& path);
/// 0 when connected, else errno; also EINPROGRESS.
int socket_error(int socket);

}  // namespace tutti::net
