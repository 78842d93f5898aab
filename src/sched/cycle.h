/// One scheduling cycle: State in, Plan out. Pure.
///
///   repair -> order -> gate -> place
///
/// Nothing is half decided: a gang is placed whole within one transaction, or leaves no trace.
#pragma once

#include "sched/plan.h"
#include "sched/txn.h"
#include "sched/workspace.h"

namespace tutti {

/// Bounds of one cycle, in work and not in time, so that every machine decides the same.
struct CycleLimits {
  std::size_t actions = 100'000;  ///< Then the rest waits for the next cycle.
};

class Cycle {
 public:
  explicit Cycle(CycleLimits limits = {}) : limits_(limits) {}

  /// Deterministic: equal states and policies give equal plans, whatever the workspace held before.
  Plan run(const State& state, Workspace& workspace) const;

 private:
  CycleLimits limits_;
};

}  // namespace tutti
