/// All objects of one kind, and from then on what changes: a list and a watch that never end.
///
///   const ListWatch pods(api, {.path = "/api/v1/pods"}, {.upsert = ..., .remove = ...});
///
/// - First all objects: as a watch that begins with them where the server offers that, else as a
///   list in pages; a page that came too late (410) makes it one whole list.
/// - Then changes, from the version of the list on. A watch that ends, breaks, or says nothing for
///   a while goes on from the last version; only when the server no longer knows that (410), or
///   answers nothing but errors to it, everything is asked for anew.
/// - Failures in a row are slowed down, with jitter, until something comes again. A kind that does
///   not exist (404; then there is nothing of it) or that we may not see (403) is reported once,
///   and asked for every half a minute.
/// - An object that cannot be read is reported and passed over.
///
/// Nothing is stored but the version. Each callback may drop the ListWatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backend/kubernetes/api_client.h"
#include "backend/kubernetes/watch_event.h"
#include "base/time.h"

namespace tutti {

struct WatchTrouble {
  enum class Kind : std::uint8_t {
    missing,     ///< The server does not know this kind.
    denied,      ///< We may not see it.
    failing,     ///< It does not work, several times in a row. It is tried on.
    unreadable,  ///< One object, which was passed over.
    over,        ///< What was said before is no longer so.
  };
  Kind kind = Kind::failing;
  std::string text;
};

/// Whom a ListWatch tells; each may be empty. Objects are JSON, which may lack kind and apiVersion.
struct WatchReports {
  /// All objects follow. Begins anew when it comes again before its end.
  std::function<void()> replace;
  /// What was not upserted since `replace` has gone.
  std::function<void()> replaced;
  /// Added or changed, or still there; the same may come twice.
  std::function<void(const ObjectHead& head, std::string_view object)> upsert;
  /// Gone, with its last state; maybe one that was never upserted.
  std::function<void(const ObjectHead& head, std::string_view object)> remove;
  /// The first `replaced` has come. Once.
  std::function<void()> synced;
  std::function<void(const WatchTrouble&)> trouble;
};

struct ListWatchSettings {
  std::string path;     ///< "/api/v1/pods"
  std::string query;    ///< Of every request, encoded: "fieldSelector=...". May be empty.
  bool streams = true;  ///< May lists come as watches?
  unsigned page = 500;
  /// A watch that says nothing for so long has died. Servers send a bookmark each minute.
  Duration silence = Duration::seconds(150);
  /// The server ends a watch after this, or up to twice as much.
  Duration watch_for = Duration::seconds(300);
  Duration retry_slowly = Duration::seconds(30);
  std::size_t line_bytes_max = std::size_t{32} << 20U;
  std::uint64_t seed = 1;  ///< Of the jitter.
};

class ListWatch {
 public:
  /// Begins soon. `api` must outlive it.
  ListWatch(ApiClient& api, ListWatchSettings settings, WatchReports reports);
  ListWatch(const ListWatch&) = delete;
  ListWatch& operator=(const ListWatch&) = delete;
  ~ListWatch();

 private:
  class Core;
  std::shared_ptr<Core> core_;
};

}  // namespace tutti
