#include "dialect/kubernetes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/limits.h"
#include "dialect/kubernetes_read.h"
#include "dialect/tutti_read.h"
#include "format/text.h"
#include "model/catalog.h"

namespace tutti {
namespace {

/// Only a condition that says so makes a node unready: hand-written nodes have none.
Result<bool> read_ready(Reader& status) {
  bool ready = true;
  const auto read = [&ready](Reader& condition) -> Result<bool> {
    condition.ignore_rest();
    const std::string type = TRY(condition.required_text("type"));
    const std::string state = TRY(condition.required_text("status"));
    if (type == "Ready") ready = state == "True";
    return true;
  };
  TRY(status.list("conditions", read));
  return ready;
}

/// Versions of drivers and runtimes, from the labels of feature discovery.
std::vector<StackVersion> stack_of(const Labels& labels) {
  struct Source {
    std::string_view name;
    std::string_view full;
    std::string_view parts;  ///< Of labels that hold major, minor and revision.
  };
  constexpr std::array<Source, 2> sources{
      {{"cuda", "nvidia.com/cuda.runtime-version.full", "nvidia.com/cuda.runtime"},
       {"driver", "nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver"}}};
  std::vector<StackVersion> out;
  for (const Source& source : sources) {
    if (const std::string* const full = labels.find(source.full)) {
      out.push_back({std::string(source.name), *full});
      continue;
    }
    std::string version;
    for (const std::string_view part : {".major", ".minor", ".rev"}) {
      const std::string* const number = labels.find(fmt::format("{}{}", source.parts, part));
      if (number == nullptr) break;
      version += (version.empty() ? "" : ".") + *number;
    }
    if (!version.empty()) out.push_back({std::string(source.name), version});
  }
  return out;
}

/// Is it how a node's condition is told to schedulers, which comes and goes by itself?
bool tells_a_condition(const Taint& taint) {
  return taint.effect != TaintEffect::prefer_no_schedule &&
         (taint.key.starts_with("node.kubernetes.io/") ||
          taint.key.starts_with("node.cloudprovider.kubernetes.io/"));
}

Result<NodeSpec> read_node(Reader& object, const ObjectMeta& meta, const Catalog* catalog) {
  NodeSpec node;
  node.name = meta.name;
  node.labels = meta.labels;
  node.labels.set("metadata.name", meta.name);  // For selectors by field.
  node.stack = stack_of(meta.labels);
  const auto spec = [&node](Reader& reader) -> Result<bool> {
    reader.ignore_rest();
    node.cordoned = TRY(reader.optional_boolean("unschedulable")).value_or(false);
    node.taints = TRY(read_node_taints(reader));
    return true;
  };
  const auto status = [&](Reader& reader) -> Result<bool> {
    reader.ignore_rest();
    const ResourceList capacity = TRY(read_amount_map(reader, "capacity"));
    ResourceList allocatable = TRY(read_amount_map(reader, "allocatable"));
    if (reader.value().find("allocatable") == nullptr) allocatable = capacity;
    node.devices = TRY(devices_of_node(meta, capacity, allocatable, catalog));
    node.capacity = std::move(allocatable);
    return read_ready(reader);
  };
  TRY(object.optional_object("spec", spec));
  const bool ready = TRY(object.optional_object("status", status)).value_or(true);
  // A node takes no work while such a taint lasts; no job is asked to tolerate it.
  const bool troubled = std::erase_if(node.taints, tells_a_condition) > 0;
  node.cordoned |= !ready || troubled;
  return node;
}

/// The first of these keys that the labels have.
std::string first_of(const Labels& labels, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (const std::string* const value = labels.find(key); value != nullptr && !value->empty()) {
      return *value;
    }
  }
  return {};
}

constexpr std::array<std::string_view, 4> group_annotations{
    "scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name",
    "gang.scheduling.koordinator.sh/name"};
constexpr std::array<std::string_view, 3> group_labels{"scheduling.x-k8s.io/pod-group",
                                                       "pod-group.scheduling.sigs.k8s.io",
                                                       "pod-group.scheduling.sigs.k8s.io/name"};
constexpr std::array<std::string_view, 3> minimum_keys{
    "scheduling.volcano.sh/group-min-member", "gang.scheduling.koordinator.sh/min-available",
    "pod-group.scheduling.sigs.k8s.io/min-available"};
constexpr std::array<std::string_view, 5> queue_keys{
    "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name", "kai.scheduler/queue",
    "kueue.x-k8s.io/queue-name", "yunikorn.apache.org/queue"};

Result<void> read_gang(const ObjectMeta& meta, PodRecord& pod) {
  pod.group = first_of(meta.annotations, group_annotations);
  if (pod.group.empty()) pod.group = first_of(meta.labels, group_labels);
  std::string minimum = first_of(meta.annotations, minimum_keys);
  if (minimum.empty()) minimum = first_of(meta.labels, minimum_keys);
  if (!minimum.empty()) {
    const Result<std::int64_t> number = parse_quantity(minimum);
    if (!number || *number > limits::tasks_per_job) {
      return fail(Code::invalid, fmt::format("{} is no minimum of a gang", quote(minimum)));
    }
    pod.group_min = static_cast<std::uint32_t>(*number);
  }
  std::string queue = first_of(meta.annotations, queue_keys);
  if (queue.empty()) queue = first_of(meta.labels, queue_keys);
  if (!queue.empty()) pod.queue = std::move(queue);
  return {};
}

Result<PodPhase> read_phase(Reader& status) {
  constexpr std::array<Choice<PodPhase>, 5> phases{{{"Pending", PodPhase::pending},
                                                    {"Running", PodPhase::running},
                                                    {"Succeeded", PodPhase::succeeded},
                                                    {"Failed", PodPhase::failed},
                                                    {"Unknown", PodPhase::unknown}}};
  const std::span<const Choice<PodPhase>> choices(phases);
  status.ignore_rest();
  return TRY(status.optional_choice("phase", choices)).value_or(PodPhase::pending);
}

Result<PodRecord> read_pod(Reader& object, const ObjectMeta& meta, const Catalog* catalog) {
  PodRecord pod;
  pod.name = meta.name;
  pod.space = meta.space.empty() ? "default" : meta.space;
  pod.uid = meta.uid;
  pod.owner = meta.owner;
  pod.labels = meta.labels;
  pod.created = meta.created;
  pod.terminating = meta.terminating;
  TRY(read_gang(meta, pod));
  const auto spec = [&](Reader& reader) -> Result<bool> {
    reader.ignore_rest();
    pod.node = TRY(reader.optional_text("nodeName")).value_or("");
    pod.scheduler = TRY(reader.optional_text("schedulerName")).value_or("default-scheduler");
    const auto priority =
        TRY(reader.optional_integer("priority", std::numeric_limits<std::int32_t>::min(),
                                    std::numeric_limits<std::int32_t>::max()));
    pod.priority = static_cast<std::int32_t>(priority.value_or(0));
    const Value* const gates = TRY(reader.optional_value("schedulingGates"));
    pod.gated = gates != nullptr && gates->is(Kind::list) && !gates->items().empty();
    const PodRequests requests = TRY(read_requests(reader));
    TRY(requests_of_pod(meta, requests, catalog, pod.shape));
    TRY(read_placement(reader, meta, pod.shape));
    return true;
  };
  TRY(object.required_object("spec", spec));
  pod.phase = TRY(object.optional_object("status", read_phase)).value_or(PodPhase::pending);
  return pod;
}

Result<void> check_kind(Reader& object, std::string_view wanted) {
  const auto kind = TRY(object.optional_text("kind"));
  if (!kind || *kind == wanted) return {};
  return fail(object.error("kind", fmt::format("expected {}, found {}", wanted, quote(*kind))));
}

template <class Read>
auto decode_object(const Value& object, std::string_view kind, Read read)
    -> std::invoke_result_t<Read, Reader&, const ObjectMeta&> {
  Reader reader(object, "");
  reader.ignore_rest();
  TRY(check_kind(reader, kind));
  const ObjectMeta meta = TRY(read_meta(reader));
  auto out = read(reader, meta);
  if (out) return out;
  Error error = std::move(out).error();
  if (error.where.empty()) error.where = object.place().text();
  return fail(about(std::move(error), kind == "Node" ? "node" : "pod", meta));
}

}  // namespace

Result<NodeSpec> decode_node(const Value& object, const Catalog* catalog) {
  return decode_object(object, "Node", [&](Reader& reader, const ObjectMeta& meta) {
    return read_node(reader, meta, catalog);
  });
}

Result<PodRecord> decode_pod(const Value& object, const Catalog* catalog) {
  return decode_object(object, "Pod", [&](Reader& reader, const ObjectMeta& meta) {
    return read_pod(reader, meta, catalog);
  });
}

}  // namespace tutti
