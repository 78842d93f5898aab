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
  tried_ = 0;
  // A new shape may have moved the rows of all.
  if (shapes_seen_ != state.shape_count()) {
    for (const auto& row : classes_) row->task.row = &state.shape(row->task.shape);
    shapes_seen_ = state.shape_count();
  }
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
  all_nodes_.clear();
  for (std::size_t at = 0; at < state.fleet().size(); ++at) all_nodes_.emplace_back(at);
  domains_.clear();
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
      domains_.clear();
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
  choose_policies(row);
  const std::size_t nodes = state.fleet().size();
  row.described.resize(nodes);
  for (std::size_t at = 0; at < nodes; ++at) describe(state, row, NodeIndex(at));
  row.index.reset(nodes);
  row.index.seen = log_.end() - nodes;  // As old as can be: the first repair rates every node.
  return row;
}

/// The filters and scores that have something to say about the class.
void Workspace::choose_policies(ClassRow& row) const {
  row.indexed = true;
  for (const auto& filter : policies_.filters) {
    if (!filter->concerns(row.task)) continue;
    const Depends depends = filter->depends_on();
    if (depends == Depends::class_and_description) row.description_filters.push_back(filter.get());
    if (depends == Depends::class_and_node) row.node_filters.push_back(filter.get());
    if (depends == Depends::everything) row.fleet_filters.push_back(filter.get());
  }
  row.indexed = row.fleet_filters.empty();
  for (const WeightedScore& weighted : policies_.scores) {
    if (!weighted.score->concerns(row.task)) continue;
    row.scores.push_back(&weighted);
    row.indexed &= weighted.score->depends_on() != Depends::everything &&
                   !weighted.score->looks_at_others(row.task);
  }
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

/// Rates the survivors, in their order.
void Workspace::rate_survivors(const State& state, const ClassRow& row) {
  const View here = view(state);
  ratings_.resize(survivors_.size());
  if (survivors_.empty()) return;
  if (row.scores.size() == 1) {
    row.scores.front()->score->rate(row.task, here, survivors_, ratings_);
    return;
  }
  sums_.assign(survivors_.size(), 0);
  std::uint64_t weights = 0;
  for (const WeightedScore* weighted : row.scores) {
    weighted->score->rate(row.task, here, survivors_, ratings_);
    weights += weighted->weight;
    for (std::size_t at = 0; at < sums_.size(); ++at) {
      sums_[at] += std::uint64_t{weighted->weight} * ratings_[at];
    }
  }
  for (std::size_t at = 0; at < sums_.size(); ++at) {
    ratings_[at] = static_cast<Permille>(sums_[at] / weights);
  }
}

/// Brings the ratings of all nodes that changed since the class was last asked up to date.
void Workspace::repair(const State& state, ClassRow& row) {
  const View here = view(state);
  survivors_.clear();
  const auto sort_out = [&](NodeIndex node) {
    if (may_fit(*row.task.row, usage_, node) && passes(here, row, node)) {
      survivors_.push_back(node);
    } else {
      row.index.set(node, ClassIndex::unfit);
    }
  };
  if (log_.reaches(row.index.seen) && log_.end() - row.index.seen < row.index.size()) {
    for (std::uint64_t at = row.index.seen; at < log_.end(); ++at) {
      const NodeIndex node = log_[at];
      if (last_touched_[node.value()] == at) sort_out(node);  // Only its newest entry counts.
    }
  } else {
    for (std::size_t at = 0; at < row.index.size(); ++at) sort_out(NodeIndex(at));
  }
  row.index.seen = log_.end();
  rate_survivors(state, row);
  for (std::size_t at = 0; at < survivors_.size(); ++at) {
    row.index.set(survivors_[at], static_cast<ClassIndex::Rating>(1 + ratings_[at]));
  }
}

NodeIndex Workspace::best(const State& state, ShapeIndex shape) {
  ClassRow& row = class_row(state, shape);
  if (!row.indexed) return best_by_scan(state, shape);
  repair(state, row);
  return row.index.best();
}

NodeIndex Workspace::best_by_scan(const State& state, ShapeIndex shape) {
  return best_by_scan(state, class_row(state, shape), all_nodes_);
}

NodeIndex Workspace::best_by_scan(const State& state, ClassRow& row,
                                  std::span<const NodeIndex> nodes) {
  // Differs from decision to decision, and is the same in every replay: State's version and what
  // the running cycle has tried so far.
  row.task.cycle_seed = state.version() * 1024 + ++tried_;
  const View here = view(state);
  survivors_.clear();
  for (const NodeIndex node : nodes) {
    if (passes(here, row, node)) survivors_.push_back(node);
  }
  for (const Filter* filter : row.fleet_filters) filter->narrow(row.task, here, survivors_);
  rate_survivors(state, row);
  const auto best = std::ranges::max_element(ratings_);
  if (best == ratings_.end()) return NodeIndex::none();
  return survivors_[static_cast<std::size_t>(best - ratings_.begin())];
}

NodeIndex Workspace::best_among(const State& state, ShapeIndex shape,
                                std::span<const NodeIndex> nodes) {
  ClassRow& row = class_row(state, shape);
  if (!row.indexed) return best_by_scan(state, row, nodes);
  repair(state, row);
  NodeIndex best;
  ClassIndex::Rating highest = ClassIndex::unfit;
  for (const NodeIndex node : nodes) {
    if (row.index.rating(node) <= highest) continue;
    highest = row.index.rating(node);
    best = node;
  }
  return best;
}

const Domains& Workspace::domains(const State& state, std::string_view level) {
  for (const auto& known : domains_) {
    if (known->level == level) return *known;
  }
  domains_.push_back(std::make_unique<Domains>(Domains::of(state.fleet(), level)));
  return *domains_.back();
}

}  // namespace tutti
