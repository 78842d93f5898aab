#include "sched/workspace.h"

#include <algorithm>

namespace tutti {

// --- Catching up with State ---------------------------------------------------------------------

void Workspace::sync(const State& state) {
  held_ = 0;
  const bool outrun = built_ && !state.changes().reaches(synced_);
  if (outrun) took(RarePath::log_outrun);
  if (!built_ || outrun) rebuild(state);
  if (classes_.shapes() != state.shape_count()) classes_.shapes_changed(state);
  while (synced_ < state.changes().end()) sync_change(state, state.changes()[synced_++]);
  wake_forgotten(state);
}

void Workspace::rebuild(const State& state) {
  usage_ = state.usage();
  queue_usage_.clear();
  for (std::size_t at = 0; at < state.queue_count(); ++at) {
    queue_usage_.push_back(state.queue_usage(QueueIndex(at)));
  }
  classes_.reset(factory_->build(state), view(state));
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
      if (!classes_.knows(node)) break;  // A `fleet` change follows or came before.
      move_tasks(state, node);
      usage_.copy_node(state.fleet(), state.usage(), node);
      classes_.description_changed(view(state), node);
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
    case Change::Kind::mix:  // Changes what is preferred, but not what fits: nobody wakes.
      classes_.reset(factory_->build(state), view(state));
      break;
    case Change::Kind::fleet:
      rebuild(state);
      break;
  }
}

void Workspace::refresh_node(const State& state, NodeIndex node) {
  move_tasks(state, node);
  if (!usage_.copy_node(state.fleet(), state.usage(), node)) return;
  classes_.usage_changed(node);
  pending_.wake(Wake::capacity_freed);
}

/// Tells the classes which tasks of State are not in the mirror yet, or no more.
void Workspace::move_tasks(const State& state, NodeIndex node) {
  if (!classes_.counts_tasks()) return;
  const auto move = [&](ShapeIndex shape, std::int64_t by) {
    if (by == 0) return;
    classes_.tasks_changed(shape, node, by);
    company_changed(state, shape);
  };
  const std::span<const Usage::ShapeCount> old = usage_.shapes(node);
  const std::span<const Usage::ShapeCount> now = state.usage().shapes(node);
  auto before = old.begin();
  for (const Usage::ShapeCount& here : now) {
    for (; before != old.end() && before->shape < here.shape; ++before) {
      move(before->shape, -std::int64_t{before->count});
    }
    const bool known = before != old.end() && before->shape == here.shape;
    move(here.shape, std::int64_t{here.count} - (known ? before++->count : 0));
  }
  for (; before != old.end(); ++before) move(before->shape, -std::int64_t{before->count});
}

/// Wakes whom the number of tasks of this shape may concern.
void Workspace::company_changed(const State& state, ShapeIndex counted) {
  classes_.each_counting(counted, [&](ShapeIndex of) { pending_.company_changed(state, of); });
}

/// A class that is forgotten hears of nobody, so those who wait for company try again.
void Workspace::wake_forgotten(const State& state) {
  for (const ShapeIndex shape : classes_.forgotten()) pending_.company_changed(state, shape);
}

void Workspace::settle(const State& state, std::span<const Action> actions) {
  wake_forgotten(state);
  for (const Action& action : actions) company_changed(state, action.shape);
}

RarePaths Workspace::rare_paths() const {
  RarePaths all = rare_paths_;
  all.add(classes_.rare_paths());
  return all;
}

// --- Trying things out --------------------------------------------------------------------------

void Workspace::hold(const State& state, ShapeIndex shape, NodeIndex node,
                     const DeviceSet& devices) {
  usage_.hold(state.fleet(), shape, state.shape(shape), node, devices);
  classes_.tasks_changed(shape, node, 1);
  ++held_;
  classes_.usage_changed(node);
}

void Workspace::release(const State& state, ShapeIndex shape, NodeIndex node,
                        const DeviceSet& devices) {
  usage_.release(state.fleet(), shape, state.shape(shape), node, devices);
  classes_.tasks_changed(shape, node, -1);
  --held_;
  classes_.usage_changed(node);
}

}  // namespace tutti
