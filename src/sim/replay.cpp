#include "sim/replay.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

constexpr std::size_t moments_max = 512;

/// Something that will be said to the engine. Ends come before arrivals of the same instant, so
/// that what is freed is there for them; `order` makes the order total.
struct Due {
  Instant at;
  bool arrival = false;
  std::uint64_t order = 0;
  std::size_t job = 0;  ///< Of the arrival.
  TaskId task;
  std::uint32_t attempt = 0;

  friend bool operator>(const Due& a, const Due& b) {
    return std::tie(a.at, a.arrival, a.order) > std::tie(b.at, b.arrival, b.order);
  }
};

/// Levels over time, thinned out by ever longer gaps.
class Timeline {
 public:
  void note(double at_s, double allocated_percent, std::uint64_t queued) {
    const Report::Moment now{at_s, allocated_percent, queued};
    if (!moments_.empty() && at_s - moments_.back().at_s < gap_s_ && moments_.size() > 1) {
      moments_.back().allocated_percent = allocated_percent;
      moments_.back().queued_jobs = queued;
      return;
    }
    moments_.push_back(now);
    if (moments_.size() > moments_max) thin_out();
  }
  std::vector<Report::Moment> take() { return std::move(moments_); }

 private:
  void thin_out() {
    gap_s_ = std::max(2 * gap_s_, 2 * (moments_.back().at_s / moments_max));
    std::vector<Report::Moment> kept;
    for (const Report::Moment& moment : moments_) {
      if (kept.empty() || moment.at_s - kept.back().at_s >= gap_s_) kept.push_back(moment);
    }
    moments_ = std::move(kept);
  }

  double gap_s_ = 0;
  std::vector<Report::Moment> moments_;
};

Report::Wait summed(std::vector<double> waits) {
  Report::Wait out;
  if (waits.empty()) return out;
  std::ranges::sort(waits);
  for (const double wait : waits) out.mean += wait / static_cast<double>(waits.size());
  const auto at = [&](std::size_t percent) {  // The smallest wait that so many % do not exceed.
    const std::size_t rank = (waits.size() * percent + 99) / 100;
    return waits[std::max<std::size_t>(rank, 1) - 1];
  };
  out.p50 = at(50);
  out.p95 = at(95);
  out.p99 = at(99);
  out.max = waits.back();
  return out;
}

class Replay final : public Backend {
 public:
  Replay(const FleetFile& fleet, const Workload& workload, const PolicyRecipe& policy)
      : fleet_(fleet),
        workload_(workload),
        factory_(policy),
        engine_(journal_, *this, factory_),
        gpu_milli_(gpu_milli_of(fleet)),
        jobs_(workload.jobs.size()) {}

