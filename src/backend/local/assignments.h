/// Which processors and ports of this machine are whose.
///
/// A task that asks for whole cores gets so many, as near to each other and to its devices as may
/// be, and no other such task has them meanwhile. A gang of several tasks gets a row of ports that
/// were free, for its tasks to find each other. What an attempt has stands in its order too, from
/// where a server that starts again knows it (`keep`).
/// Complexity: O(processors * attempts) per order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backend/local/cpu_map.h"
#include "backend/local/launch_order.h"
#include "backend/local/task_records.h"

namespace tutti {

class Assignments {
 public:
  struct Options {
    std::vector<Cpu> cpus;              ///< As find_cpus lists them; of none, nobody gets any.
    std::uint16_t first_port = 20'000;  ///< Below those that the system gives out by itself.
    std::uint16_t ports = 10'000;
    std::function<bool(std::uint16_t port)> is_free;  ///< Does nobody listen there?
    /// Attempts that hold nothing any more. One that is asked about was never given anything, or
    /// was handed to the backend since.
    std::function<bool(const AttemptId& id)> is_over;
  };
  explicit Assignments(Options options) : options_(std::move(options)) {}

  /// What this attempt runs with already.
  void keep(const AttemptId& id, const LaunchOrder& order);

  /// So many processors for it, rather on these NUMA nodes, ascending; none where there are too
  /// few. The same when asked again.
  std::vector<unsigned> take_cpus(const AttemptId& id, std::size_t count,
                                  std::span<const unsigned> numa_nodes);
  /// Ports for the gang whose first task has the ordinal `gang`: those that another attempt of it
  /// has, or new ones; none where too few are free.
  std::optional<PortRow> take_ports(const AttemptId& id, std::uint32_t gang, std::uint16_t count);

 private:
  struct Held {
    std::vector<unsigned> cpus;
    std::optional<PortRow> ports;
  };
  void forget_old(const AttemptId& but);
  bool are_free(std::uint16_t first, std::uint16_t count) const;

  Options options_;
  std::map<AttemptId, Held> held_;
};

/// Does nobody of this machine listen at that port?
bool is_port_free(std::uint16_t port);

}  // namespace tutti
