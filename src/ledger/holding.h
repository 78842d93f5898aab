/// What a task holds while it runs, as values that outlive State: what its use is metered by.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "model/state.h"

namespace tutti {

struct Holding {
  /// Devices of one model.
  struct Part {
    std::string model;
    std::int64_t device_permille = 0;  ///< 300: thirty percent of one.
    friend bool operator==(const Part&, const Part&) = default;
  };
  TaskId task;
  std::shared_ptr<const JobSpec> spec;  ///< Of its job.
  std::int64_t core_permille = 0;
  std::int64_t memory_mib = 0;
  std::vector<Part> parts;  ///< Never empty; a task without devices has one of no model.
};

/// Of a task that runs. Of a shared card it holds the larger of its shares of compute and memory,
/// for others cannot use the rest of either alone. REQUIRES: the move is one of State's last ones.
Holding holding_of(const State& state, const TaskMove& move);

}  // namespace tutti
