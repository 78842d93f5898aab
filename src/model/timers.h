/// What is to happen to gangs at a later moment. Of each kind a gang has at most one timer.
/// Setting, clearing and taking cost O(log n).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/time.h"
#include "model/job.h"

namespace tutti {

class Timers {
 public:
  enum class Kind : std::uint8_t {
    pause_over,  ///< The gang may be placed again.
    time_up,     ///< It ran as long as it may.
  };
  struct Timer {
    Instant at;
    GangIndex gang;
    Kind kind = Kind::pause_over;
    friend auto operator<=>(const Timer&, const Timer&) = default;
  };

  /// Instead of the one that it has, if it has one.
  void set(const Timer& timer) {
    clear(timer.gang, timer.kind);
    by_gang_[{timer.gang, timer.kind}] = timer.at;
    by_time_.insert(timer);
  }
  void clear(GangIndex gang, Kind kind) {
    const auto found = by_gang_.find({gang, kind});
    if (found == by_gang_.end()) return;
    by_time_.erase({.at = found->second, .gang = gang, .kind = kind});
    by_gang_.erase(found);
  }
  /// Takes the first that is due, or none.
  std::optional<Timer> take(Instant now) {
    if (by_time_.empty() || by_time_.begin()->at > now) return std::nullopt;
    const Timer first = *by_time_.begin();
    clear(first.gang, first.kind);
    return first;
  }

  std::optional<Instant> next() const {
    if (by_time_.empty()) return std::nullopt;
    return by_time_.begin()->at;
  }
  std::optional<Instant> of(GangIndex gang, Kind kind) const {
    const auto found = by_gang_.find({gang, kind});
    if (found == by_gang_.end()) return std::nullopt;
    return found->second;
  }
  const std::set<Timer>& all() const { return by_time_; }

 private:
  std::set<Timer> by_time_;
  std::map<std::pair<GangIndex, Kind>, Instant> by_gang_;
};

}  // namespace tutti
