/// What happened, as it goes from the engine's thread to the readers': values that share nothing
/// with State but immutable specs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/follower.h"
#include "ledger/holding.h"

namespace tutti {

struct Happening {
  JournalRow row = 0;
  Instant at;
  std::shared_ptr<const Event> event;
  std::vector<TaskMove> moves;  ///< What it did to tasks ...
  std::vector<Holding> begun;   ///< ... and what those hold that began to run.
};

/// Collects what the engine does, until somebody takes it along.
class Happenings final : public Follower {
 public:
  void happened(JournalRow row, const Event& event, const State& state) override {
    const auto moves = state.moves();
    gathered_.push_back({.row = row,
                         .at = state.now(),
                         .event = std::make_shared<const Event>(event),
                         .moves = {moves.begin(), moves.end()},
                         .begun = {}});
    for (const TaskMove& move : moves) {
      if (move.phase != TaskPhase::running) continue;
      gathered_.back().begun.push_back(holding_of(state, move));
    }
  }
  std::vector<Happening> take() { return std::exchange(gathered_, {}); }

 private:
  std::vector<Happening> gathered_;
};

}  // namespace tutti
