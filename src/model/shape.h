/// What one task asks for: the unit of "equal as far as placement is concerned".
///
/// Tasks with equal shapes fit the same nodes with the same scores, so everything that is expensive
/// is kept per shape. A shape therefore holds all that any policy reads of a task, and nothing
/// else: no names, no times, no priorities.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/id.h"
#include "model/attribute.h"
#include "model/labels.h"

namespace tutti {

using ShapeIndex = Index<struct ShapeTag>;

/// An amount of a scalar resource by its name, as in "cpu" (milli) or "memory" (bytes).
struct NamedAmount {
  std::string name;
  std::int64_t amount = 0;
  friend bool operator==(const NamedAmount&, const NamedAmount&) = default;
};

/// How near to each other things must be. `level` names a topology level ("island", "numa" inside
/// a node; "host", or a key such as "rack" between nodes); empty means anywhere.
struct Closeness {
  std::string level;
  bool required = false;
  friend bool operator==(const Closeness&, const Closeness&) = default;
};

/// `count` devices that satisfy `where`, each for itself, each to the same share.
struct DeviceRequest {
  static constexpr std::uint16_t whole = 1000;

  AttributeExpression where;
  std::uint16_t count = 1;
  std::uint16_t compute_permille = whole;  ///< Of each device; `whole` is exclusive.
  std::int64_t memory_mib = 0;             ///< Of each device; 0 follows compute_permille.
  Closeness closeness;
  bool shared() const { return compute_permille != whole || memory_mib != 0; }
  friend bool operator==(const DeviceRequest&, const DeviceRequest&) = default;
};

enum class TaintEffect : std::uint8_t { no_schedule, prefer_no_schedule, no_execute };
std::string_view to_text(TaintEffect effect);

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::no_schedule;
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct Toleration {
  std::string key;    ///< Empty tolerates every key.
  std::string value;  ///< Compared unless `any_value`.
  bool any_value = false;
  bool any_effect = true;
  TaintEffect effect = TaintEffect::no_schedule;
  bool tolerates(const Taint& taint) const;
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// A version of a software stack: "cuda >= 12.2".
struct StackRequirement {
  std::string name;
  Operator op = Operator::greater;  ///< in: equal; greater: at least; less: below.
  std::string version;
  friend bool operator==(const StackRequirement&, const StackRequirement&) = default;
};

struct PreferredNodes {
  std::uint16_t weight = 1;  ///< 1 to 100.
  Selector nodes;
  friend bool operator==(const PreferredNodes&, const PreferredNodes&) = default;
};

/// (Anti-)affinity to tasks by their labels, within a domain of `topology_key`.
struct TaskAffinity {
  Selector tasks;
  std::string topology_key;
  std::vector<std::string> namespaces;  ///< Empty: the task's own.
  bool anti = false;
  std::uint16_t weight = 0;  ///< 0: required; else a preference of 1 to 100.
  bool required() const { return weight == 0; }
  bool needs_company() const { return required() && !anti; }
  friend bool operator==(const TaskAffinity&, const TaskAffinity&) = default;
};

/// Even numbers of matching tasks over the domains of `topology_key`.
struct Spread {
  Selector tasks;
  std::string topology_key;
  std::uint16_t max_skew = 1;
  std::uint16_t min_domains = 1;
  bool required = true;
  bool honor_node_affinity = true;
  bool honor_node_taints = false;
  friend bool operator==(const Spread&, const Spread&) = default;
};

struct HostPort {
  std::uint16_t port = 0;
  std::string protocol = "TCP";
  std::string ip;  ///< Empty or 0.0.0.0: every address.
  bool conflicts(const HostPort& other) const;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct TaskShape {
  std::vector<NamedAmount> resources;  ///< Sorted by name, positive.
  std::vector<DeviceRequest> devices;
  Selector nodes;                      ///< All must hold ...
  std::vector<Selector> nodes_any_of;  ///< ... and one of these, when there are any.
  std::vector<PreferredNodes> preferred_nodes;
  std::vector<Toleration> tolerations;
  std::vector<StackRequirement> stack;
  std::vector<HostPort> ports;
  std::vector<TaskAffinity> affinities;
  std::vector<Spread> spreads;
  std::string space;  ///< Namespace, where a selector of tasks could tell the difference.
  Labels labels;      ///< Only keys that some selector of tasks reads.
  friend bool operator==(const TaskShape&, const TaskShape&) = default;
};

/// The same for equal shapes, on every machine.
std::uint64_t hash_of(const TaskShape& shape);

}  // namespace tutti
