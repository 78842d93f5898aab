/// What an event did to a task, for those who follow State from outside.
#pragma once

#include <cstdint>

#include "model/action.h"

namespace tutti {

/// What else than its own end or a plan moved a task.
enum class Why : std::uint8_t {
  itself,
  time_up,         ///< Its gang ran as long as it may.
  gang_restarts,   ///< Another task of its gang failed, and all of them start anew.
  gang_failed,     ///< Another task of its gang failed.
  gang_completed,  ///< A role of its gang is done, and the rest with it.
  never_after,     ///< What its job waited for cannot come true any more.
};

/// What an event did to a task.
struct TaskMove {
  TaskId task;
  TaskPhase phase = TaskPhase::pending;  ///< It is in now.
  std::uint32_t attempt = 0;
  NodeIndex node;  ///< Valid while it holds.
  DeviceSet devices;
  Why why = Why::itself;
};

}  // namespace tutti
