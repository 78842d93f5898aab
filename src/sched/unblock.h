/// What would make a waiting gang start: a short list of facts that are enough together.
///
/// Every list is tried out before it is given: the facts are turned into events, applied to a copy
/// of State, and the gang is placed there. Kinds are tried from the least disruptive on: a higher
/// limit, tasks that end, nodes and devices that come back, company, tolerations, more nodes. Of
/// the facts of one kind those that concern the nearest nodes are preferred, and none is named that
/// is not needed, as far as the trials last. Jobs that come first and would take what becomes free
/// are named too.
///
/// Computed on request. A trial costs as much as a copy of State and a first cycle; there are about
/// 10 of them, and as many for each fact as the logarithm of the facts to choose from, 200 at most.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sched/policy.h"

namespace tutti {

struct Unblock {
  enum class Kind : std::uint8_t {
    raise_limit,   ///< `amount` of the queue's limit becomes at least this.
    task_ends,     ///< `task`, which holds something on `node`, ends.
    uncordon,      ///< `node` takes work again.
    node_returns,  ///< `node`, which was lost, is reported again as it was.
    device_heals,  ///< Device `ordinal` of `node` is online again.
    company,       ///< A task with the labels of `companion` runs on `node`.
    tolerate,      ///< The gang's tasks tolerate `taint`, as `node` has it.
    add_nodes,     ///< `count` nodes like `spec` join, each under a name of its own.
    steps_aside,   ///< `job`, which comes first and would take the place, is gone.
  };
  Kind kind = Kind::task_ends;
  NodeIndex node;
  TaskId task;
  JobId job;
  std::uint16_t ordinal = 0;
  QueueIndex queue;
  NamedAmount amount;
  Taint taint;
  TaskShape companion;
  NodeSpec spec;
  std::uint32_t count = 0;
};

struct Unblocking {
  std::vector<Unblock> facts;  ///< Empty: nothing of these kinds helps.
  bool never = false;          ///< Not even on the emptied, healthy fleet.
  bool search_limit = false;   ///< The trials are spent: there may be facts too many, or too few.
};

/// REQUIRES: the gang waits.
Unblocking unblock(const State& state, const PolicyFactory& factory, GangIndex gang);

/// May this job be named to whoever reads? Empty: every job may.
using MayName = std::function<bool(const JobSpec&)>;

/// "task train/0 on gpu-3 ends (2 devices)": one fact, in words.
std::string to_text(const State& state, const Unblock& fact, const MayName& may_name = {});

}  // namespace tutti
