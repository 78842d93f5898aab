/// The server's side of one connection. Internal to net/.
///
/// Bytes -> RequestParser -> on_request -> slots (one per unanswered request, in order) -> Outbox.
/// `advance` writes all that can be written and then waits for the rest; every event ends in it. It
/// never calls on_request, so that an answer may be given, or a stream fed, from anywhere.
/// A connection lives in its ServerCore's list until closed; answers hold it weakly.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/duplex_link.h"
#include "net/http_server.h"
#include "net/parser.h"
#include "net/server_core.h"
#include "net/transport.h"

namespace tutti::net {

/// Shared by an OpenStream and the slot of its request.
struct StreamState {
  /// The reader has gone: says so to the pusher, once.
  void leave(Gone why);

  EventLoop* loop = nullptr;
  Connection* connection = nullptr;  ///< Null once nobody reads.
  std::vector<std::shared_ptr<const std::string>> pending;
  std::size_t pending_bytes = 0;
  bool ended = false;      ///< By the pusher.
  bool dirty = false;      ///< On the core's list of what to write.
  Gone gone = Gone::left;  ///< Why `connection` is null.
  OpenStream::OnGone on_gone;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ServerCore& core, std::unique_ptr<Transport> transport,
             std::shared_ptr<const Peer> peer);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  Result<void> start();
  /// Answers whatever comes with this, and closes.
  void turn_away(const Refusal& refusal);

  void answer(std::uint64_t number, Response response);
  OpenStream open_stream(std::uint64_t number, Response head);
  Duplex upgrade(std::uint64_t number, std::string_view protocol, const Headers& headers);
  /// Writes what was pushed to the stream of the first slot.
  void advance();
  void cut_off();

  Instant deadline() const { return deadline_; }
  void on_deadline();
  /// The server stops: no more requests.
  void finish_up();
  void close(Gone why);

  ServerCore& core() { return core_; }
  const Peer& peer() const { return *peer_; }
  std::size_t unwritten() const { return outbox_.bytes(); }

 private:
  enum class Phase : std::uint8_t {
    none,
    handshake,
    idle,
    head,
    body,
    answering,
    writing,
    draining
  };

  struct Slot {
    std::optional<Response> response;  ///< Once there is one.
    std::shared_ptr<StreamState> stream;
    bool head = false;       ///< Of a HEAD request: no body.
    bool chunks = false;     ///< HTTP/1.1.
    std::string upgrade;     ///< The protocols that the client wants to change to.
    bool interim = false;    ///< "100 Continue", which answers nothing.
    bool head_sent = false;  ///< Of a stream.
  };

  void on_ready();
  void on_ready_soon();
  bool shake_hands();
  void read_some();
  void take(std::string_view bytes);
  std::size_t consume(std::string_view bytes);
  void consume_input();
  void dispatch();
  void forget_request();
  void refuse(const Refusal& refusal);
  void on_end_of_input();

  Slot& slot(std::uint64_t number);
  void hand_over();
  void flush_slots();
  void send_whole(Slot& slot, bool last);
  bool send_stream(Slot& slot, bool last);
  bool write_out();
  void discard(std::size_t bytes);
  void arm();
  void enter(Phase phase);
  Phase phase() const;

  bool may_take() const;
  bool may_read() const;
  bool streaming() const {
    return !slots_.empty() && slots_.back().stream && !slots_.back().stream->ended;
  }
  /// Does it hang on the last request how the bytes behind it are to be read?
  bool undecided() const {
    return streaming() || (!slots_.empty() && !slots_.back().upgrade.empty());
  }

  ServerCore& core_;
  std::unique_ptr<Transport> transport_;
  std::shared_ptr<DuplexLink>
      link_;  ///< Once the connection was handed over; it has the transport.
  std::shared_ptr<const Peer> peer_;
  Watch watch_;
  std::optional<RequestParser> parser_;  ///< While a request is on its way.
  std::string input_;                    ///< Read, not consumed; empty while idle.
  std::vector<Slot> slots_;
  std::uint64_t first_slot_ = 0;  ///< The number of the request of slots_[0].
  Outbox outbox_;
  Instant deadline_ = Instant::max();
  std::size_t discarded_ = 0;
  std::size_t counted_body_ = 0;  ///< Of the request on its way, as counted by the core.
  Phase phase_ = Phase::none;
  bool shaken_ = false;
  bool busy_ = false;      ///< Requests are being read; what they bring is written at the end.
  bool blocked_ = false;   ///< Whole requests may be left in input_.
  bool closing_ = false;   ///< No more requests are taken.
  bool draining_ = false;  ///< All was written; what still comes is thrown away.
  bool ended_ = false;     ///< The client sends no more.
  bool closed_ = false;
  bool read_waits_writable_ = false;
  bool write_waits_readable_ = false;
};

}  // namespace tutti::net
