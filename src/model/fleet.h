/// The fleet as it is described: nodes, devices, device types, resource lanes, topology trees.
///
/// Nodes have dense indexes in order of first appearance; a node that left keeps its index and
/// comes back to it. Devices of a node are contiguous, so that "the devices of node n" is a range.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/device.h"
#include "model/node.h"
#include "model/resources.h"

namespace tutti {

/// Levels from the widest to the narrowest: {"zone", "block", "rack"}; each is a label key.
struct TreeSpec {
  std::string name;
  std::vector<std::string> levels;
  friend bool operator==(const TreeSpec&, const TreeSpec&) = default;
};

struct Node {
  std::string name;
  PoolIndex pool;
  Labels labels;
  std::vector<Taint> taints;
  std::vector<StackVersion> stack;
  Resources capacity;
  bool bounded_pods = false;          ///< False: the number of tasks is not limited.
  bool cordoned = false;              ///< By its own report or by an operator.
  bool cordoned_by_operator = false;  ///< Outlasts reports.
  bool draining = false;              ///< What runs here is to stop; so is cordoned by an operator.
  bool present = true;                ///< False after it was lost; it then takes no work.
  bool open() const { return present && !cordoned; }
  /// Does a taint ask that tasks stay away if they can?
  bool reluctant() const;
};

class Fleet {
 public:
  std::size_t size() const { return nodes_.size(); }
  const Node& node(NodeIndex node) const { return nodes_[node.value()]; }
  std::optional<NodeIndex> find(std::string_view name) const;
  /// May new work start there? A column of its own: decisions read it for every node.
  bool open(NodeIndex node) const { return open_[node.value()] != 0; }

  const LaneTable& lanes() const { return lanes_; }
  const std::vector<Pool>& pools() const { return pools_; }
  const std::vector<DeviceType>& types() const { return types_; }
  const std::vector<TreeSpec>& trees() const { return trees_; }

  std::size_t device_count() const { return devices_.size(); }
  std::uint32_t device_begin(NodeIndex node) const { return device_begin_[node.value()]; }
  std::uint32_t device_end(NodeIndex node) const { return device_begin_[node.value() + 1]; }
  const std::vector<std::uint32_t>& device_offsets() const { return device_begin_; }
  const Device& device(std::uint32_t row) const { return devices_[row]; }
  /// The type of all devices of a node; none where they differ or there are none.
  TypeIndex uniform_type(NodeIndex node) const { return uniform_type_[node.value()]; }
  TypeIndex device_type(std::uint32_t row) const { return device_types_[row]; }
  /// May new work have it? Not a card that was cut into slices, for these are devices of their
  /// own; and a slice only while its card is there and online too.
  bool offered(std::uint32_t row) const { return offered_[row] != 0; }
  bool any_draining() const { return draining_ > 0; }
  std::span<const Device> devices(NodeIndex node) const {
    return std::span(devices_).subspan(device_begin(node), device_end(node) - device_begin(node));
  }

  /// Is this spec one that `upsert` accepts? Names what is wrong: too many devices, resources.
  Result<void> admissible(const NodeSpec& spec) const;

  /// Adds the node or replaces its description. True when rows of devices moved, so that tables
  /// by device row must be rebuilt. REQUIRES: admissible(spec).
  struct Upsert {
    NodeIndex node;
    bool added = false;
    bool devices_moved = false;
  };
  Upsert upsert(const NodeSpec& spec);

  void set_present(NodeIndex node, bool present);
  /// An operator's word: what closes a node holds until it is taken back, whatever is reported;
  /// what opens it holds until the node reports again that it is closed.
  void set_cordoned(NodeIndex index, bool cordoned, bool draining);
  void set_health(std::uint32_t row, Health health);
  void set_trees(std::vector<TreeSpec> trees) { trees_ = std::move(trees); }

  /// An empty fleet that knows these already, by these indexes.
  Fleet() = default;
  Fleet(LaneTable lanes, std::vector<Pool> pools, std::vector<DeviceType> types)
      : lanes_(std::move(lanes)), pools_(std::move(pools)), types_(std::move(types)) {}

  /// The lane of a resource that a job or node names, added when new; the last lane is shared by
  /// nobody, so beyond limits::lanes the result is none and the request never fits.
  Lane lane_of(std::string_view name);

 private:
  TypeIndex intern(const DeviceType& type);
  PoolIndex intern_pool(std::string_view name);
  bool replace_devices(NodeIndex node, const std::vector<DeviceSpec>& specs);

  LaneTable lanes_;
  std::vector<Pool> pools_;
  std::vector<DeviceType> types_;
  std::vector<TreeSpec> trees_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> device_begin_{0};
  std::vector<Device> devices_;
  std::vector<TypeIndex> device_types_;  ///< By device row.
  std::vector<std::uint8_t> offered_;    ///< By device row.
  std::vector<TypeIndex> uniform_type_;  ///< By node.
  std::vector<std::uint8_t> open_;       ///< By node.
  std::uint32_t draining_ = 0;           ///< Nodes.
  std::map<std::string, NodeIndex, std::less<>> by_name_;
};

}  // namespace tutti
