#include "store/restore.h"

#include <utility>

namespace tutti {

Result<State> restore(JournalFile& journal, Follower* follower) {
  State state;
  TRY(journal.replay(1, [&](std::uint64_t row, const Event& event, Instant at) -> Result<void> {
    if (at < state.now()) {
      return fail({.code = Code::invalid,
                   .what = "its time is " + std::to_string(at.us) + " us, before the " +
                           std::to_string(state.now().us) + " us of the row before it",
                   .where = journal.path() + ": row " + std::to_string(row),
                   .hint = {}});
    }
    // The engine journals what it is told, judges it then, and a replay judges it again.
    if (!state.admissible(event)) return {};
    state.apply(event, at);
    if (follower != nullptr) follower->happened(row, event, state);
    return {};
  }));
  return state;
}

}  // namespace tutti
