/// A small fleet in the plainest terms, and what it means that a task may run somewhere.
///
/// Written from docs/formats.md, the rules of Kubernetes for selectors, taints, affinity and
/// spread, and nothing else: it shares the nouns of model/ with the engine, but none of its code
/// for deciding. Everything is computed afresh from the list of tasks; slow, and obvious.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.h"
#include "sched/policy.h"

namespace tutti::oracle {

/// A task that holds a node and some of its devices.
struct Held {
  const TaskShape* shape = nullptr;
  std::size_t node = 0;
  std::vector<unsigned> devices;
  std::string queue;
  TaskId id;
};

struct World {
  std::vector<NodeSpec> nodes;  ///< By NodeIndex; health and cordons as they are now.
  std::vector<char> present;
  std::vector<QueueSpec> queues;
  std::vector<Held> tasks;
};

/// Why a node does not take a task: the first reason in the order that sched/explain.h promises.
/// `amount` is the name of the resource that is short.
struct Why {
  Reason reason = Reason::none;
  std::uint32_t detail = 0;
  std::int64_t shortfall = 0;
  std::string amount;
  bool ok() const { return reason == Reason::none; }
};

/// `lanes`: names of resources in the order in which they are looked at.
Why why_not(const World& world, const std::vector<std::string>& lanes, const TaskShape& shape,
            std::size_t node);
bool feasible(const World& world, const TaskShape& shape, std::size_t node);

/// Every set of devices that the task could take on the node; sets that differ only in devices
/// which nobody can tell apart are named once. REQUIRES: feasible.
std::vector<std::vector<unsigned>> device_choices(const World& world, const TaskShape& shape,
                                                  std::size_t node);
/// May the task take exactly these devices now?
bool devices_valid(const World& world, const TaskShape& shape, std::size_t node,
                   const std::vector<unsigned>& devices);

/// Does the queue stay within its limit with one more such task?
bool within_limit(const World& world, const std::string& queue, const TaskShape& shape);

/// Value of the level on the node; none where it stands in no domain.
std::optional<std::string> domain_of(const NodeSpec& node, std::string_view level);

bool matches(const Selector& selector, const Labels& labels);
bool tolerated(const TaskShape& shape, const Taint& taint);
/// Is `task` one that a selector of `owner` speaks of?
bool spoken_of(const Selector& tasks, const std::vector<std::string>& spaces,
               const TaskShape& owner, const TaskShape& task);

/// Does the order in which tasks are placed matter to this shape?
bool order_matters(const TaskShape& shape);

std::string to_text(const TaskShape& shape);
std::string to_text(const World& world);

}  // namespace tutti::oracle
