/// Nodes as they are described, and pools of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "model/device.h"
#include "model/labels.h"
#include "model/shape.h"

namespace tutti {

using NodeIndex = Index<struct NodeTag>;
using PoolIndex = Index<struct PoolTag, std::uint16_t>;

/// How far Tutti decides for a pool of nodes; below that depth capacity is a count and the owner
/// of a device is unknown until it is reported.
enum class Control : std::uint8_t {
  device,   ///< Down to the card.
  node,     ///< The node's own agent picks the card.
  order,    ///< Another scheduler places; Tutti orders the queue.
  observe,  ///< Read only.
};
std::string_view to_text(Control control);

struct Pool {
  std::string name;
  Control control = Control::device;
  friend bool operator==(const Pool&, const Pool&) = default;
};

/// A device as a node reports it.
struct DeviceSpec {
  DeviceType type;
  Device device;  ///< `device.type` is filled in when the fleet interns the type.
  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// One version of a software stack on a node: {"cuda", "12.4"}.
struct StackVersion {
  std::string name;
  std::string version;
  friend bool operator==(const StackVersion&, const StackVersion&) = default;
};

/// All that is known of a node but who runs on it.
struct NodeSpec {
  std::string name;
  std::string pool = "default";
  std::vector<NamedAmount> capacity;  ///< Sorted by name. Without "pods": no bound on their number.
  std::vector<DeviceSpec> devices;
  Labels labels;
  std::vector<Taint> taints;
  std::vector<StackVersion> stack;
  bool cordoned = false;
  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

}  // namespace tutti
