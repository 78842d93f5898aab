/// A connection that two ends use as they like, bytes in both directions: what is left of HTTP
/// after "101 Switching Protocols". The same on both ends.
///
///   duplex.start([&](std::string_view bytes) { terminal.write(bytes); },
///                [&](Result<void> end) { ... });
///   duplex.write("ls\n");
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tutti::net {

class DuplexLink;

class Duplex {
 public:
  using OnBytes = std::move_only_function<void(std::string_view)>;
  using OnEnd = std::move_only_function<void(Result<void>)>;

  Duplex() = default;
  explicit Duplex(std::shared_ptr<DuplexLink> link) : link_(std::move(link)) {}
  Duplex(Duplex&&) noexcept = default;
  Duplex& operator=(Duplex&& other) noexcept;
  /// What is queued is still written; no callback comes any more.
  ~Duplex();

  /// Nothing is read before. `on_end` comes once: when the other end has sent all that it will, or
  /// with an error when the connection broke.
  void start(OnBytes on_bytes, OnEnd on_end);
  /// Queues bytes. False when they can no longer be sent.
  bool write(std::string bytes);
  /// Bytes queued and not yet taken by the system: who writes much waits until they are few.
  std::size_t queued() const;
  /// Calls each time all that was queued has been written.
  void on_written(std::move_only_function<void()> call);
  /// While held nothing is read, so that the other end has to wait.
  void hold(bool held);
  /// The other end learns that no more comes, once all is written; reading goes on.
  void end_writing();
  bool open() const;

 private:
  std::shared_ptr<DuplexLink> link_;
};

}  // namespace tutti::net
