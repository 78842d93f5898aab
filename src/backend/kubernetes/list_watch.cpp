#include "backend/kubernetes/list_watch.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "backend/kubernetes/backoff.h"
#include "backend/kubernetes/line_splitter.h"
#include "base/prng.h"
#include "net/url.h"

namespace tutti {
namespace {

constexpr Duration list_deadline = Duration::seconds(60);
/// What a server that sends all there is may think before it begins, or between two objects.
constexpr Duration fill_silence = Duration::seconds(25);
/// A watch that lived so long was no failure, though nothing came.
constexpr Duration calm_after = Duration::seconds(1);
constexpr unsigned failures_reported_at = 3;
/// Answers that are errors, to one version, after which it is given up.
constexpr unsigned refusals_of_version_max = 5;
constexpr unsigned fills_failed_max = 2;

std::string one_line(const Error& error) {
  return fmt::format("{}: {}{}{}", error.where, error.what, error.hint.empty() ? "" : "; ",
                     error.hint);
}

}  // namespace

class ListWatch::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(ApiClient& api, ListWatchSettings settings, WatchReports reports)
      : api_(api),
        settings_(std::move(settings)),
        reports_(std::move(reports)),
        prng_(settings_.seed, 0x77) {}

  void start() { pause(Duration{}); }
  void stop() {
    stopped_ = true;
    call_ = ApiCall();
    pause_.reset();
  }

 private:
  enum class Stage : std::uint8_t { listing, filling, watching };
  using TroubleKind = WatchTrouble::Kind;

  /// Calls one of the functions of the user, if it is there and we are.
  template <class Function, class... Arguments>
  void tell(const Function& function, const Arguments&... arguments) {
    if (function && !stopped_) function(arguments...);
  }
  void trouble(TroubleKind kind, std::string text) {
    tell(reports_.trouble, WatchTrouble{kind, std::move(text)});
  }

