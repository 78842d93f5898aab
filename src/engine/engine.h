/// The loop: inbox -> journal -> State -> cycle -> journal -> State -> backend. One writer.
///
/// Between the inbox and the cycle, a target mix that is learned may be set: by an event like any
/// other, so that a replay repeats it and never learns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
#include "engine/follower.h"
#include "engine/journal.h"
#include "model/state.h"
#include "policy/registry.h"
#include "sched/cycle.h"

namespace tutti {

class Engine {
 public:
  /// The ports and the factory must outlive the engine.
  Engine(Journal& journal, Backend& backend, const PolicyFactory& factory, CycleLimits limits = {});

  /// The same; where the recipe says so, the target mix is learned from what is submitted.
  Engine(Journal& journal, Backend& backend, const RecipeFactory& factory, CycleLimits limits = {});

  /// An event that changed nothing.
  struct Refused {
    std::size_t event = 0;  ///< Position in the inbox.
    Error why;
  };

  /// What became of one step.
  struct Step {
    std::vector<Refused> refused;  ///< Changed nothing; the rest was applied.
    Plan plan;                     ///< All cycles of this step: journaled, applied, handed over.
  };

  /// One turn: take, then decide. REQUIRES: now never goes back.
  Result<Step> step(std::span<const Event> inbox, Instant now);

  /// The first half: timers that are due run, and the events are durable and applied when it
  /// returns. Those that State does not admit are refused one by one; a journal that fails is an
  /// error, before anything of it was applied.
  Result<std::vector<Refused>> take(std::span<const Event> inbox, Instant now);
  /// The second: cycles until nothing moves. A journal that fails ends it; what was carried out
  /// before that stands.
  Result<Plan> decide(Instant now);

  /// Makes good what was lost between the engine and the backend: repeats every order whose outcome
  /// was not heard, so that it is answered again, and orders to stop what runs there and should
  /// not. For the first turn after a restart, and now and then. O((tasks + observed) log observed).
  void reconcile();

  /// Goes on from what a journal of so many rows says. REQUIRES: no turn was taken yet, or these
  /// are the rows that its own turns made.
  void resume(State state, JournalRow rows);
  /// Hears of all that happens from now on; none: nobody does.
  void follow(Follower* follower) { follower_ = follower; }

  const State& state() const { return state_; }
  /// Loses all derived tables. Changes no plan.
  void forget_workspace();
  /// How often its cycles took each rare path, with whichever workspace.
  RarePaths rare_paths() const;

 private:
  /// Journals and applies another target mix, where the arrivals call for one.
  Result<void> learn(Instant now);
  void apply(JournalRow row, const Event& event, Instant now);
  /// One event that is our own: journaled, then applied.
  Result<void> append(const Event& event, Instant now);
  /// Journals the plan, applies it, then hands it to the backend.
  Result<void> carry_out(const Plan& plan, Instant now);

  Journal& journal_;
  Backend& backend_;
  const PolicyFactory* factory_;
  std::uint32_t learn_every_ = 0;  ///< Arrivals; 0: the target mix is given.
  Cycle cycle_;
  State state_;
  JournalRow rows_ = 0;
  std::uint64_t arrivals_seen_ = 0;  ///< When the target mix was looked at last.
  Follower* follower_ = nullptr;
  Workspace workspace_;
  RarePaths rare_paths_before_;  ///< Counted by workspaces that were thrown away.
};

}  // namespace tutti
