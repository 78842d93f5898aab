/// A Kubernetes dump, placed anew: what would this cluster look like under another policy?
///
/// The fleet is emptied, the pods that run are placed again by age, then those that wait: also
/// those of a gang that partly runs, which join it. Pods on nodes that take no work, and gated
/// ones, stay as they are. The policy `present` keeps every placement that the dump records; there
/// the devices of a pod are not known, so that shares are taken to be packed.
///
/// Or what runs stays where it is, and jobs of a user's own come after the pods that wait.
/// Complexity: that of the engine's decisions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/kubernetes.h"
#include "model/state.h"
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
  std::uint32_t given = 0;  ///< Jobs of the user, and those that have all their places.
  std::uint32_t given_started = 0;
  std::uint32_t free_whole_nodes = 0;   ///< Open nodes with devices, all of them free.
  std::uint32_t largest_gang_8gpu = 0;  ///< Tasks of 8 devices of one model that fit at once.
  std::vector<Report::Left> left_by_model;
  std::optional<Report::NodeMap> map;
  std::shared_ptr<const State> end;  ///< JobId(row) is the job of that row of the workload.
  /// Rows of the jobs that wait in the dump, those of the user first, and of those that run there
  /// and do not in the end.
  std::vector<std::size_t> asked;
  std::uint64_t decisions = 0;  ///< Pods placed by the policy.
  double seconds = 0;           ///< Of wall time, filled in by the caller.
  std::uint64_t state_hash = 0;
};

struct AnewOptions {
  bool map = false;
  /// What runs stays where it is; jobs of the workload from this row on are a user's own.
  std::optional<std::size_t> given;
};

/// Adds jobs of a user's own, which come after all that waits. Returns the row of the first.
std::size_t add_jobs(Snapshot& snapshot, const Workload& workload);

/// `policy` may be called `present`; its scores are then not looked at.
Result<SnapshotResult> place_again(const Snapshot& snapshot, const PolicyRecipe& policy,
                                   const AnewOptions& options);

}  // namespace tutti
