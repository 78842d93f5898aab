#include "tutti/event_reader.h"

#include <chrono>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace tutti {
namespace {

constexpr auto before_trying_again = std::chrono::milliseconds(500);
/// Four heart beats of the server.
constexpr Duration silence = Duration::seconds(60);

/// One reader through all its connections.
class Reading {
 public:
  explicit Reading(const EventTaker& taker) : taker_(taker) {}

  /// What a connection brought; true: it may be tried again.
  Result<bool> connect(const Client& client, const std::string& target) {
    sse_.restart();
    fresh_ = true;
    const Result<void> end =
        client.follow({.target = target, .last_event_id = sse_.last_id(), .silence = silence},
                      [this](std::string_view piece) { return take(piece); });
    if (failed_) return fail(*failed_);
    if (enough_) return false;
    if (!end && (!connected_ || end.error().code != Code::io)) return fail(end.error());
    return true;
  }

 private:
  Result<bool> take(std::string_view piece) {
    connected_ = true;
    if (std::exchange(fresh_, false)) note(taker_.began());
    sse_.feed(piece, [this](const net::SseReader::Message& message) {
      if (enough_) return;
      if (message.id != id_) seen_.clear();
      id_ = message.id;
      if (seen_.insert(message.data).second) note(taker_.take(message));
    });
    return !enough_;
  }
  void note(const Result<bool>& more) {
    if (!more) failed_ = more.error();
    enough_ = !more || !*more;
  }

  const EventTaker& taker_;
  net::SseReader sse_;
  std::string id_;
  std::set<std::string> seen_;  ///< With that id: what may come again.
  bool fresh_ = true;
  bool connected_ = false;  ///< Ever.
  bool enough_ = false;
  std::optional<Error> failed_;
};

}  // namespace

Result<void> read_events(const Client& client, const std::string& query, const EventTaker& taker) {
  Reading reading(taker);
  const bool once = query.find("follow=false") != query.npos;
  for (bool told = false;; told = true) {
    if (!TRY(reading.connect(client, "/api/v1/events?" + query)) || once) return {};
    if (!told) std::fputs("note: the server went away; this goes on when it is back\n", stderr);
    std::this_thread::sleep_for(before_trying_again);
  }
}

}  // namespace tutti
