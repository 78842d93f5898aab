/// What a plan consists of: the only things that a cycle can decide.
///
/// Actions are values: printable, comparable, journaled before their effects. A backend executes
/// them asynchronously and may refuse; each is idempotent per (task, attempt).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/device.h"
#include "model/job.h"

namespace tutti {

enum class ActionKind : std::uint8_t {
  prepare,    ///< Something slow that must come true first: a volume, a drained card, a node.
  place,      ///< Start the task on the node with these devices.
  evict,      ///< Stop the task and give its resources back.
  reserve,    ///< Hold capacity for a later start.
  partition,  ///< Re-slice a device.
  scale,      ///< Ask an elastic pool for nodes, or give them back.
};
std::string_view to_text(ActionKind kind);

/// Names a task for ever: rows of State are reused, this is not.
struct TaskId {
  JobId job;
  std::uint32_t ordinal = 0;  ///< Counts the tasks of the job.
  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};
std::string to_string(const TaskId& id);

struct Action {
  ActionKind kind = ActionKind::place;
  TaskId task;
  std::uint32_t attempt = 0;
  ShapeIndex shape;  ///< place: the alternative that was chosen.
  NodeIndex node;
  DeviceSet devices;
  friend bool operator==(const Action&, const Action&) = default;
};

}  // namespace tutti
