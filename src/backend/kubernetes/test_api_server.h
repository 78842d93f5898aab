/// For the tests of backend/kubernetes/: an API server that holds objects of one kind, their
/// versions and a bounded history, and fails by a seed.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/kubernetes/test_objects.h"
#include "backend/kubernetes/test_wire.h"
#include "base/prng.h"

namespace tutti::test {

class SimApiServer {
 public:
  /// In thousandths.
  struct Faults {
    std::uint32_t lost = 0;       ///< No answer comes to a request.
    std::uint32_t refused = 0;    ///< 429, 500 or 503.
    std::uint32_t slow = 0;       ///< An answer or an event takes up to 10 s.
    std::uint32_t cut = 0;        ///< A stream ends in the middle of an event.
    std::uint32_t stuck = 0;      ///< A stream says nothing more.
    std::uint32_t twice = 0;      ///< An event is sent again.
    std::uint32_t forgotten = 0;  ///< Of the history, nothing is left: at each event.
    std::uint32_t error = 0;      ///< An ERROR event.
  };

  SimApiServer(VirtualTime& time, SimWire& wire, std::uint64_t seed = 1)
      : time_(time), prng_(seed, 5) {
    wire.on_request = [this](const WireRequest& request) { return answer(request); };
    wire.on_stream = [this](const std::shared_ptr<FarStream>& stream) { open(stream); };
    remind();
  }

  void set(const std::string& name, const std::string& uid) {
    const char* const type = objects_.contains(name) ? "MODIFIED" : "ADDED";
    objects_[name] = object_of(name, uid, ++version_);
    happen(type, objects_[name]);
  }
  void remove(const std::string& name) {
    if (objects_.erase(name) > 0) happen("DELETED", object_of(name, "", ++version_));
  }
  /// Something happens to objects of other kinds.
  void pass_versions(std::uint64_t count) { version_ += count; }
  /// A watch from before now is told that it comes too late.
  void forget_history() {
    history_.clear();
    oldest_ = version_;
    pages_.clear();
  }
  /// As those who watch it should see it: the objects by name.
  const std::map<std::string, std::string>& objects() const { return objects_; }

  Faults faults;
  bool streams_lists = true;
  int absent = 0;   ///< Every request is answered so (404, 403), unless 0.
  int lists = 0;    ///< How often everything was asked for: whole, by pages, or as a watch.
  int expired = 0;  ///< How often 410 was said.
  unsigned history_max = 50;
  Duration bookmark_every = Duration::seconds(60);

 private:
  struct Event {
    std::uint64_t version;
    std::string line;
  };

  SimWire::Answer answer(const WireRequest& request) {
    SimWire::Answer out{.response = list(request)};
    if (prng_.chance(faults.slow)) out.delay = {prng_.between(0, 10'000'000)};
    if (prng_.chance(faults.lost)) out.response = fail(Code::io, "the connection was reset");
    return out;
  }
  std::optional<net::Response> refusal() {
    if (absent != 0) return status_of(absent, absent == 404 ? "NotFound" : "Forbidden");
    if (!prng_.chance(faults.refused)) return std::nullopt;
    constexpr std::array codes{429, 500, 503};
    return status_of(codes[prng_.below(codes.size())], "Trouble");
  }
  net::Response expire() {
    ++expired;
    return status_of(410, "Expired");
  }

  net::Response list(const WireRequest& request) {
    const std::string next = parameter(request, "continue");
    if (next.empty()) ++lists;
    if (auto refused = refusal()) return *std::move(refused);
    const std::size_t limit = number_of(parameter(request, "limit"));
    std::vector<std::string> all;
    std::uint64_t at = version_;
    if (next.empty()) {
      for (const auto& [name, json] : objects_) all.push_back(json);
    } else {
      const auto page = pages_.find(next);
      if (page == pages_.end()) return expire();
      std::tie(at, all) = page->second;
    }
    std::string more;
    std::string items;
    for (std::size_t n = 0; n < all.size() && (limit == 0 || n < limit); ++n) {
      items += (n == 0 ? "" : ",") + all[n];
    }
    if (limit > 0 && all.size() > limit) {
      more = fmt::format("page+{}=", ++page_count_);
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(limit));
      pages_[more] = {at, std::move(all)};
    }
    return {.body = fmt::format(R"({{"kind":"List","metadata":{{"resourceVersion":"{}",)"
                                R"("continue":"{}"}},"items":[{}]}})",
                                at, more, items)};
  }

