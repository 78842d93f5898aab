/// Pieces of the Kubernetes dialect; private to dialect/.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dialect/kubernetes.h"
#include "format/reader.h"

namespace tutti {

/// Amounts by resource name: cpu in milli-cores, everything else in base units. Sorted by name.
using ResourceList = std::vector<NamedAmount>;

std::int64_t amount_in(const ResourceList& list, std::string_view name);
/// `a + b`; fails where a sum leaves limits::amount.
Result<ResourceList> sum_of(const ResourceList& a, const ResourceList& b);
ResourceList largest_of(const ResourceList& a, const ResourceList& b);

/// What the containers of a pod ask for, one by one and together.
struct PodRequests {
  ResourceList total;  ///< By the rules for init containers, sidecars and overhead.
  std::vector<ResourceList> containers;  ///< Of those that run side by side.
};
Result<PodRequests> read_requests(Reader& spec);

struct ObjectMeta {
  std::string name;
  std::string space;
  std::string uid;
  std::string owner;
  Labels labels;
  Labels annotations;
  Instant created;
  bool terminating = false;
};
Result<ObjectMeta> read_meta(Reader& object);

/// Node selectors, affinities, tolerations, spreads and ports of a pod's spec.
Result<void> read_placement(Reader& spec, const ObjectMeta& meta, TaskShape& shape);
Result<std::vector<Taint>> read_node_taints(Reader& spec);

/// Splits what a node offers into devices and the lanes that are left.
Result<std::vector<DeviceSpec>> devices_of_node(const ObjectMeta& node,
                                                const ResourceList& capacity,
                                                ResourceList& allocatable, const Catalog* catalog);

/// Units of its resource that a device stands for: 1, or more where tasks share it.
std::int64_t units_of(const DeviceType& type);

/// The task on cards that nobody shares and, for each number of units that a card of these types
/// stands for, on such cards. Only the task itself where it asks for none of them.
std::vector<TaskShape> with_shared_cards(const TaskShape& shape,
                                         std::span<const DeviceType> shared);

/// Splits what a pod asks for into device requests and scalar resources.
Result<void> requests_of_pod(const ObjectMeta& pod, const PodRequests& requests,
                             const Catalog* catalog, TaskShape& shape);

/// Puts "node n0: " in front of an error.
Error about(Error error, std::string_view kind, const ObjectMeta& meta);

}  // namespace tutti
