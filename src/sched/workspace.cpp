#include "sched/workspace.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "sched/fit.h"

namespace tutti {
namespace {

constexpr std::uint16_t no_class = 0xffff;

}  // namespace

// --- Catching up with State ---------------------------------------------------------------------

void Workspace::sync(const State& state) {
  if (!built_ || !state.changes().reaches(synced_)) rebuild(state);
  while (synced_ < state.changes().end()) sync_change(state, state.changes()[synced_++]);
}

void Workspace::rebuild(const State& state) {
  policies_ = factory_->build(state);
  CHECK(!policies_.scores.empty() && policies_.device_score < policies_.scores.size());
  usage_ = state.usage();
  queue_usage_.clear();
  for (std::size_t at = 0; at < state.queue_count(); ++at) {
    queue_usage_.push_back(state.queue_usage(QueueIndex(at)));
  }
  last_touched_.assign(state.fleet().size(), 0);
  log_.skip_all();
  classes_.clear();
  class_of_shape_.clear();
  pending_.clear();
  broken_.clear();
  for (std::size_t at = 0; at < state.gangs().size(); ++at) {
    const GangIndex gang(at);
    if (!state.gangs()[gang].job.valid()) continue;
    pending_.add(state, gang);
    broken_.push_back(gang);
  }
  synced_ = state.changes().end();
  built_ = true;
}

void Workspace::sync_change(const State& state, const Change& change) {
  switch (change.kind) {
    case Change::Kind::node_usage:
      refresh_node(state, NodeIndex(change.index));
      break;
    case Change::Kind::node_static: {
      const NodeIndex node(change.index);
      if (node.value() >= last_touched_.size()) break;  // A `fleet` change follows or came before.
      usage_.copy_node(state.fleet(), state.usage(), node);
      touched(node);
      for (const auto& row : classes_) describe(state, *row, node);
      pending_.wake(Wake::description_changed);
      break;
    }
    case Change::Kind::gang: {
      const GangIndex gang(change.index);
      if (!state.gangs()[gang].job.valid()) break;
      pending_.add(state, gang);
      broken_.push_back(gang);
      break;
    }
    case Change::Kind::queue: {
      queue_usage_.resize(state.queue_count());
      queue_usage_[change.index] = state.queue_usage(QueueIndex(change.index));
      pending_.wake(Wake::queue_freed);
      break;
    }
    case Change::Kind::fleet:
    case Change::Kind::mix:
      rebuild(state);
      break;
  }
}

void Workspace::refresh_node(const State& state, NodeIndex node) {
  if (!usage_.copy_node(state.fleet(), state.usage(), node)) return;
  touched(node);
  pending_.wake(Wake::capacity_freed);
}

void Workspace::touched(NodeIndex node) {
  last_touched_[node.value()] = log_.end();
  log_.push(node);
}

// --- Trying things out --------------------------------------------------------------------------

void Workspace::hold(const State& state, ShapeIndex shape, NodeIndex node,
                     const DeviceSet& devices) {
  usage_.hold(state.fleet(), shape, state.shape(shape), node, devices);
  touched(node);
}

void Workspace::release(const State& state, ShapeIndex shape, NodeIndex node,
                        const DeviceSet& devices) {
  usage_.release(state.fleet(), shape, state.shape(shape), node, devices);
  touched(node);
}

// --- Classes ------------------------------------------------------------------------------------

Workspace::ClassRow& Workspace::class_row(const State& state, ShapeIndex shape) {
  if (class_of_shape_.size() <= shape.value()) {
    class_of_shape_.resize(state.shape_count(), no_class);
  }
  std::uint16_t& number = class_of_shape_[shape.value()];
  if (number != no_class) {
    ClassRow& row = *classes_[number];
    row.task.row = &state.shape(shape);
    row.last_used = ++uses_;
    return row;
  }
  if (classes_.size() < limits::classes) {
    number = static_cast<std::uint16_t>(classes_.size());
    classes_.push_back(std::make_unique<ClassRow>());
  } else {
    const auto oldest =
        std::ranges::min_element(classes_, {}, [](const auto& row) { return row->last_used; });
    number = static_cast<std::uint16_t>(oldest - classes_.begin());
    class_of_shape_[(*oldest)->task.shape.value()] = no_class;
    *oldest = std::make_unique<ClassRow>();
  }
  ClassRow& row = *classes_[number];
  row.task = {.shape = shape, .row = &state.shape(shape)};
  row.last_used = ++uses_;
  for (const auto& filter : policies_.filters) {
    if (!filter->concerns(row.task)) continue;
    const bool description = filter->depends_on() == Depends::class_and_description;
    (description ? row.description_filters : row.node_filters).push_back(filter.get());
  }
  row.indexed = std::ranges::none_of(policies_.scores, [](const WeightedScore& weighted) {
    return weighted.score->depends_on() == Depends::everything;
  });
  const std::size_t nodes = state.fleet().size();
  row.described.resize(nodes);
  for (std::size_t at = 0; at < nodes; ++at) describe(state, row, NodeIndex(at));
  row.index.reset(nodes);
  scratch_nodes_.clear();
  for (std::size_t at = 0; at < nodes; ++at) scratch_nodes_.emplace_back(at);
  if (row.indexed) {
    rate(state, row, scratch_nodes_, scratch_ratings_);
    for (std::size_t at = 0; at < nodes; ++at) row.index.set(NodeIndex(at), scratch_ratings_[at]);
  }
  row.index.seen = log_.end();
  return row;
}

void Workspace::describe(const State& state, ClassRow& row, NodeIndex node) {
  const View here = view(state);
  const bool open = state.fleet().open(node);
  row.described[node.value()] =
      open && std::ranges::all_of(row.description_filters, [&](const Filter* filter) {
        return filter->check(row.task, here, node).ok();
      });
}

const TaskClass& Workspace::task_class(const State& state, ShapeIndex shape) {
  return class_row(state, shape).task;
}

bool Workspace::passes(const View& view, const ClassRow& row, NodeIndex node) const {
  if (row.described[node.value()] == 0 || !fits(row.task, view, node)) return false;
  return std::ranges::all_of(row.node_filters, [&](const Filter* filter) {
    return filter->check(row.task, view, node).ok();
  });
}

/// Ratings of `nodes`, in their order.
void Workspace::rate(const State& state, const ClassRow& row, std::vector<NodeIndex>& nodes,
                     std::vector<ClassIndex::Rating>& out) {
  const View here = view(state);
  out.assign(nodes.size(), ClassIndex::unfit);
  std::size_t kept = 0;
  // Survivors move to the front of `nodes`; `out` first remembers where each came from.
  std::vector<std::uint64_t>& origin = scratch_sums_;
  origin.clear();
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (!passes(here, row, nodes[at])) continue;
    origin.push_back(at);
    nodes[kept++] = nodes[at];
  }
  if (kept == 0) return;
  const std::span<const NodeIndex> survivors(nodes.data(), kept);
  scratch_permille_.resize(kept);
  std::uint64_t weights = 0;
  for (const WeightedScore& weighted : policies_.scores) weights += weighted.weight;
  if (policies_.scores.size() == 1) {
    policies_.scores.front().score->rate(row.task, here, survivors, scratch_permille_);
    for (std::size_t at = 0; at < kept; ++at) {
      out[origin[at]] = static_cast<ClassIndex::Rating>(1 + scratch_permille_[at]);
    }
    return;
  }
  std::vector<std::uint64_t> sums(kept);
  for (const WeightedScore& weighted : policies_.scores) {
    weighted.score->rate(row.task, here, survivors, scratch_permille_);
    for (std::size_t at = 0; at < kept; ++at) {
      sums[at] += std::uint64_t{weighted.weight} * scratch_permille_[at];
    }
  }
  for (std::size_t at = 0; at < kept; ++at) {
    out[origin[at]] = static_cast<ClassIndex::Rating>(1 + sums[at] / weights);
  }
}

