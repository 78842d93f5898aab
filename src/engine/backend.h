/// Port: the world in which tasks run. Its contract, to which tests/contract/backend_contract.h
/// holds every backend:
///
/// - **Orders.** `execute` takes an order to `place` or to `evict` one attempt of one task, and
///   returns at once; other kinds of actions are not its concern. An order may be lost on its way,
///   come twice, or late: nobody waits for it, and who does not hear of it repeats it.
/// - **Attempts.** An attempt starts at most once, however often that is ordered, and only if none
///   newer was ever ordered, to start or to stop. So no order that comes late revives anything.
/// - **To place** is to run the task on that very node with those very devices, or to refuse. What
///   was refused never runs.
/// - **To evict** is to end an attempt, whether it has begun or not, and no other one of the task.
///   One that is not known counts as ended, and never starts.
/// - **Reports** come later, as events in the engine's inbox: TaskRefused; or TaskStarted, once it
///   runs, and TaskExited, once it has ended and holds nothing any more. An attempt that ended by
///   itself has the exit code that it gave, whether it was to be evicted or not; one that was
///   stopped has another one than 0. No two reports of an attempt contradict each other; but each
///   may be lost, late, doubled, or overtaken by another.
/// - **Answers.** An order that is repeated is answered again, with what is true by then: refused,
///   ended or running; nothing while it is starting or stopping, or when a newer attempt was
///   ordered. So who repeats his orders hears all in the end (Engine::reconcile).
/// - **observe** lists every attempt that runs or is starting, whoever ordered it, and those that
///   ended, with their exit codes; of a task at least the newest, for a day at least. It does not
///   list what was refused, or vanished with its node: of that NodeLost tells.
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

  /// An attempt that the backend knows.
  struct Observed {
    TaskId task;
    std::uint32_t attempt = 0;
    bool running = false;  ///< It runs or is starting. Else it ended, with `exit_code`.
    std::int32_t exit_code = 0;
  };
  virtual std::vector<Observed> observe() = 0;
};

}  // namespace tutti
