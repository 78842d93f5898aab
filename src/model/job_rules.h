/// What becomes of jobs: what they wait for, how long they may run, and what follows when a part of
/// them fails. State follows these rules; who decides placements sees only what they allow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/time.h"

namespace tutti {

using JobId = Index<struct JobIdTag, std::uint64_t>;  ///< Given at submission, never used again.

/// How a job ended.
enum class JobEnd : std::uint8_t { succeeded, failed, cancelled };
std::string_view to_text(JobEnd end);

/// A job that another one waits for, and for what of it. What cannot come true any more cancels
/// the one that waits.
struct Dependency {
  enum class On : std::uint8_t { success, failure, end, start };
  JobId job;
  On on = On::success;
  friend bool operator==(const Dependency&, const Dependency&) = default;
};
std::string_view to_text(Dependency::On on);

/// What happens to a gang when something becomes of one of its tasks; the first rule that fits.
struct GangRule {
  enum class When : std::uint8_t {
    task_failed,
    task_evicted,    ///< Its node was lost, or it had to make room.
    role_succeeded,  ///< All tasks of the role ended well.
    any,
  };
  enum class Then : std::uint8_t {
    restart_task,  ///< It alone starts anew.
    restart_gang,  ///< All of them do, after a pause.
    stop,          ///< The rest is stopped; the gang failed.
    complete,      ///< The rest is stopped; the gang ended well.
  };
  When when = When::task_failed;
  Then then = Then::restart_gang;
  std::string role;            ///< Only tasks of this one; empty: of any.
  std::int32_t exit_code = 0;  ///< Only this one; 0: any.
  friend bool operator==(const GangRule&, const GangRule&) = default;
};
std::string_view to_text(GangRule::When when);
std::string_view to_text(GangRule::Then then);

/// What becomes of a job that waits for others, fails, or takes too long. Each gang starts anew by
/// itself. Without rules, a gang that lost what it needs to stand starts anew while it has retries,
/// and else fails as a whole.
struct JobRules {
  std::vector<Dependency> after;           ///< Nothing starts before all of them came true.
  Duration run_time_max;                   ///< Of a gang, each time that it starts; zero: no limit.
  std::uint32_t retries = 0;               ///< How often a gang may start anew because it failed.
  Duration pause = Duration::seconds(10);  ///< Before the first retry; each next one is twice ...
  Duration pause_max = Duration::seconds(600);  ///< ... as long, up to this.
  std::uint32_t launches = 0;  ///< A gang fails after so many refused launches in a row; 0: never.
  std::uint32_t at_once =
      0;  ///< So many gangs, in their order, may be placed and not over; 0: all.
  std::vector<GangRule> gang_rules;
  friend bool operator==(const JobRules&, const JobRules&) = default;
};

/// The numbers first, first + step, ... up to last.
struct IndexRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t step = 1;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

}  // namespace tutti
