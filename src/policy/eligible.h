/// Which nodes a task may use by their description alone; private to policy/.
#pragma once

#include <string_view>
#include <vector>

#include "model/fleet.h"
#include "model/shape.h"

namespace tutti {

/// Does the node match the task's selector and, where there are any, one of its alternatives?
bool selects(const TaskShape& task, const Node& node);

/// The row of the first taint that keeps the task away, or -1. A taint that only prefers does not.
int untolerated(const TaskShape& task, const Node& node);

/// Taints that ask the task to stay away if it can.
std::uint32_t unwelcome(const TaskShape& task, const Node& node);

/// Does some version of the stack on the node satisfy the requirement?
bool stack_holds(const StackRequirement& wanted, const std::vector<StackVersion>& present);

/// Compares "12.10" and "12.4" by their numbers; texts compare as texts. Less, equal, greater: -1
/// 0 1.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace tutti
