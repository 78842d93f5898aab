#include "sim/fill.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"
#include "engine/engine.h"
#include "policy/fragmentation.h"
#include "sim/fleet_view.h"

namespace tutti {
namespace {

enum FillStream : std::uint64_t { job_order = 2, tuning = 3 };  // 1 is the order of the nodes.

/// Of the target mix: as published, its rarest 5 % do not count.
constexpr std::int64_t cover_percent = 95;

/// Starts everything at once and never reports: the tasks of this experiment run for ever.
class EndlessBackend final : public Backend {
 public:
  void execute(const Action&, const State&) override {}
  std::vector<Observed> observe() override { return {}; }
};

/// Jobs in random order, repeated or thinned out until they ask for `target` ‰ of devices.
std::vector<const Submission*> tuned(const Workload& workload, std::int64_t target,
                                     std::uint64_t seed) {
  std::vector<const Submission*> jobs;
  for (const Submission& job : workload.jobs) jobs.push_back(&job);
  std::ranges::sort(jobs, {},
                    [](const Submission* job) -> const std::string& { return job->spec->name; });
  const std::vector<const Submission*> original = jobs;
  Prng order(seed, job_order);
  shuffle(std::span(jobs), order);
  std::int64_t sum = 0;
  for (const Submission* job : jobs) sum += job->gpu_milli;
  Prng prng(seed, tuning);
  const auto any = [&](std::size_t size) { return prng.below(static_cast<std::uint32_t>(size)); };
  while (sum > target && !jobs.empty()) {
    const std::size_t victim = any(jobs.size());
    sum -= jobs[victim]->gpu_milli;
    jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(victim));
  }
  // A workload without accelerators could be repeated for ever.
  const bool repeats = sum > 0;
  while (repeats && sum < target) {
    const Submission* extra = original[any(original.size())];
    // As published: the bound is checked against one device of the job, not all of them.
    const std::int64_t each = std::min<std::int64_t>(extra->gpu_milli, DeviceRequest::whole);
    if (sum + each > target) break;
    jobs.push_back(extra);
    sum += extra->gpu_milli;
  }
  return jobs;
}

/// Follows the fragmentation of the whole fleet, node by changed node.
class FragmentationMeter {
 public:
  explicit FragmentationMeter(const State& state)
      : measure_(state, cover_percent), of_node_(state.fleet().size()) {
    for (std::size_t at = 0; at < of_node_.size(); ++at) refresh(state, NodeIndex(at));
  }
  void refresh(const State& state, NodeIndex node) {
    measure_.look({state, state.usage()}, node, look_);
    const std::int64_t now = measure_.fragments(look_);
    sum_ += now - of_node_[node.value()];
    of_node_[node.value()] = now;
  }
  /// In ‰ of devices.
  double fragments() const {
    const auto total = static_cast<double>(std::max<std::int64_t>(measure_.total(), 1));
    return static_cast<double>(sum_) / total;
  }

 private:
  Fragmentation measure_;
  Fragmentation::Look look_;
  std::vector<std::int64_t> of_node_;
  std::int64_t sum_ = 0;
};

class FillRun {
 public:
  FillRun(const FleetFile& fleet, const Workload& workload, const PolicyRecipe& policy)
      : fleet_(fleet),
        workload_(workload),
        factory_(policy),
        engine_(journal_, backend_, factory_),
        gpu_milli_(gpu_milli_of(fleet)) {}

  Result<FillResult> run(const FillOptions& options) {
    const State given = TRY(prepare(options.seed));
    FragmentationMeter meter(given);
    const std::int64_t target = gpu_milli_ * options.load_permille / 1000;
    for (const Submission* job : tuned(workload_, target, options.seed)) {
      TRY(arrive(*job, meter));
    }
    sample_until(percent_of(arrived_) + 0.5, meter);
    finish_marks();
    result_.left_by_model = left_by_model(engine_.state());
    if (options.map) result_.map = node_map(fleet_, engine_.state());
    result_.state_hash = engine_.state().hash();
    return std::move(result_);
  }

