/// The answer to one request: a whole response, a stream that stays open, or a connection taken
/// over.
///
/// Exactly one of these is given, now or later. An Answer that is dropped answers 500 by itself, so
/// no request is ever forgotten. Answers to pipelined requests go out in the order of the requests,
/// in whatever order they are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/duplex.h"
#include "net/message.h"

namespace tutti::net {

class Connection;
class EventLoop;
struct StreamState;

/// Why nobody reads a stream any more.
enum class Gone : std::uint8_t {
  left,      ///< The reader closed, or the connection broke.
  too_slow,  ///< It fell behind by more than ServerLimits::stream_bytes, and was cut off.
  stopping,  ///< The server stops.
};

/// The body of a response that is written bit by bit: Server-Sent Events, a log that is followed.
/// Ends properly when finished or dropped.
class OpenStream {
 public:
  using OnGone = std::move_only_function<void(Gone)>;

  OpenStream() = default;
  OpenStream(OpenStream&&) noexcept = default;
  OpenStream& operator=(OpenStream&& other) noexcept;
  ~OpenStream() { finish(); }

  /// Queues a chunk, which many streams may share; written together with those that follow within
  /// StreamSettings::coalesce. False when nobody reads any more. O(1), no system call unless that
  /// is 0.
  bool push(std::shared_ptr<const std::string> chunk);
  bool push(std::string chunk);
  void finish();

  bool open() const;
  /// Bytes that the reader has not taken yet.
  std::size_t queued() const;
  /// `call` comes once, when the reader goes; not after finish().
  void on_gone(OnGone call);

 private:
  friend class Answer;
  friend class Connection;
  explicit OpenStream(std::shared_ptr<StreamState> state) : state_(std::move(state)) {}
  std::shared_ptr<StreamState> state_;
};

class Answer {
 public:
  Answer() = default;
  Answer(Answer&& other) noexcept { *this = std::move(other); }
  Answer& operator=(Answer&& other) noexcept;
  /// May happen in any thread; everything else belongs to the loop's.
  ~Answer();

  /// REQUIRES, as for the others: no answer was given. Nothing happens when the client has gone.
  void send(Response response);
  /// Sends status and headers and leaves the body open.
  OpenStream stream(Response head);

  /// Answers 101 and hands the connection over. Where the client did not ask for `protocol` (in the
  /// headers Connection and Upgrade), or asked behind other requests, it is refused with 426 and
  /// what is returned is not open.
  Duplex upgrade(std::string_view protocol, const Headers& headers = {});

  /// Has the client gone, so that nobody will see an answer?
  bool gone() const;

 private:
  friend class Connection;
  Answer(EventLoop& loop, std::weak_ptr<Connection> connection, std::uint64_t number)
      : loop_(&loop), connection_(std::move(connection)), number_(number) {}
  /// Marks the answer as given.
  EventLoop& settle();

  EventLoop* loop_ = nullptr;  ///< Null once answered.
  std::weak_ptr<Connection> connection_;
  std::uint64_t number_ = 0;  ///< Of the request on its connection.
};

}  // namespace tutti::net
