/// The interfaces that policies implement. One file in policy/ is one policy.
///
/// A policy is an immutable object, built for one description of the fleet and one target mix; it
/// keeps no mirror of State and remembers nothing between calls. Whatever it wants to know of the
/// present it asks of the View. What a result depends on is declared, so that the workspace knows
/// what to recompute and what it may keep.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/state.h"
#include "sched/tally.h"

namespace tutti {

using Permille = std::uint16_t;  ///< A rating from 0 (worst) to 1000 (best).

/// The present as a policy sees it: State, but with the usage that the running cycle has made of
/// it so far.
struct View {
  const State& state;
  const Usage& usage;
  std::uint64_t held = 0;  ///< Tasks that the running cycle has placed so far.
  const Fleet& fleet() const { return state.fleet(); }
};

/// A shape as the workspace keeps it: everything about "tasks like this one".
struct TaskClass {
  ShapeIndex shape;
  const ShapeRow* row = nullptr;
  std::uint64_t cycle_seed = 0;  ///< For Depends::everything: differs from decision to decision.
  std::vector<Tally> tallies;    ///< What its filters watch, in the order of their watches.
  const TaskShape& spec() const { return row->spec; }
};

/// What a result may change with.
enum class Depends : std::uint8_t {
  class_and_description,  ///< The class and what is described of one node: labels, taints, health.
  class_and_node,         ///< ... and what runs on that node.
  everything,             ///< Anything: computed afresh for every decision, over all nodes.
};

/// Why a node cannot take a task. Small, so that ten thousand cost nothing; text comes later.
enum class Reason : std::uint8_t {
  none,
  not_present,
  cordoned,
  lane_short,           ///< `detail` is the lane.
  lane_unknown,         ///< No node has such a resource.
  device_type_missing,  ///< No device satisfies the attributes; `detail` is the request.
  devices_unhealthy,    ///< They exist, but are not offered.
  devices_busy,         ///< They exist, but too few are free; `shortfall` of them are missing.
  devices_apart,        ///< Enough are free, but not close enough to each other.
  selector_mismatch,
  taint_not_tolerated,   ///< `detail` is the taint's row.
  stack_mismatch,        ///< `detail` is the requirement's row.
  port_taken,            ///< `detail` is the port.
  affinity_unmet,        ///< `detail` is the term.
  anti_affinity_broken,  ///< `detail` is the term; of the task, or of one that runs there.
  spread_exceeded,       ///< `detail` is the spread constraint.
};
std::string_view to_text(Reason reason);

struct Reject {
  Reason reason = Reason::none;
  std::uint32_t detail = 0;
  std::int64_t shortfall = 0;  ///< In the unit of what is missing; 0 where that means nothing.
  bool ok() const { return reason == Reason::none; }
};

/// Can this node take this task at all?
class Filter {
 public:
  virtual ~Filter() = default;
  virtual std::string_view name() const = 0;
  virtual Depends depends_on() const = 0;
  /// False where the filter accepts every node for this class, so that it is not asked again.
  virtual bool concerns(const TaskClass& task) const = 0;
  /// The first thing that stands in the way, or Reason::none.
  virtual Reject check(const TaskClass& task, const View& view, NodeIndex node) const = 0;

  // Of a filter that depends on everything: all that it looks at, beside the node, are tallies.

  /// What is counted for the class from the start.
  virtual std::vector<Watch> watches(const TaskClass&) const { return {}; }
  /// The watches that a running task of this shape counts for; one that is new begins to be kept.
  virtual std::vector<Watch> counts(const TaskClass& task, const TaskShape& running) const;
  /// Do tasks on this node count, and does its domain?
  virtual bool counts_on(const TaskClass&, const Watch&, const Node&) const { return true; }
  /// Can what others start make the class fit where it did not?
  virtual bool opened_by_others(const TaskClass&) const { return false; }
  /// Is the class shut out of all nodes, whatever becomes free, until its tallies change?
  virtual bool shut_out(const TaskClass&) const { return false; }
};

/// How good is this node, or this device, for this task?
class Score {
 public:
  virtual ~Score() = default;
  virtual std::string_view name() const = 0;
  virtual Depends depends_on() const = 0;
  /// False where the score has nothing to say about this class; it then does not count.
  virtual bool concerns(const TaskClass&) const { return true; }
  /// True where, for this class, other nodes change the rating of one, whatever depends_on() says.
  virtual bool looks_at_others(const TaskClass&) const { return false; }
  /// out[i] rates nodes[i]; every node listed passed all filters.
  virtual void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
                    std::span<Permille> out) const = 0;
  /// The same for one node: out[i] rates it for tasks[i], each of which passed all filters there.
  /// Worth an override where the classes share much of the work.
  virtual void rate_node(std::span<const TaskClass* const> tasks, const View& view, NodeIndex node,
                         std::span<Permille> out) const;
  /// Rates each candidate device of a node for a task that takes one share of a device.
  /// The default prefers the one left fullest.
  virtual void rate_devices(const TaskClass& task, const View& view, NodeIndex node,
                            std::span<const std::uint8_t> ordinals, std::span<Permille> out) const;
};

/// A score and how much it counts among others.
struct WeightedScore {
  std::unique_ptr<const Score> score;
  std::uint32_t weight = 1;
};

/// Which of a task's alternatives is taken, of those that fit.
enum class AlternativeChoice : std::uint8_t {
  in_order,  ///< The first one.
  by_score,  ///< The one whose best node rates highest; ties fall to the earlier one.
};

/// The policies that one engine runs, built for one fleet and mix.
struct PolicySet {
  std::vector<std::unique_ptr<const Filter>> filters;
  std::vector<WeightedScore> scores;  ///< At least one.
  std::size_t device_score = 0;       ///< Row of `scores` that chooses devices.
  AlternativeChoice alternatives = AlternativeChoice::in_order;
};

/// Builds the policies anew when the fleet or the mix changed.
class PolicyFactory {
 public:
  virtual ~PolicyFactory() = default;
  virtual PolicySet build(const State& state) const = 0;
};

}  // namespace tutti
