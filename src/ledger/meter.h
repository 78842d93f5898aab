/// Who used how much: a fold of what tasks did, by day (UTC), user, queue and model of devices.
///
/// A task counts from its start to its end, each attempt of it, also where it failed. Amounts are
/// thousandths of a device or core, and MiB, times seconds; each piece of a day is rounded down,
/// and sums stay at the largest number rather than wrap. Cores, memory and the counts of jobs and
/// tasks belong to the first model that the task has; a job counts where it started first.
///
/// It knows the newest `days_kept` days, and single jobs as long as they run and `jobs_most` of
/// those that do not. A start costs O(log of what is kept), an end that for each of its days; a
/// report is linear in what is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "ledger/holding.h"
#include "model/checkpoint.h"

namespace tutti {

/// Counts from 1970-01-01.
using Day = std::int32_t;
Day day_of(Instant at);

struct Used {
  std::int64_t device_permille_s = 0;
  std::int64_t core_permille_s = 0;
  std::int64_t memory_mib_s = 0;
  std::int64_t jobs = 0;   ///< That started for the first time.
  std::int64_t tasks = 0;  ///< Starts of tasks.
  Used& operator+=(const Used& other);
  friend auto operator<=>(const Used&, const Used&) = default;
};

/// What a report tells apart; what it does not is empty.
struct UseKey {
  JobId job;         ///< Not valid where jobs are not told apart.
  std::string name;  ///< Of the job.
  std::string user;
  std::string queue;
  std::string model;
  friend auto operator<=>(const UseKey&, const UseKey&) = default;
};

class Meter {
 public:
  static constexpr Day days_kept = 400;
  static constexpr std::size_t jobs_most = 100'000;

  /// What an event did: all moves, and what those tasks hold that began to run by it.
  void apply(Instant at, std::span<const TaskMove> moves, std::span<const Holding> begun);

  struct Question {
    Day since = 0;
    Day until = 0;        ///< That day too.
    Instant now;          ///< What runs counts until then.
    bool by_job = false;  ///< Then by its user and queue, too.
    bool by_user = false;
    bool by_queue = false;
    bool by_model = false;
    std::function<bool(const std::string& user, const std::string& queue)> wanted;
  };
  using Report = std::vector<std::pair<UseKey, Used>>;
  /// What was used most comes first.
  Report report(const Question& question) const;

  /// As a section of a checkpoint, and from there, into an empty meter. One that was made before
  /// there was such a section leaves it empty.
  void write(CheckpointWriter& to) const;
  Result<void> read(CheckpointReader& from);

 private:
  struct Owner {
    std::string user;
    std::string queue;
    friend auto operator<=>(const Owner&, const Owner&) = default;
  };
  struct When {
    Day day = 0;
    std::string model;
    friend auto operator<=>(const When&, const When&) = default;
  };
  using Days = std::map<When, Used>;
  struct JobUse {
    std::string name;
    Owner owner;
    std::uint32_t running = 0;  ///< Tasks.
    Days days;
  };
  struct Running {
    Instant since;
    std::int64_t core_permille = 0;
    std::int64_t memory_mib = 0;
    std::vector<Holding::Part> parts;
  };

  void start(Instant at, const Holding& holding);
  void stop(Instant at, const TaskId& task);
  void book(JobUse& job, const When& when, const Used& used);
  void forget_before(Day day);
  /// Calls `visit(When, Used)` for each piece of that time, from `first` on.
  template <class Visit>
  static void each_piece(const Running& running, Instant until, Day first, Visit&& visit);
  static void write_days(BytesOut& out, const Days& days);
  static Days read_days(BytesIn& in);
  void read_running(BytesIn& in);

  Day today_ = 0;  ///< Of what happened last.
  std::map<Owner, Days> owners_;
  std::map<JobId, JobUse> jobs_;
  std::set<JobId> idle_;  ///< Of those, the ones of which nothing runs.
  std::map<TaskId, Running> running_;
};

}  // namespace tutti
