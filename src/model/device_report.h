/// What a new report of a node's devices says, beside what is known of them.
///
/// A device keeps its ordinal for life: tasks hold it by that. A report may list devices in any
/// order; one that has an id is known by it, one without by its position. A device that is no
/// longer reported stays, as failed, until a new one takes its ordinal; while somebody holds it,
/// only a lack of ordinals lets that happen. O(devices^2).
#pragma once

#include <span>
#include <vector>

#include "model/node.h"

namespace tutti {

/// A device as it is known.
struct KnownDevice {
  DeviceSpec spec;
  bool held = false;
};

/// The devices by ordinal, parents as ordinals too. REQUIRES: at most limits::devices_per_node
/// are reported, and at most so many are known.
std::vector<DeviceSpec> numbered(std::span<const DeviceSpec> reported,
                                 std::span<const KnownDevice> known);

}  // namespace tutti