 private:
  Result<void> send(const Event& event) {
    now_.us += 1'000'000;
    Engine::Step step = TRY(engine_.step(std::span(&event, 1), now_));
    if (!step.refused.empty()) return fail(std::move(step.refused.front().why));
    plan_ = std::move(step.plan);
    return {};
  }

  /// The fleet into the engine; returns its state with the mix that the workload gives.
  Result<State> prepare(std::uint64_t seed) {
    // In one step: the tables that follow from the fleet are built once.
    const std::vector<Event> events = TRY(fleet_events(fleet_, workload_, seed));
    const Engine::Step step = TRY(engine_.step(events, now_));
    if (!step.refused.empty()) return fail(step.refused.front().why);
    State given;
    for (const Event& event : events) given.apply(event, now_);
    return given;
  }

  double percent_of(std::int64_t gpu_milli) const {
    return 100.0 * static_cast<double>(gpu_milli) / static_cast<double>(gpu_milli_);
  }

  /// Points of the curve for the whole percents below `percent`: nothing arrives between them.
  void sample_until(double percent, const FragmentationMeter& meter) {
    while (gpu_milli_ != 0 && static_cast<double>(result_.curve.size()) < percent) {
      result_.curve.push_back({.arrived_percent = static_cast<double>(result_.curve.size()),
                               .allocated_percent = percent_of(allocated_),
                               .fragmented_percent = meter.fragments() * percent_of(1)});
    }
  }

  void finish_marks() {
    for (std::size_t at = 0; at < arrival_marks.size(); ++at) {
      FillResult::AtMark& mark = result_.at_marks[at];
      if (mark.arrivals != 0) {
        mark.unallocated /= mark.arrivals;
        mark.fragmented /= mark.arrivals;
      } else if (result_.curve.size() > arrival_marks[at]) {
        const Report::Point& point = result_.curve[arrival_marks[at]];
        mark = {1, 100 - point.allocated_percent, point.fragmented_percent};
      }
    }
  }

  Result<void> arrive(const Submission& job, FragmentationMeter& meter) {
    arrived_ += job.gpu_milli;
    const double percent = gpu_milli_ == 0 ? 0 : percent_of(arrived_);
    sample_until(percent, meter);
    TRY(send(JobSubmitted{JobId(next_job_++), job.spec}));
    ++result_.decisions;
    for (const Action& action : plan_.actions) {
      meter.refresh(engine_.state(), action.node);
      allocated_ += engine_.state().shape(action.shape).gpu_milli;
    }
    if (gpu_milli_ == 0) return {};
    if (percent < 100) count_failed(*job.spec);
    for (std::size_t at = 0; at < arrival_marks.size(); ++at) {
      if (std::lround(percent) != std::int64_t{arrival_marks[at]}) continue;
      FillResult::AtMark& mark = result_.at_marks[at];
      ++mark.arrivals;
      mark.unallocated += percent_of(gpu_milli_ - allocated_);
      mark.fragmented += meter.fragments() * percent_of(1);
    }
    return {};
  }

  /// Tasks of the job that arrived last and found no place.
  void count_failed(const JobSpec& spec) {
    std::uint64_t placed = 0;
    for (const Action& action : plan_.actions) placed += action.task.job == JobId(next_job_ - 1);
    if (const std::uint64_t tasks = tasks_of(spec); placed < tasks) {
      result_.failed_before_100[size_name(spec)] += static_cast<std::uint32_t>(tasks - placed);
    }
  }

  const FleetFile& fleet_;
  const Workload& workload_;
  RecipeFactory factory_;
  NullJournal journal_;
  EndlessBackend backend_;
  Engine engine_;
  Plan plan_;
  Instant now_;
  std::int64_t gpu_milli_;
  std::int64_t arrived_ = 0;
  std::int64_t allocated_ = 0;
  std::uint64_t next_job_ = 0;
  FillResult result_;
};

}  // namespace

Result<FillResult> fill(const FleetFile& fleet, const Workload& workload,
                        const PolicyRecipe& policy, const FillOptions& options) {
  TRY(check_recipe(policy));
  return FillRun(fleet, workload, policy).run(options);
}

}  // namespace tutti
