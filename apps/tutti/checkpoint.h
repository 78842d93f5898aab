/// Makes checkpoints of a journal, in a process of its own beside the server.
#pragma once

#include <span>
#include <string>

#include "api/job_table.h"
#include "base/result.h"
#include "engine/follower.h"
#include "store/checkpoint_file.h"

namespace tutti {

/// Rows that a checkpoint stands behind the end of the journal: whoever reads events and comes back
/// after a restart finds those behind it again.
inline constexpr JournalRow checkpoint_behind = 32'768;

inline std::string journal_of(const std::string& data) { return data + "/journal.db"; }
inline CheckpointFolder checkpoints_of(const std::string& data) {
  return CheckpointFolder(data + "/checkpoints");
}

struct CheckpointOrder {
  std::string data;
  JobTable::Keeping keeping;
  JournalRow behind = checkpoint_behind;

  /// Of the process that carries it out.
  std::vector<std::string> arguments() const;
  static CheckpointOrder parse(std::span<const std::string> arguments);
};

/// From the newest checkpoint and the rows behind it, read back and compared before it has its
/// name; nothing where there is nothing new. Only one process does so at a time.
Result<void> make_checkpoint(const CheckpointOrder& order);

/// What the process does that the server starts: `tutti checkpoint DATA ...`.
int run_checkpoint(int count, char** words);

}  // namespace tutti
