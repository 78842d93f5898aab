/// The connection behind a Duplex. Internal to net/.
///
/// It belongs to the server's Connection or to the ClientCore, which outlive the Duplex, so that
/// what was queued is still written after that is gone; `released` tells them that it is closed.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "net/duplex.h"
#include "net/event_loop.h"
#include "net/transport.h"

namespace tutti::net {

class DuplexLink : public std::enable_shared_from_this<DuplexLink> {
 public:
  DuplexLink(EventLoop& loop, EventLoop::Task released)
      : loop_(loop), released_(std::move(released)) {}
  DuplexLink(const DuplexLink&) = delete;
  DuplexLink& operator=(const DuplexLink&) = delete;

  /// Takes the connection over: what is still to be written before anything else, and what was read
  /// behind the head. REQUIRES: once.
  void attach(std::unique_ptr<Transport> transport, Outbox first, std::string read);

  void start(Duplex::OnBytes on_bytes, Duplex::OnEnd on_end);
  bool write(std::string bytes);
  std::size_t queued() const { return outbox_.bytes() + early_.size(); }
  void on_written(EventLoop::Task call) { on_written_ = std::move(call); }
  void hold(bool held);
  void end_writing();
  bool open() const { return !closed_ && !ending_; }
  bool closed() const { return closed_; }

  /// The Duplex is gone: writes what is queued and closes.
  void let_go();
  /// Closes at once.
  void close(Result<void> why);

 private:
  void on_ready();
  void write_out();
  void read_some();
  void deliver(std::string_view bytes);
  void advance();
  void end(Result<void> why);

  EventLoop& loop_;
  EventLoop::Task released_;
  std::unique_ptr<Transport> transport_;
  Watch watch_;
  Timer linger_;
  Outbox outbox_;
  std::string early_;  ///< Written before attach.
  std::string read_;   ///< Read before start.
  Duplex::OnBytes on_bytes_;
  Duplex::OnEnd on_end_;
  EventLoop::Task on_written_;
  bool held_ = false;
  bool started_ = false;
  bool ended_ = false;   ///< The other end sends no more.
  bool ending_ = false;  ///< We send no more once the queue is empty.
  bool end_sent_ = false;
  bool orphan_ = false;  ///< The Duplex is gone.
  bool closed_ = false;
  bool busy_ = false;
  bool read_waits_writable_ = false;
  bool write_waits_readable_ = false;
};

}  // namespace tutti::net
