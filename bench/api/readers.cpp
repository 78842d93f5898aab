#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "bench/api/modes.h"
#include "net/event_loop.h"

namespace tutti::bench {
namespace {

using net::Descriptor;
using net::EventLoop;

/// The jobs are named after the time at which they were sent: "t" and microseconds.
constexpr std::string_view stamp_mark = R"("name":"t)";
constexpr std::string_view id_mark = "\nid: ";
constexpr std::size_t at_once = 10;  ///< Jobs that are sent together.

struct Reader {
  Descriptor socket;
  std::string rest;  ///< The line that has not come whole.
  std::uint64_t events = 0;
  bool ended = false;
};

std::string jobs_of_now() {
  const std::string line =
      fmt::format(R"({{"name":"t{}","gpus":64,"command":["true"],"queue":"default"}})"
                  "\n",
                  EventLoop::now().us);
  std::string out;
  for (std::size_t n = 0; n < at_once; ++n) out += line;
  return out;
}

Result<void> take_answer(int socket) {
  std::array<char, 16 << 10U> scratch;
  const ssize_t got = ::recv(socket, scratch.data(), scratch.size(), 0);
  if (got <= 0) return fail(net::system_error("read", "the connection", got < 0 ? errno : 0));
  const std::string_view answer(scratch.data(), static_cast<std::size_t>(got));
  if (!answer.starts_with("HTTP/1.1 200") || answer.contains("\"error\"")) {
    return fail(Code::conflict, std::string(answer));
  }
  return {};
}

class Audience {
 public:
  explicit Audience(const Readers& plan) : plan_(plan), poll_(::epoll_create1(EPOLL_CLOEXEC)) {}

  Result<void> all() {
    readers_.resize(plan_.count);
    for (std::size_t at = 0; at < readers_.size(); ++at) {
      readers_[at].socket = TRY(follow("now"));
      epoll_event event{.events = EPOLLIN, .data = {.u64 = at}};
      ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, readers_[at].socket.get(), &event);
    }
    slow_.socket = TRY(follow("now"));
    std::this_thread::sleep_for(std::chrono::seconds(1));
    Result<void> pushed;
    std::jthread pusher([&] { pushed = push(); });
    while (events_ < wanted() * readers_.size()) {
      if (!hear()) break;
    }
    pusher.join();
    TRY(std::move(pushed));
    TRY(read_slow());
    print();
    return {};
  }

 private:
  std::uint64_t wanted() const {
    const auto all = static_cast<double>(plan_.per_second) * plan_.seconds;
    return static_cast<std::uint64_t>(all) / at_once * at_once;
  }

  /// A reader from there on.
  Result<Descriptor> follow(std::string_view from) {
    Descriptor socket = TRY(connect_to(plan_.url));
    const bool anew = from == "now";
    const std::string headers = anew ? "" : "Last-Event-ID: " + std::string(from) + "\r\n";
    const net::Url url = plan_.url.with_target("/api/v1/events");
    TRY(send_all(socket.get(), request_text(url, plan_.token, {}, headers)));
    return socket;
  }

  /// So many jobs a second, some at a time.
  Result<void> push() {
    const Descriptor socket = TRY(connect_to(plan_.url));
    const net::Url url = plan_.url.with_target("/api/v1/jobs:batch");
    const auto gap = std::chrono::microseconds(at_once * 1'000'000 / plan_.per_second);
    auto at = std::chrono::steady_clock::now();
    for (std::uint64_t n = 0; n < wanted(); n += at_once) {
      std::this_thread::sleep_until(at += gap);
      TRY(send_all(socket.get(), request_text(url, plan_.token, jobs_of_now())));
      TRY(take_answer(socket.get()));
    }
    return {};
  }

  /// False when nothing comes any more.
  bool hear() {
    std::array<epoll_event, 256> events{};
    const int ready = ::epoll_wait(poll_.get(), events.data(), events.size(), 5'000);
    for (int at = 0; at < ready; ++at) {
      Reader& reader = readers_[events[static_cast<std::size_t>(at)].data.u64];
      const std::uint64_t before = reader.events;
      take(reader, /*timed=*/true);
      events_ += reader.events - before;
      if (!reader.ended) continue;
      ++lost_;
      ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, reader.socket.get(), nullptr);
    }
    return ready > 0;
  }

  /// Reads what is there, and counts the events whose lines are whole.
  void take(Reader& reader, bool timed) {
    std::ranges::copy(reader.rest, scratch_.begin());
    const std::size_t kept = reader.rest.size();
    const ssize_t got =
        ::recv(reader.socket.get(), scratch_.data() + kept, scratch_.size() - kept, 0);
    reader.ended = got <= 0;
    if (reader.ended) return;
    const std::int64_t now = EventLoop::now().us;
    const std::string_view text(scratch_.data(), kept + static_cast<std::size_t>(got));
    const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none.
    const char* at = text.data();
    const char* const end = at + whole;
    while (at < end) {
      const void* const found =
          ::memmem(at, static_cast<std::size_t>(end - at), stamp_mark.data(), stamp_mark.size());
      if (found == nullptr) break;
      at = static_cast<const char*>(found) + stamp_mark.size();
      std::int64_t sent = now;
      std::from_chars(at, end, sent);
      ++reader.events;
      if (timed) late_.push_back(now - sent);
    }
    reader.rest.assign(text.substr(whole));
  }

  /// What came to the slow reader before it was cut off, and what comes when it goes on there.
  Result<void> read_slow() {
    timeval patience{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(slow_.socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string all;
    for (ssize_t got = 1; got > 0;) {
      got = ::recv(slow_.socket.get(), scratch_.data(), scratch_.size(), 0);
      if (got > 0) all.append(scratch_.data(), static_cast<std::size_t>(got));
      cut_off_ = got == 0 || (got < 0 && errno == ECONNRESET);
    }
    // Only what came whole counts, and the last whole event says where to go on.
    all.resize(all.rfind("\n\n") + 2);
    for (std::size_t at = all.find(stamp_mark); at != all.npos; at = all.find(stamp_mark, at + 1)) {
      ++slow_.events;
    }
    const std::size_t id = all.rfind(id_mark);
    if (id == all.npos) return {};
    const std::size_t begin = id + id_mark.size();
    const std::string last = all.substr(begin, all.find('\n', begin) - begin);
    Reader again{.socket = TRY(follow(last))};
    ::setsockopt(again.socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (slow_.events + again.events < wanted() && !again.ended) take(again, /*timed=*/false);
    resumed_ = again.events;
    return {};
  }

  void print() {
    fmt::print(R"({{"events":{},"wanted":{},"lost_readers":{},"p50_us":{},"p99_us":{},)"
               R"("slow_cut_off":{},"slow_before":{},"slow_resumed":{},"pushed":{}}})"
               "\n",
               events_, wanted() * readers_.size(), lost_, percentile(late_, 0.5),
               percentile(late_, 0.99), cut_off_, slow_.events, resumed_, wanted());
  }

  const Readers& plan_;
  Descriptor poll_;
  std::vector<Reader> readers_;
  Reader slow_;
  std::vector<char> scratch_ = std::vector<char>(1 << 20U);
  std::vector<std::int64_t> late_;
  std::uint64_t events_ = 0;
  std::uint64_t lost_ = 0;     ///< Readers that were cut off, all but the slow one.
  std::uint64_t resumed_ = 0;  ///< Events that came when the slow one went on.
  bool cut_off_ = false;
};

}  // namespace

Result<void> measure_readers(const Readers& readers) { return Audience(readers).all(); }

}  // namespace tutti::bench
