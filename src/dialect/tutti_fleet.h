/// The parts of a fleet in Tutti's YAML; private to dialect/.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/workload.h"
#include "format/reader.h"

namespace tutti {

class Catalog;

/// Reads entries of `nodes` one after the other: numbers of domains and limits run through a file.
class NodeReader {
 public:
  explicit NodeReader(const Catalog* catalog) : catalog_(catalog) {}

  /// The nodes that one entry stands for, appended to `out`.
  Result<void> read(Reader& reader, std::vector<NodeSpec>& out);

 private:
  /// `{rack: 16}`: every 16 nodes of the entry share a new value of the label "rack".
  struct Domain {
    std::string label;
    std::string prefix;
    std::int64_t size = 1;
    std::uint64_t first = 0;  ///< Number of this entry's first domain.
  };

  Result<std::vector<Domain>> read_domains(Reader& reader);
  Result<std::vector<DeviceSpec>> read_devices(Reader& reader) const;
  Result<std::vector<DeviceSpec>> read_device(Reader& reader) const;
  void advance(const std::vector<Domain>& domains, std::size_t nodes);

  const Catalog* catalog_;
  std::map<std::string, std::uint64_t, std::less<>> domains_;  ///< Used so far, by label.
  std::size_t devices_ = 0;
  std::size_t labels_ = 0;  ///< Of all nodes together.
};

/// `[zone, rack]`, or several trees by name.
Result<std::vector<TreeSpec>> read_topology(Reader& reader);

/// Does some node have a label for each level, and lies every domain in one of the next wider
/// level?
Result<void> check_topology(Reader& reader, const std::vector<TreeSpec>& trees,
                            const std::vector<NodeSpec>& nodes);

/// The tree of queues, parents first, each with its path as name.
Result<std::vector<QueueSpec>> read_queues(Reader& reader);

/// Is everything that the `queues` of the document limit or guarantee `gpu`, or a resource that
/// some of the nodes have? REQUIRES: read_queues has read them.
Result<void> check_quotas(const Value& document, const std::set<std::string_view>& resources);
/// The resources that a node may have without saying so, and those of these nodes.
std::set<std::string_view> resources_of(std::span<const NodeSpec> nodes);

}  // namespace tutti