  void pause(Duration delay) {
    ++watches_;
    moved_ = false;
    begun_ = std::nullopt;
    call_ = ApiCall();
    pause_ = api_.wire().after(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->go_on();
    });
  }

  void go_on() {
    if (!version_.empty()) return watch();
    if (settings_.streams && fills_failed_ < fills_failed_max) return fill();
    whole_ = false;
    list("");
  }

  std::string query(const std::string& more) const {
    return settings_.query.empty() ? more : settings_.query + "&" + more;
  }

  // --- Lists ------------------------------------------------------------------------------------

  void list(const std::string& next) {
    stage_ = Stage::listing;
    std::string asked = whole_ ? "" : fmt::format("limit={}", settings_.page);
    if (!next.empty()) asked += "&continue=" + net::percent_encode(next);
    const bool first = next.empty();
    call_ = api_.send({.verb = Verb::list,
                       .path = settings_.path,
                       .query = query(asked),
                       .deadline = list_deadline,
                       // Further pages are not lightly given up: all would begin anew.
                       .once = first},
                      [weak = weak_from_this(), first](ApiResult<net::Response> got) {
                        const auto self = weak.lock();
                        if (self && !self->stopped_) self->take_page(std::move(got), first);
                      });
  }

  void take_page(ApiResult<net::Response> got, bool first) {
    if (!got && got.error().expired() && !first) {
      whole_ = true;
      return list("");
    }
    if (!got) return take_failure(got.error());
    if (first) tell(reports_.replace);
    const auto head = read_list(got->body, [&](std::string_view object) {
      take_item(object);
      return !stopped_;
    });
    if (stopped_) return;
    if (!head) {
      return take_failure({.status = 502, .message = head.error().what, .about = settings_.path});
    }
    if (!head->next.empty()) return list(head->next);
    finish_replace(head->version);
    if (!stopped_) watch();
  }

  void take_item(std::string_view object) {
    const auto head = read_object_head(object);
    if (!head) return trouble(TroubleKind::unreadable, unreadable(head.error(), object));
    tell(reports_.upsert, *head, object);
  }

  void finish_replace(const std::string& version) {
    version_ = version;
    refusals_ = 0;
    if (standing_ == TroubleKind::missing || standing_ == TroubleKind::denied) recover();
    tell(reports_.replaced);
    if (!std::exchange(synced_, true)) tell(reports_.synced);
  }

  // --- Watches ----------------------------------------------------------------------------------

  /// A watch that begins with all there is.
  void fill() {
    stage_ = Stage::filling;
    follow("sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    look_after_fill();
  }

  /// A server that took it for a plain watch may have nothing to say.
  void look_after_fill() {
    heard_ = false;
    pause_ = api_.wire().after(fill_silence, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self || self->stage_ != Stage::filling) return;
      if (self->heard_) return self->look_after_fill();
      self->fills_failed_ = fills_failed_max;
      self->take_failure({.message = "nothing came", .about = "watch " + self->settings_.path});
    });
  }

  void watch() {
    stage_ = Stage::watching;
    follow("resourceVersion=" + net::percent_encode(version_));
  }

  void follow(const std::string& from) {
    const std::int64_t seconds = settings_.watch_for.us / Duration::seconds(1).us;
    lines_ = LineSplitter(settings_.line_bytes_max);
    const auto with = [weak = weak_from_this()](auto what) {
      const auto self = weak.lock();
      if (self && !self->stopped_) what(*self);
    };
    call_ = api_.follow(
        {.verb = Verb::watch,
         .path = settings_.path,
         .query = query(fmt::format("watch=true&{}&allowWatchBookmarks=true&timeoutSeconds={}",
                                    from, prng_.between(seconds, 2 * seconds))),
         .silence = settings_.silence},
        {.begin = [with] { with([](Core& self) { self.take_begin(); }); },
         .body =
             [with](std::string_view piece) { with([&](Core& self) { self.take_bytes(piece); }); },
         .end =
             [with](const ApiResult<void>& end) {
               with([&](Core& self) { self.take_end(end); });
             }});
  }

  void take_begin() {
    begun_ = now();
    if (stage_ == Stage::filling) tell(reports_.replace);
  }

  Instant now() const { return api_.wire().now(); }
  bool is_calm() const { return moved_ || (begun_ && now() - *begun_ >= calm_after); }

  void take_bytes(std::string_view piece) {
    heard_ = true;
    const unsigned watch = watches_;
    lines_.feed(piece, [&](std::string_view line, bool whole) {
      if (whole) {
        take_line(line);
      } else {
        trouble(TroubleKind::unreadable,
                fmt::format("{}: an event of more than {} bytes is passed over", settings_.path,
                            settings_.line_bytes_max));
      }
      return !stopped_ && watch == watches_;
    });
    if (!stopped_ && watch == watches_ && is_calm()) recover_calm();
  }

  void take_line(std::string_view line) {
    const auto event = read_watch_event(line);
    if (!event) return trouble(TroubleKind::unreadable, unreadable(event.error(), line));
    if (event->type == WatchEvent::Type::error) {
      ApiFailure failure = read_status(event->object);
      failure.about = "watch " + settings_.path;
      if (!failure.answered()) failure.status = 500;
      return take_failure(failure);
    }
    const auto head = read_object_head(event->object);
    if (!head) return trouble(TroubleKind::unreadable, unreadable(head.error(), event->object));
    if (event->type == WatchEvent::Type::bookmark) return take_bookmark(*head);
    if (stage_ == Stage::watching) {
      // A proxy, or a server that resumes a little early, may send again what has been.
      if (!is_newer(head->version, version_)) return;
      move_to(head->version);
    }
    tell(event->type == WatchEvent::Type::deleted ? reports_.remove : reports_.upsert, *head,
         event->object);
  }

  void take_bookmark(const ObjectHead& head) {
    if (stage_ == Stage::watching) return move_to(head.version);
    if (!head.ends_initial) {
      // It knows nothing of lists that come as watches, and took this for a plain one.
      fills_failed_ = fills_failed_max;
      return pause(Duration{});
    }
    stage_ = Stage::watching;
    fills_failed_ = 0;
    finish_replace(head.version);
  }

  void move_to(const std::string& version) {
    if (version_ == version) return;
    version_ = version;
    moved_ = true;
  }

  void take_end(const ApiResult<void>& end) {
    if (!end) return take_failure(end.error());
    if (stage_ == Stage::watching && is_calm()) {
      recover_calm();
      return stopped_ ? void() : pause(Duration{});
    }
    take_failure({.message = "the watch ends at once", .about = "watch " + settings_.path});
  }

  // --- Failures ---------------------------------------------------------------------------------

  void take_failure(const ApiFailure& failure) {
    ++watches_;
    call_ = ApiCall();
    if (failure.status == 404 || failure.status == 403) return wait_for_kind(failure);
    if (is_calm()) recover_calm();
    if (stopped_) return;
    const bool busy = failure.status == 429 || failure.status == 401;
    if (stage_ == Stage::filling && (begun_ || failure.answered()) && !busy) {
      const bool not_offered = failure.status == 422 || failure.status == 400;
      fills_failed_ = not_offered ? fills_failed_max : fills_failed_ + 1;
      if (not_offered) return pause(Duration{});
    }
    const bool refused = stage_ == Stage::watching && failure.answered() && !busy && !moved_;
    refusals_ = refused ? refusals_ + 1 : 0;
    if (failure.expired() || refusals_ >= refusals_of_version_max) {
      version_.clear();
      refusals_ = 0;
    }
    const Duration delay = backoff_.next(prng_) + failure.retry_after.value_or(Duration{});
    if (backoff_.failures() == failures_reported_at && !standing_) {
      standing_ = TroubleKind::failing;
      trouble(TroubleKind::failing, one_line(failure.error()));
    }
    if (!stopped_) pause(delay);
  }

  void wait_for_kind(const ApiFailure& failure) {
    const auto kind = failure.status == 404 ? TroubleKind::missing : TroubleKind::denied;
    version_.clear();
    if (std::exchange(standing_, kind) != kind) {
      trouble(kind, one_line(failure.error()));
      if (kind == TroubleKind::missing) there_is_nothing();
    }
    if (stopped_) return;
    const std::int64_t tenth = settings_.retry_slowly.us / 10;
    pause({settings_.retry_slowly.us + prng_.between(-tenth, tenth)});
  }

  void there_is_nothing() {
    tell(reports_.replace);
    tell(reports_.replaced);
    if (!stopped_ && !std::exchange(synced_, true)) tell(reports_.synced);
  }

  /// Something came, so the next failure is a first one.
  void recover_calm() {
    backoff_.reset();
    recover();
  }
  void recover() {
    if (std::exchange(standing_, std::nullopt)) {
      trouble(TroubleKind::over, settings_.path + " is watched again");
    }
  }

  /// The text itself may be a secret, or huge.
  std::string unreadable(const Error& error, std::string_view text) const {
    return fmt::format("{}: an object of {} bytes is passed over: {}", settings_.path, text.size(),
                       error.what);
  }

  ApiClient& api_;
  ListWatchSettings settings_;
  WatchReports reports_;
  Prng prng_;
  Backoff backoff_;
  Stage stage_ = Stage::listing;
  std::string version_;  ///< Up to which everything is known; empty: nothing is.
  bool whole_ = false;   ///< The list is not to come in pages.
  bool synced_ = false;
  bool stopped_ = false;
  bool heard_ = false;  ///< Something came since it was looked after last.
  bool moved_ = false;  ///< This watch has brought a newer version.
  unsigned fills_failed_ = 0;
  unsigned refusals_ = 0;  ///< Of `version_`, in a row.
  unsigned watches_ = 0;   ///< Tells one watch from the next.
  std::optional<Instant> begun_;
  std::optional<TroubleKind> standing_;  ///< What was reported and is still so.
  LineSplitter lines_{0};
  ApiCall call_;
  Ticket pause_;
};

ListWatch::ListWatch(ApiClient& api, ListWatchSettings settings, WatchReports reports)
    : core_(std::make_shared<Core>(api, std::move(settings), std::move(reports))) {
  core_->start();
}
ListWatch::~ListWatch() { core_->stop(); }

}  // namespace tutti