  Result<ReplayResult> run(const ReplayOptions& options) {
    if (workload_.jobs.empty()) return fail(Code::invalid, "the workload has no jobs");
    map_ = options.map;
    end_ = options.end;
    first_ = std::ranges::min_element(workload_.jobs, {}, &Submission::at)->at;
    last_ = std::ranges::max_element(workload_.jobs, {}, &Submission::at)->at;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      due_.push({workload_.jobs[job].at, true, order_++, job, {}, 0});
    }
    std::vector<Event> fleet = TRY(fleet_events(fleet_, workload_, options.seed));
    TRY(say(std::move(fleet), first_));
    const bool bounded = options.until < Duration::max();
    const Instant end = bounded ? first_ + options.until : Instant::max();
    while (!due_.empty() && due_.top().at <= end) TRY(step_at(due_.top().at));
    if (bounded) advance(end);
    return finish();
  }

  void execute(const Action& action, const State& state) override {
    if (action.kind == ActionKind::evict) {
      exits_now_.push_back(TaskExited{action.task, action.attempt, stopped_exit_code});
      return;
    }
    if (action.kind != ActionKind::place) return;
    started_.push_back(TaskStarted{action.task, action.attempt});
    ++result_.decisions;
    const std::size_t number = action.task.job.value();
    count_start(jobs_[number], state, state.find(action.task));
    const Duration length = workload_.jobs[number].length;
    if (length.us == 0) return;
    due_.push({state.now() + length, false, order_++, number, action.task, action.attempt});
  }
  std::vector<Observed> observe() override { return {}; }

 private:
  static constexpr std::int32_t stopped_exit_code = 143;

  struct JobTrack {
    bool arrived = false;
    bool started = false;
    bool finished = false;
    std::uint32_t gangs_started = 0;
    Instant start;
    std::vector<bool> gang_started;
  };

  void count_start(JobTrack& track, const State& state, TaskIndex task) {
    const GangIndex gang = state.tasks()[task].gang;
    const Job& job = state.jobs()[state.gangs()[gang].job];
    track.gang_started.resize(job.gangs);
    const std::uint32_t row = gang.value() - job.first_gang.value();
    if (track.gang_started[row]) return;
    track.gang_started[row] = true;
    if (++track.gangs_started < job.gangs) return;
    track.started = true;
    track.start = state.now();
    --queued_;
  }

  /// Time passes; what is allocated counts until now.
  void advance(Instant now) {
    allocated_us_ += static_cast<double>(allocated_) * static_cast<double>((now - now_).us);
    now_ = now;
  }

  Result<void> step_at(Instant now) {
    advance(now);
    if (now == last_ && last_ > first_) keep_utilisation();
    std::vector<Event> inbox;
    std::vector<std::size_t> ended;
    while (!due_.empty() && due_.top().at == now) {
      const Due due = due_.top();
      due_.pop();
      if (due.arrival) {
        const Submission& job = workload_.jobs[due.job];
        inbox.emplace_back(JobSubmitted{JobId(due.job), with_after(job.spec, job.after)});
        jobs_[due.job].arrived = true;
        ++queued_;
        ++arrived_;
      } else {
        inbox.emplace_back(TaskExited{due.task, due.attempt, 0});
        ended.push_back(due.job);
      }
    }
    TRY(say(std::move(inbox), now));
    for (const std::size_t job : ended) {
      const bool finished = !engine_.state().find(JobId(job)).valid();
      if (finished && !jobs_[job].finished) ++result_.trace.finished;
      jobs_[job].finished |= finished;
    }
    note();
    if (arrived_ == jobs_.size() && result_.left_by_model.empty()) keep_end();
    return {};
  }

  /// Of the time until now.
  void keep_utilisation() {
    const double all = static_cast<double>(gpu_milli_) * static_cast<double>((now_ - first_).us);
    result_.trace.utilisation_percent = all > 0 ? 100 * allocated_us_ / all : allocated_percent();
  }

  void keep_end() {
    result_.left_by_model = left_by_model(engine_.state());
    if (map_) result_.map = node_map(fleet_, engine_.state());
  }

  /// One step, and those in which the backend reports what it did of it.
  Result<void> say(std::vector<Event> inbox, Instant now) {
    now_ = now;
    while (!inbox.empty()) {
      const Engine::Step step = TRY(engine_.step(inbox, now));
      if (!step.refused.empty()) return fail(step.refused.front().why);
      inbox.assign(started_.begin(), started_.end());
      inbox.insert(inbox.end(), exits_now_.begin(), exits_now_.end());
      started_.clear();
      exits_now_.clear();
    }
    allocated_ = 0;
    const State& state = engine_.state();
    for (std::size_t at = 0; at < state.queue_count(); ++at) {
      if (state.queue(QueueIndex(at)).parent.valid()) continue;  // Counted above.
      allocated_ += state.queue_usage(QueueIndex(at)).gpu_milli;
    }
    return {};
  }

  double allocated_percent() const {
    if (gpu_milli_ == 0) return 0;
    return 100.0 * static_cast<double>(allocated_) / static_cast<double>(gpu_milli_);
  }
  void note() { timeline_.note((now_ - first_).in_seconds(), allocated_percent(), queued_); }

  Result<ReplayResult> finish() {
    timeline_.note((now_ - first_).in_seconds(), allocated_percent(), queued_);
    std::vector<double> waits;
    for (std::size_t at = 0; at < jobs_.size(); ++at) {
      if (!jobs_[at].arrived) continue;
      ++result_.trace.jobs;
      if (!jobs_[at].started) {
        ++result_.not_started;
        result_.never_started.push_back(at);
      }
      const Instant start = jobs_[at].started ? jobs_[at].start : now_;
      waits.push_back((start - workload_.jobs[at].at).in_seconds());
    }
    result_.trace.wait_s = summed(std::move(waits));
    result_.trace.makespan_s = (now_ - first_).in_seconds();
    if (last_ == first_ || arrived_ < jobs_.size()) keep_utilisation();
    result_.trace.over_time = timeline_.take();
    if (result_.left_by_model.empty()) keep_end();
    result_.state_hash = engine_.state().hash();
    if (end_ && result_.not_started > 0) {
      result_.end = std::make_shared<const State>(engine_.state());
    }
    return std::move(result_);
  }

  const FleetFile& fleet_;
  const Workload& workload_;
  RecipeFactory factory_;
  NullJournal journal_;
  Engine engine_;
  std::int64_t gpu_milli_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::uint64_t order_ = 0;
  std::vector<TaskStarted> started_;   ///< To be reported at once.
  std::vector<TaskExited> exits_now_;  ///< The same.
  std::vector<JobTrack> jobs_;         ///< By position in the workload, which is the job's id.
  Instant first_;                      ///< Arrival ...
  Instant last_;                       ///< ... and last.
  Instant now_;
  std::int64_t allocated_ = 0;
  double allocated_us_ = 0;  ///< ‰ of devices times microseconds; a report's figure.
  std::uint64_t queued_ = 0;
  std::size_t arrived_ = 0;
  bool map_ = false;
  bool end_ = false;
  Timeline timeline_;
  ReplayResult result_;
};

}  // namespace

Result<ReplayResult> replay(const FleetFile& fleet, const Workload& workload,
                            const PolicyRecipe& policy, const ReplayOptions& options) {
  TRY(check_recipe(policy));
  return Replay(fleet, workload, policy).run(options);
}

std::int64_t peak_demand_milli(const Workload& workload) {
  std::map<Instant, std::int64_t> changes;
  for (const Submission& job : workload.jobs) {
    changes[job.at] += job.gpu_milli;
    if (job.length.us > 0) changes[job.at + job.length] -= job.gpu_milli;
  }
  std::int64_t now = 0;
  std::int64_t peak = 0;
  for (const auto& [at, change] : changes) peak = std::max(peak, now += change);
  return peak;
}

bool has_lengths(const Workload& workload) {
  return std::ranges::any_of(workload.jobs,
                             [](const Submission& job) { return job.length.us > 0; });
}

}  // namespace tutti
