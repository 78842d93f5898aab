/// Places taken on trial for the tasks that a gang waits for, one at a time, and all given back at
/// the end: how many of them would find one?
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sched/txn.h"

namespace tutti {

class Trial {
 public:
  enum class Found : std::uint8_t {
    place,    ///< And it is taken.
    nothing,  ///< No node takes the task.
    limit,    ///< Some node would, but a queue's limit refuses the task.
  };

  /// REQUIRES: the workspace is in step with State, and outlives the trial.
  Trial(const State& state, Workspace& workspace, GangIndex gang);

  /// Takes the best place for one more pending task of the role, by the first alternative that
  /// finds one: of all nodes, or of some, ascending. REQUIRES: the role has such a task.
  Found take_one(const GangShape::Role& role,
                 std::optional<std::span<const NodeIndex>> within = std::nullopt);

 private:
  TaskIndex next_pending(const GangShape::Role& role);

  Txn txn_;
  const Gang& gang_;
  const GangShape& shape_;
  QueueIndex queue_;
  std::vector<std::uint32_t> next_;  ///< By role: the offset at which to look for a pending task.
};

}  // namespace tutti
