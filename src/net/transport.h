/// One connection's bytes, whatever carries them: TCP and unix sockets here, TLS in tls.h.
///
/// Nothing blocks. A call that cannot go on says which readiness of descriptor() to wait for; with
/// TLS reading may wait for room to write and the other way round.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/descriptor.h"

namespace tutti::net {

/// How far a call on a Transport came.
struct Progress {
  enum class State : std::uint8_t {
    done,           ///< `bytes` were moved, at least one of them (none for a handshake).
    wait_readable,  ///< Nothing was moved; try again when readable.
    wait_writable,  ///< Nothing was moved; try again when writable.
    ended,          ///< The other end will send no more.
    failed,         ///< Transport::error() says why. Close it.
  };
  State state = State::done;
  std::size_t bytes = 0;

  bool done() const { return state == State::done; }
  bool waits() const { return state == State::wait_readable || state == State::wait_writable; }
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual int descriptor() const = 0;
  /// What must happen before reading and writing: nothing for a plain socket. Call until done.
  virtual Progress handshake() { return {}; }
  virtual Progress read(std::span<char> to) = 0;
  virtual Progress write(std::span<const iovec> from) = 0;
  /// May read() have more although the descriptor is not readable?
  virtual bool buffered() const { return false; }
  /// The other end learns that nothing more comes; reading goes on.
  virtual void end_writing() = 0;
  /// The subject of the verified certificate of the other end, or empty.
  virtual std::string certificate() const { return {}; }
  /// Why a call failed: what, and maybe a hint.
  virtual Error error() const = 0;
};

/// TCP or unix. REQUIRES: a connected non-blocking socket.
std::unique_ptr<Transport> socket_transport(Descriptor socket);

/// Bytes that wait to be written, in order: small ones are joined, shared ones are not copied.
class Outbox {
 public:
  void add(std::string bytes);
  void add(std::shared_ptr<const std::string> bytes);

  bool empty() const { return bytes_ == 0; }
  std::size_t bytes() const { return bytes_; }
  /// Writes until all is written (then the state is done), the socket is full, or it failed.
  Progress flush(Transport& to);

 private:
  struct Piece {
    std::string own;
    std::shared_ptr<const std::string> shared;  ///< If set, instead of `own`.
    std::string_view text() const { return shared ? *shared : own; }
  };

  void written(std::size_t bytes);

  std::vector<Piece> pieces_;
  std::size_t first_ = 0;   ///< Pieces before it are written.
  std::size_t offset_ = 0;  ///< Of `first_`, this much is written.
  std::size_t bytes_ = 0;
};

}  // namespace tutti::net
