/// The variables by which the runtimes of accelerators learn which cards are a task's. A convention
/// and no wall: a program that sets them anew sees every card that its user may open.
#pragma once

#include <string>
#include <vector>

#include "model/fleet.h"

namespace tutti {

/// "CUDA_VISIBLE_DEVICES=0,3" and the like for each vendor that has devices on the node. A vendor
/// of whose devices the task has none is told so: else its programs would take them all.
///
/// NVIDIA's cards are named by their UUID where it is known, which no order of numbers can confuse;
/// else, and for other vendors, by their place among the vendor's devices of the node.
std::vector<std::string> device_environment(const Fleet& fleet, NodeIndex node,
                                            const DeviceSet& devices);

}  // namespace tutti
