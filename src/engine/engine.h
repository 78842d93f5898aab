/// The loop: inbox -> journal -> State -> cycle -> journal -> State -> backend. One writer.
///
/// Between the inbox and the cycle, a target mix that is learned may be set: by an event like any
/// other, so that a replay repeats it and never learns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend.h"
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

  /// What became of one step.
  struct Step {
    struct Refused {
      std::size_t event = 0;  ///< Position in the inbox.
      Error why;
    };
    std::vector<Refused> refused;  ///< Changed nothing; the rest was applied.
    Plan plan;                     ///< All cycles of this step: journaled, applied, handed over.
  };

  /// One turn. Events that State does not admit are refused one by one; a journal that fails ends
  /// the step with its error, before anything was applied. REQUIRES: now never goes back.
  Result<Step> step(std::span<const Event> inbox, Instant now);

  /// Makes good what was lost between the engine and the backend: repeats every order whose outcome
  /// was not heard, so that it is answered again, and orders to stop what runs there and should
  /// not. For the first turn after a restart, and now and then. O((tasks + observed) log observed).
  void reconcile();

  const State& state() const { return state_; }
  /// Loses all derived tables. Changes no plan.
  void forget_workspace();
  /// How often its cycles took each rare path, with whichever workspace.
  RarePaths rare_paths() const;

 private:
  /// Journals and applies another target mix, where arrivals since `seen_before` call for one.
  Result<void> learn(std::uint64_t seen_before, Instant now);
  /// Journals the plan, applies it, then hands it to the backend.
  Result<void> carry_out(const Plan& plan, Instant now);

  Journal& journal_;
  Backend& backend_;
  const PolicyFactory* factory_;
  std::uint32_t learn_every_ = 0;  ///< Arrivals; 0: the target mix is given.
  Cycle cycle_;
  State state_;
  Workspace workspace_;
  RarePaths rare_paths_before_;  ///< Counted by workspaces that were thrown away.
};

}  // namespace tutti
