/// The `place_N` benchmark: how many decisions a second on a busy fleet.
///
/// N nodes x 8 accelerators of five models, filled to 90 % with tasks drawn from the openb shapes;
/// then each step ends one random task (not timed) and places one newly drawn task (timed, the
/// repair of indexes included). One decision in a hundred is repeated as a full scan of all nodes,
/// which must choose the same one; one in each run by a workspace made for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "bench/openb_fleet.h"
#include "model/state.h"
#include "policy/registry.h"
#include "sched/workspace.h"

namespace tutti::bench {

class PlaceFleet {
 public:
  PlaceFleet(std::size_t nodes, std::string_view policy, unsigned apps = 0);

  struct Figures {
    std::vector<double> decision_us;  ///< Each timed decision.
    std::uint64_t refused = 0;
    std::uint64_t rescanned = 0;
    std::uint64_t mismatches = 0;
  };
  /// Runs `steps` steps. Without `timed`, no clock is read: for instruction counts.
  void run(std::size_t steps, bool timed, Figures& figures);
  double unallocated_percent() const;

 private:
  void submit_one();
  bool place_next();
  void end_random_task();
  void check_by_scan(Workspace& workspace, ShapeIndex shape, Figures& figures) const;
  Event apply(Event event);

  RecipeFactory factory_;
  Workspace workspace_;
  State state_;
  Prng prng_{42};
  Instant now_;
  std::uint64_t next_job_ = 1;
  OpenbTasks tasks_;
  std::vector<TaskId> running_;
  JobId waiting_;
  Plan plan_;
};

}  // namespace tutti::bench
