/// Kubernetes objects -> nodes and jobs.
///
/// A Node becomes a NodeSpec, a Pod what one task asks for and where it stands. Fields that do not
/// bear on placement are not looked at, so objects of any version are read; a field that does and
/// that this build does not understand is an error, never ignored.
///
/// Devices: an extended resource that counts accelerators becomes that many devices of the model
/// that the node's labels name, reachable through the attribute `resource`; fractions in the
/// dialects of HAMi, Volcano and KAI become shares. Other extended resources stay lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dialect/workload.h"
#include "format/source.h"
#include "format/value.h"

namespace tutti {

class Catalog;

enum class PodPhase : std::uint8_t { pending, running, succeeded, failed, unknown };

/// One pod as the API server shows it.
struct PodRecord {
  std::string name;
  std::string space;
  std::string uid;
  std::string node;             ///< Where it is bound; empty: nowhere yet.
  std::string scheduler;        ///< "default-scheduler" and the like.
  std::string owner;            ///< "Job/train", from the controlling owner; may be empty.
  std::string group;            ///< Its gang within the namespace; empty: it starts by itself.
  std::uint32_t group_min = 0;  ///< What the pod says of its gang's minimum; 0: nothing.
  std::string queue = "default";
  std::int32_t priority = 0;
  Labels labels;
  TaskShape shape;
  PodPhase phase = PodPhase::pending;
  Instant created;
  bool terminating = false;  ///< Told to end, but still there.
  bool gated = false;        ///< Has scheduling gates: not to be placed yet.
  bool ended() const { return phase == PodPhase::succeeded || phase == PodPhase::failed; }
};

/// "2024-02-29T12:00:00Z", with an optional fraction; microseconds since 1970.
Result<Instant> parse_timestamp(std::string_view text);

/// Errors start with the object ("node n0: ", "pod ml/train-0: ") and stand at its place.
Result<NodeSpec> decode_node(const Value& object, const Catalog* catalog);
Result<PodRecord> decode_pod(const Value& object, const Catalog* catalog);

/// A cluster at one moment. Pods of a gang are one job, every other pod is a job of its own; pods
/// that have ended are left out, and so are those by which KAI reserves a card whose shares others
/// hold.
struct Snapshot {
  /// Of one job: its pods in the order of its tasks, and where each runs, empty while pending.
  struct Standing {
    std::vector<std::string> pods;
    std::vector<std::string> nodes;
    bool gated = false;
  };
  /// Pods that are bound to nodes which the fleet has not.
  struct Elsewhere {
    std::size_t pods = 0;
    std::set<std::string> nodes;
  };
  FleetFile fleet;
  Workload workload;               ///< Arrivals are creation times, lengths are unknown.
  std::vector<Standing> standing;  ///< By job.
  Elsewhere elsewhere;             ///< What was set aside.
};

/// The job without some of its pods; none when nothing is left. `keep` is by pod.
std::shared_ptr<const JobSpec> without_pods(const JobSpec& spec, const std::vector<bool>& keep);

/// Takes the pods that are bound elsewhere out of their jobs: they use nothing of this fleet, and
/// want nothing of it. A gang's minimum counts no longer than what is left of it.
void set_aside_elsewhere(Snapshot& snapshot);

/// `kubectl get nodes,pods,podgroups -A -o json`, streamed: memory is bounded by the result and the
/// largest object. Objects of other kinds are passed over. Up to `skipped.allowed` objects that
/// cannot be read are counted and left out.
Result<Snapshot> read_snapshot(Source source, std::string name, const Catalog* catalog,
                               Skipped& skipped);

}  // namespace tutti
