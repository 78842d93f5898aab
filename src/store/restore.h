/// State from a journal, as a server has it when it starts.
#pragma once

#include "base/result.h"
#include "engine/follower.h"
#include "model/state.h"
#include "store/journal_file.h"

namespace tutti {

/// The fold of all rows: what the engine refused then is refused again. An event that is older than
/// the one before it is an error with its row: the journal was written by something else. A
/// follower hears of every event that was applied.
/// O(rows) time; memory for the State and one row.
Result<State> restore(JournalFile& journal, Follower* follower = nullptr);

}  // namespace tutti
