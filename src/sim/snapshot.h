/// A Kubernetes dump, placed anew: what would this cluster look like under another policy?
///
/// The fleet is emptied, the pods that run are placed again by age, then those that wait. Pods on
/// nodes that take no work, and gated ones, stay as they are. The policy `present` keeps every
/// placement that the dump records; there the devices of a pod are not known, so that shares are
/// taken to be packed. Complexity: that of the engine's decisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/kubernetes.h"
#include "policy/registry.h"
#include "sim/report.h"

namespace tutti {

inline constexpr std::string_view present_policy = "present";

struct SnapshotResult {
  double gpus_allocated = 0;
  std::uint32_t running = 0;  ///< Pods that the dump records as bound.
  std::uint32_t running_unplaced = 0;
  std::uint32_t pending = 0;  ///< Pods that wait in the dump, without gated ones.
  std::uint32_t pending_started = 0;
  std::uint32_t free_whole_nodes = 0;   ///< Open nodes with devices, all of them free.
  std::uint32_t largest_gang_8gpu = 0;  ///< Tasks of 8 devices of one model that fit at once.
  std::vector<Report::Left> left_by_model;
  std::optional<Report::NodeMap> map;
  std::uint64_t decisions = 0;  ///< Pods placed by the policy.
  double seconds = 0;           ///< Of wall time, filled in by the caller.
  std::uint64_t state_hash = 0;
};

/// `policy` may be called `present`; its scores are then not looked at.
Result<SnapshotResult> place_again(const Snapshot& snapshot, const PolicyRecipe& policy, bool map);

}  // namespace tutti