  void open(const std::shared_ptr<FarStream>& stream) {
    const bool fills = !parameter(stream->request(), "sendInitialEvents").empty();
    if (fills && streams_lists) ++lists;
    std::optional<net::Response> no = refusal();
    if (!no && fills && !streams_lists) no = status_of(422, "Invalid");
    const std::uint64_t from = number_of(parameter(stream->request(), "resourceVersion"));
    const bool late = !fills && from < oldest_;
    if (!no && late && prng_.chance(500)) no = expire();
    if (no) {
      net::Response head = *no;
      head.body.clear();
      stream->head(head);
      stream->body(no->body);
      return stream->end();
    }
    stream->head({});
    if (late) return stream->body(line_of("ERROR", expire().body));
    watchers_.push_back(stream);
    const std::uint64_t seconds = number_of(parameter(stream->request(), "timeoutSeconds"));
    stops_.push_back(time_.after(Duration::seconds(static_cast<std::int64_t>(seconds)),
                                 [stream] { stream->end(); }));
    for (const Event& event : history_) {
      if (!fills && event.version > from) send(stream, event.line);
    }
    if (!fills) return;
    for (const auto& [name, json] : objects_) send(stream, line_of("ADDED", json));
    send(stream, bookmark_of(version_, /*ends_initial=*/true));
  }

  void happen(const char* type, const std::string& json) {
    history_.push_back({.version = version_, .line = line_of(type, json)});
    if (history_.size() > history_max) {
      oldest_ = history_.front().version;
      history_.pop_front();
    }
    std::erase_if(watchers_, [](const auto& one) { return !one->open(); });
    for (const auto& stream : std::vector(watchers_)) send(stream, history_.back().line);
    if (prng_.chance(faults.forgotten)) forget_history();
  }

  void send(const std::shared_ptr<FarStream>& stream, const std::string& line) {
    if (std::ranges::find(watchers_, stream) == watchers_.end()) return;
    if (prng_.chance(faults.error)) {
      stream->body(line_of("ERROR", status_of(500, "InternalError").body));
      std::erase(watchers_, stream);
    } else if (prng_.chance(faults.cut)) {
      stream->body(line.substr(0, prng_.below(static_cast<std::uint32_t>(line.size()))));
      stream->end(fail(Code::io, "the connection was reset"));
      std::erase(watchers_, stream);
    } else if (prng_.chance(faults.stuck)) {
      std::erase(watchers_, stream);
    } else {
      if (prng_.chance(faults.slow)) stream->stall({prng_.between(0, 10'000'000)});
      const std::string all = prng_.chance(faults.twice) ? line + line : line;
      const std::size_t half = prng_.below(static_cast<std::uint32_t>(all.size()));
      stream->body(all.substr(0, half));
      stream->body(all.substr(half));
    }
  }

  void remind() {
    reminder_ = time_.after(bookmark_every, [this] {
      for (const auto& stream : std::vector(watchers_)) send(stream, bookmark_of(version_));
      remind();
    });
  }

  VirtualTime& time_;
  Prng prng_;
  std::uint64_t version_ = 100;
  std::uint64_t oldest_ = 0;  ///< Watches from before it come too late.
  std::map<std::string, std::string> objects_;
  std::deque<Event> history_;
  std::vector<std::shared_ptr<FarStream>> watchers_;
  std::map<std::string, std::pair<std::uint64_t, std::vector<std::string>>> pages_;
  unsigned page_count_ = 0;
  std::vector<Ticket> stops_;
  Ticket reminder_;
};

}  // namespace tutti::test
