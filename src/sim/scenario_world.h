/// The world of a scenario: the real engine, a journal in memory, a backend that does what it is
/// told, and a clock; private to scenario*.cpp and to the contract of its backend.
///
/// Invariants are checked after every step of the engine; the first that does not hold is kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "sim/attempts.h"
#include "sim/scenario.h"
#include "sim/uprooted.h"

namespace tutti {

/// Keeps what each step of the engine wrote, so that another engine can be built from it.
class ScenarioJournal final : public Journal {
 public:
  struct Batch {
    Instant at;
    std::vector<Event> events;
  };

  void begin(Instant at) { batches_.push_back({at, {}}); }
  void fail_next() { fails_ = true; }
  /// While an engine reads its own history, nothing is written.
  void set_reading(bool reading) { reading_ = reading; }
  const std::vector<Batch>& batches() const { return batches_; }
  Result<void> append(std::span<const Event> events, Instant at) override;

 private:
  std::vector<Batch> batches_;
  bool fails_ = false;
  bool reading_ = false;
};

/// Starts every task at once and lets it run, unless told otherwise.
class ScenarioBackend final : public Backend {
 public:
  explicit ScenarioBackend(const Scenario& scenario) : scenario_(scenario) {}

  void execute(const Action& action, const State& state) override;
  std::vector<Observed> observe() override { return attempts_.observe(now_); }

  /// Reports that are due by now, in order.
  std::vector<Event> take_due(Instant now);
  std::optional<Instant> next_due() const;

  /// False when the task does not run.
  bool finish(const TaskId& task, std::int32_t exit_code);
  void lose_node(const std::string& node) { attempts_.lose_node(node); }
  void refuse(const ScenarioStep& step);
  void lose(const ScenarioStep& step) { lost_.insert(step.tasks.begin(), step.tasks.end()); }
  void delay(const ScenarioStep& step);
  void duplicate(const ScenarioStep& step);
  void set_now(Instant now) { now_ = now; }
  void set_start(Duration length) { start_ = length; }
  void set_stop(Duration length) { stop_ = length; }
  /// Orders do not arrive: lost, or of an engine that reads its own history.
  void set_deaf(bool deaf) { deaf_ = deaf; }
  /// Nothing more is refused, lost or late, and orders arrive.
  void end_troubles();

  const Attempts& attempts() const { return attempts_; }
  /// Did the task end by itself, and was that said?
  bool ended(const TaskId& task) const { return said_ended_.contains(task); }
  bool failed(const TaskId& task) const {
    const auto said = said_ended_.find(task);
    return said != said_ended_.end() && said->second != 0;
  }
  std::uint64_t placements() const { return placements_; }
  std::uint64_t evictions() const { return evictions_; }

 private:
  struct Due {
    Event event;
    bool only_while_running = false;  ///< Void once this attempt has ended or is gone.
    bool stopped = false;             ///< The end of a task that was told to stop.
    bool again = false;               ///< It was said before.
  };

  void start(const Action& action, const State& state);
  void stop(const Action& action);
  void answer(const Action& action);
  void send(Instant at, Due due) { due_.emplace(std::pair(at, next_++), std::move(due)); }
  bool refuses(const TaskId& task);

  const Scenario& scenario_;
  Instant now_;
  Duration start_;
  Duration stop_;
  bool deaf_ = false;
  Attempts attempts_;
  std::map<std::pair<Instant, std::uint64_t>, Due> due_;
  std::uint64_t next_ = 0;
  std::vector<Event> history_;  ///< All that was delivered.
  std::int64_t refusals_ = 0;
  std::set<TaskId> refused_;
  std::set<TaskId> lost_;
  std::map<TaskId, Duration> late_;
  std::map<TaskId, std::int32_t> said_ended_;  ///< With its exit code.
  std::uint64_t placements_ = 0;
  std::uint64_t evictions_ = 0;
};

class ScenarioWorld {
 public:
  /// `forgetful`: the workspace is thrown away before every step.
  ScenarioWorld(const Scenario& scenario, bool forgetful);

  void tell(std::uint32_t line, Event event);
  /// One step with what was told, and those in which the backend answers, until it is silent.
  void settle();
  /// Is there anything that the engine has not heard?
  /// When the backend or a timer has something to say.
  std::optional<Instant> next_due() const;
  bool restless() const;
  void advance(Duration length);
  void forget() { engine_->forget_workspace(); }
  void restart();
  /// The engine repeats what it has not heard of.
  void reconcile() { engine_->reconcile(); }
  /// Does the journal, event by event, give the state?
  bool same_after_replay() const;
  void fail_journal() { journal_.fail_next(); }

  struct Refusal {
    std::uint32_t line = 0;
    Error why;
  };
  std::vector<Refusal>& refusals() { return refusals_; }
  std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  ScenarioBackend& backend() { return backend_; }
  const State& state() const { return engine_->state(); }
  const PolicyFactory& factory() const { return factory_; }
  const Scenario& scenario() const { return scenario_; }
  Instant now() const { return now_; }
  std::uint64_t steps() const { return steps_; }
  bool accepted(JobId job) const { return accepted_.contains(job); }
  /// Why the engine refused the job; empty where it did not.
  std::string refused(JobId job) const;
  const std::string& violation() const { return violation_; }

 private:
  struct Told {
    std::uint32_t line = 0;  ///< 0: the backend said it.
    Event event;
  };

  bool step(std::vector<Told> told);
  void check();
  void check_jobs();
  void note_reports(const std::vector<Told>& told);
  void note_refusals(const std::vector<Told>& told, const Engine::Step& done);
  void violated(std::string what);

  const Scenario& scenario_;
  RecipeFactory factory_;
  ScenarioJournal journal_;
  ScenarioBackend backend_;
  std::unique_ptr<Engine> engine_;
  bool forgetful_;
  Instant now_;
  std::vector<Told> inbox_;
  std::vector<Refusal> refusals_;
  std::vector<Action> actions_;
  std::uint64_t steps_ = 0;
  std::set<JobId> accepted_;
  std::map<JobId, std::string> refused_;
  std::set<JobId> alive_;
  std::set<JobId> cancelled_;
  std::set<std::string> over_limit_;  ///< Queues whose limit was set below what they hold.
  Uprooted uprooted_;                 ///< Gangs under which labels changed.
  std::set<std::string> shrunk_;      ///< Nodes that report less than is held there.
  std::string violation_;
};

}  // namespace tutti
