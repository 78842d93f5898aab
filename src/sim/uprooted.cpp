#include "sim/uprooted.h"

#include <algorithm>
#include <string>

namespace tutti {
namespace {

bool moves(const Labels& old, const Labels& now, const Closeness& wanted) {
  if (!wanted.required) return false;
  const std::string* const before = old.find(wanted.level);
  const std::string* const after = now.find(wanted.level);
  return before == nullptr || after == nullptr ? before != after : *before != *after;
}

bool stands_on(const State& state, const Gang& gang, NodeIndex node) {
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const Task& task = state.tasks()[TaskIndex(gang.first_task.value() + offset)];
    if (holds(task.phase) && task.node == node) return true;
  }
  return false;
}

/// Its tasks that hold something now, with the attempt of each.
std::set<std::pair<std::uint32_t, std::uint32_t>> held(const State& state, const Gang& gang) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> out;
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const Task& task = state.tasks()[TaskIndex(gang.first_task.value() + offset)];
    if (holds(task.phase)) out.emplace(offset, task.attempt);
  }
  return out;
}

}  // namespace

bool Uprooted::covers(const State& state, GangIndex index) const {
  const Gang& gang = state.gangs()[index];
  const Job& job = state.jobs()[gang.job];
  const auto known = gangs_.find({job.id, index.value() - job.first_gang.value()});
  if (known == gangs_.end()) return false;
  return std::ranges::any_of(held(state, gang),
                             [&](const auto& attempt) { return known->second.contains(attempt); });
}

void Uprooted::before(const State& state, const Event& event) {
  for (auto at = gangs_.begin(); at != gangs_.end();) {
    const JobIndex job = state.find(at->first.first);
    const GangIndex gang(job.valid() ? state.jobs()[job].first_gang.value() + at->first.second : 0);
    const bool still = job.valid() && covers(state, gang);
    if (still) at->second = held(state, state.gangs()[gang]);
    at = still ? std::next(at) : gangs_.erase(at);
  }
  const auto* const reported = std::get_if<NodeReported>(&event);
  const auto node = reported == nullptr ? std::nullopt : state.fleet().find(reported->node.name);
  if (!node || state.fleet().node(*node).labels == reported->node.labels) return;
  const Labels& old = state.fleet().node(*node).labels;
  for (std::size_t at = 0; at < state.gangs().size(); ++at) {
    const GangIndex index(at);
    const Gang& gang = state.gangs()[index];
    if (!gang.job.valid() || gang.holding == 0) continue;
    const GangShape& shape = state.gang_shape(gang.shape);
    const auto moved = [&](const GangShape::Group& group) {
      return moves(old, reported->node.labels, group.closeness);
    };
    const bool concerned = moves(old, reported->node.labels, shape.closeness) ||
                           std::ranges::any_of(shape.groups, moved);
    if (!concerned || !stands_on(state, gang, *node)) continue;
    const Job& job = state.jobs()[gang.job];
    gangs_[{job.id, index.value() - job.first_gang.value()}] = held(state, gang);
  }
}

}  // namespace tutti
