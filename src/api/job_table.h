/// What readers are shown of jobs: a fold of what happened, which also knows those that ended, for
/// as long as they say, or it is told.
///
/// Rows lie in the order of ids, and each state has the list of its jobs, so a page of any state
/// costs its length. Belongs to the readers' thread.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/happening.h"
#include "model/checkpoint.h"
#include "model/job.h"

namespace tutti {

enum class JobState : std::uint8_t { pending, running, succeeded, failed, cancelled, held };
inline constexpr std::size_t job_states = 6;
using JobStates = std::bitset<job_states>;
std::string_view to_text(JobState state);
std::optional<JobState> job_state_of(std::string_view word);
constexpr bool ended(JobState state) {
  return state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
}

struct TaskRow {
  TaskPhase phase = TaskPhase::pending;
  ExitCause cause = ExitCause::exited;  ///< Of the attempt that ended last.
  std::int32_t exit_code = 0;           ///< The same.
  std::uint32_t attempt = 0;
  NodeIndex node;  ///< Where it is, or was last.
  DeviceSet devices;
  Why why = Why::itself;  ///< It came to its phase.
};

struct JobRow {
  JobId id;
  JobState state = JobState::pending;
  bool held = false;
  bool cancelled = false;
  std::shared_ptr<const JobSpec> spec;
  std::string reason;  ///< Why it is in that state; empty where that says it all.
  Instant submitted;
  std::optional<Instant> started;
  std::optional<Instant> finished;
  std::vector<TaskRow> tasks;
  std::string refused;        ///< Why the backend would not start it last; empty once it ran.
  std::uint32_t running = 0;  ///< Tasks that run ...
  std::uint32_t active = 0;   ///< ... those that hold a place ...
  std::uint32_t over = 0;     ///< ... and those that ended.
};

/// Of jobs that are not over.
struct LiveJobs {
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
};

class JobTable {
 public:
  struct Keeping {
    Duration ended = Duration::seconds(std::int64_t{7} * 86'400);  ///< Where a job says nothing.
    std::size_t most = 1'000'000;                                  ///< So many ended ones.
  };
  /// Whoever waits for the end of a job must be able to see it.
  static constexpr Duration shortest = Duration::seconds(60);

  JobTable() = default;
  explicit JobTable(Keeping keeping) : keeping_(keeping) {}

  void apply(const Happening& happening);
  /// Forgets jobs whose time is over by then, and the ones that ended first where there are too
  /// many. The same jobs, whenever it is called after all that happened before.
  void forget(Instant now);

  /// None where there never was such a job, or it is forgotten.
  const JobRow* find(JobId id) const;
  bool forgot(JobId id) const { return id.value() > 0 && id < next_id() && find(id) == nullptr; }
  const Keeping& keeping() const { return keeping_; }
  /// Above every id that was given.
  JobId next_id() const { return JobId(next_); }
  /// Calls `visit` with jobs in one of these states (none: in any), the newest first, below
  /// `below`, until it returns false.
  template <class Visit>
  void each(JobStates states, JobId below, Visit&& visit) const;

  std::size_t count(JobState state) const {
    return by_state_[static_cast<std::size_t>(state)].size();
  }
  /// Jobs of this user that are not over.
  std::uint64_t live_of(std::string_view user) const {
    const auto at = live_.find(user);
    return at == live_.end() ? 0 : at->second;
  }
  /// By queue, without those below it.
  using ByQueue = std::map<std::string, LiveJobs, std::less<>>;
  const ByQueue& by_queue() const { return by_queue_; }
  bool knows_node(std::string_view name) const { return known_nodes_.contains(name); }
  const std::string& node(NodeIndex index) const { return nodes_[index.value()]; }
  std::size_t size() const { return rows_.size(); }

  /// As a section of a checkpoint, and from there, into an empty table.
  void write(CheckpointWriter& to) const;
  Result<void> read(CheckpointReader& from);

 private:
  void submitted(const Happening& happening, const JobSubmitted& event);
  void exited(const TaskExited& event);
  void moved(const TaskMove& move, Instant at);
  /// Its state follows from its tasks.
  void settle(JobRow& row, Instant at);
  void finish(JobRow& row, Instant at);
  void set_state(JobRow& row, JobState state);
  /// It comes into its state, or leaves it.
  void list(const JobRow& row);
  void unlist(const JobRow& row);
  /// None where it ended, too.
  JobRow* live(JobId id);

  Instant forgotten_at(const JobRow& row) const;

  Keeping keeping_;
  std::map<std::uint64_t, JobRow> rows_;
  std::set<std::pair<Instant, JobId>> ends_;  ///< When ended ones are forgotten.
  std::uint64_t next_ = 1;
  std::array<std::set<std::uint64_t>, job_states> by_state_;
  std::map<std::string, std::uint64_t, std::less<>> live_;  ///< Jobs by user, none of them over.
  ByQueue by_queue_;
  std::vector<std::string> nodes_;  ///< In the order of their first reports, as in Fleet.
  std::set<std::string, std::less<>> known_nodes_;
};

template <class Visit>
void JobTable::each(JobStates states, JobId below, Visit&& visit) const {
  if (states.none()) {
    for (auto at = rows_.lower_bound(below.value()); at != rows_.begin();) {
      if (!visit((--at)->second)) return;
    }
    return;
  }
  using At = std::set<std::uint64_t>::const_iterator;
  std::vector<std::pair<At, At>> lists;  // What is left of each: its begin, and where we are.
  for (std::size_t state = 0; state < job_states; ++state) {
    const std::set<std::uint64_t>& ids = by_state_[state];
    if (states[state]) lists.emplace_back(ids.begin(), ids.lower_bound(below.value()));
  }
  while (true) {
    std::pair<At, At>* newest = nullptr;
    for (std::pair<At, At>& list : lists) {
      if (list.first == list.second) continue;
      if (newest == nullptr || *std::prev(list.second) > *std::prev(newest->second)) {
        newest = &list;
      }
    }
    if (newest == nullptr || !visit(rows_.at(*--newest->second))) return;
  }
}

}  // namespace tutti