void Workspace::repair(const State& state, ClassRow& row) {
  scratch_nodes_.clear();
  if (log_.reaches(row.index.seen) && log_.end() - row.index.seen < row.index.size()) {
    for (std::uint64_t at = row.index.seen; at < log_.end(); ++at) {
      if (last_touched_[log_[at].value()] == at) scratch_nodes_.push_back(log_[at]);
    }
  } else {
    for (std::size_t at = 0; at < row.index.size(); ++at) scratch_nodes_.emplace_back(at);
  }
  row.index.seen = log_.end();
  if (scratch_nodes_.empty()) return;
  std::vector<NodeIndex> nodes = scratch_nodes_;
  rate(state, row, nodes, scratch_ratings_);
  for (std::size_t at = 0; at < scratch_nodes_.size(); ++at) {
    row.index.set(scratch_nodes_[at], scratch_ratings_[at]);
  }
}

NodeIndex Workspace::best(const State& state, ShapeIndex shape) {
  ClassRow& row = class_row(state, shape);
  if (!row.indexed) return best_by_scan(state, shape);
  repair(state, row);
  return row.index.best();
}

NodeIndex Workspace::best_by_scan(const State& state, ShapeIndex shape) {
  ClassRow& row = class_row(state, shape);
  // Differs from decision to decision, and is the same in every replay.
  row.task.cycle_seed = state.version() * 1024 + (log_.end() & 1023U);
  std::vector<NodeIndex> nodes;
  for (std::size_t at = 0; at < state.fleet().size(); ++at) nodes.emplace_back(at);
  rate(state, row, nodes, scratch_ratings_);
  NodeIndex best;
  ClassIndex::Rating highest = ClassIndex::unfit;
  for (std::size_t at = 0; at < scratch_ratings_.size(); ++at) {
    if (scratch_ratings_[at] <= highest) continue;
    highest = scratch_ratings_[at];
    best = NodeIndex(at);
  }
  return best;
}

}  // namespace tutti
