/// Port: the world in which tasks run.
///
/// A backend is asynchronous: `execute` only takes the order, and what becomes of it arrives later
/// as events (TaskStarted, TaskExited, TaskRefused) in the engine's inbox. It may refuse, be slow,
/// report twice, late or out of order. It must be idempotent: the same action for the same (task,
/// attempt) has one effect, however often it is sent.
#pragma once

#include <cstdint>
#include <vector>

#include "model/action.h"
#include "model/event.h"
#include "model/state.h"

namespace tutti {

class Backend {
 public:
  virtual ~Backend() = default;

  /// Takes an order. `state` is valid during the call only.
  virtual void execute(const Action& action, const State& state) = 0;

  /// A task that the backend has, whoever ordered it.
  struct Observed {
    TaskId task;
    std::uint32_t attempt = 0;
    bool running = false;  ///< False: it ended, with `exit_code`.
    std::int32_t exit_code = 0;
  };
  /// Everything that it knows of, for reconciliation after a restart.
  virtual std::vector<Observed> observe() = 0;
};

}  // namespace tutti
