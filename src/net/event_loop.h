/// One thread's loop over sockets, timers and tasks: everything in net/ happens on it.
///
/// The thread that calls run() is the loop's thread. Only post() and stop() may be called from
/// elsewhere. Callbacks run one after the other, never inside the call that asked for them, and may
/// destroy the object that called them. Timers and watches may not outlive the loop.
///
///   EventLoop loop;
///   const Timer tick = loop.after(Duration::seconds(1), [&] { loop.stop(); });
///   loop.run();
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tutti::net {

/// A callback that is still to come; it never comes once this object is gone.
class Timer {
 public:
  Timer() = default;
  Timer(Timer&&) noexcept;
  Timer& operator=(Timer&&) noexcept;
  ~Timer();

  /// Did it neither come nor end?
  bool waiting() const;

 private:
  friend class EventLoop;
  struct State;
  explicit Timer(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// Calls back as long as a descriptor is ready for what is wanted of it, which is nothing at first.
/// The descriptor stays the caller's, and must stay open for as long as this object lives.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();

  void want(bool readable, bool writable);

 private:
  friend class EventLoop;
  struct State;
  explicit Watch(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

/// An address of a TCP service: 4 bytes of IPv4 or 16 of IPv6.
struct IpAddress {
  std::vector<std::uint8_t> bytes;
  std::uint16_t port = 0;
};

class EventLoop {
 public:
  using Task = std::move_only_function<void()>;
  using Resolved = std::move_only_function<void(Result<std::vector<IpAddress>>)>;

  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  /// Until stop(), also when there is nothing to do. May be called again afterwards.
  void run();
  /// Ends run(), or the next one. From any thread, and from signal handlers.
  void stop();
  /// Runs `task` on the loop's thread, in the order of the calls. From any thread.
  void post(Task task);
  /// Is this the loop's thread, or does no thread run it?
  bool here() const;

  /// Counts from an unknown start and never goes back.
  static Instant now();
  [[nodiscard]] Timer after(Duration delay, Task task);
  /// Calls `ready` while `descriptor` (a socket, pipe, pidfd, epoll, signalfd ...) is what
  /// Watch::want asked for. Its flags stay as they are: reads may block if it is not O_NONBLOCK.
  Result<Watch> watch(int descriptor, Task ready);
  /// The addresses of a host, in the order in which they should be tried. Never blocks the loop;
  /// the callback comes even when nobody waits any more.
  void resolve(std::string_view host, std::uint16_t port, Resolved done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tutti::net
