/// State from a journal and its checkpoints, as a server has it when it starts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/follower.h"
#include "model/checkpoint.h"
#include "model/state.h"
#include "store/checkpoint_file.h"
#include "store/journal_file.h"

namespace tutti {

/// The fold of all rows: what the engine refused then is refused again. An event that is older than
/// the one before it is an error with its row: the journal was written by something else. A
/// follower hears of every event that was applied.
/// O(rows) time; memory for the State and one row.
Result<State> restore(JournalFile& journal, Follower* follower = nullptr);

/// Who follows what happens, and can go on from a checkpoint.
class Companion : public Follower {
 public:
  /// Takes its own part from a checkpoint of that row, behind the State. What it had is replaced,
  /// also where reading fails.
  virtual Result<void> read(CheckpointReader& from, JournalRow row) = 0;
  /// As in the beginning, before any row.
  virtual void clear() = 0;
};

struct Restored {
  State state;
  JournalRow row = 0;                ///< Up to which it was restored.
  JournalRow from = 0;               ///< The row of the checkpoint; 0: from the first row on.
  std::vector<std::string> remarks;  ///< Checkpoints that could not be used, and why.
};

/// Up to row `last`, from the newest checkpoint before it that is whole and whose row has the hash
/// that it says; where there is none, from the first row on. Where that was dropped, the error says
/// what was wrong with each checkpoint. REQUIRES: last <= journal.rows().
Result<Restored> restore(JournalFile& journal, const CheckpointFolder& checkpoints,
                         Companion& companion, JournalRow last);

}  // namespace tutti
