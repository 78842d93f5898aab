#include "store/restore.h"

#include <utility>

namespace tutti {

Result<State> restore(JournalFile& journal) {
  State state;
  TRY(journal.replay(1, [&](std::uint64_t row, const Event& event, Instant at) -> Result<void> {
    const std::string where = journal.path() + ": row " + std::to_string(row);
    if (at < state.now()) {
      return fail({.code = Code::invalid,
                   .what = "its time is " + std::to_string(at.us) + " us, before the " +
                           std::to_string(state.now().us) + " us of the row before it",
                   .where = where,
                   .hint = {}});
    }
    if (auto admitted = state.admissible(event); !admitted) {
      return fail(std::move(admitted).error().at(where));
    }
    state.apply(event, at);
    return {};
  }));
  return state;
}

}  // namespace tutti
