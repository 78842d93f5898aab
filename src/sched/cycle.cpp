#include "sched/cycle.h"

#include <algorithm>
#include <array>

#include "sched/gang.h"

namespace tutti {
namespace {

bool runs(const Task& task) { return holds(task.phase) && task.phase != TaskPhase::stopping; }

void stop_all(Txn& txn, const Gang& gang) {
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const TaskIndex task(gang.first_task.value() + offset);
    if (runs(txn.state().tasks()[task])) txn.evict(task);
  }
}

/// Stops what runs on nodes that are to be empty, and all of a gang that cannot do without it.
bool leave_drained(Txn& txn, const Gang& gang) {
  const State& state = txn.state();
  if (!state.fleet().any_draining()) return false;
  std::vector<TaskIndex> leaving;
  const GangShape& shape = state.gang_shape(gang.shape);
  std::vector<std::uint32_t> stays(shape.roles.size());
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const TaskIndex index(gang.first_task.value() + offset);
    const Task& task = state.tasks()[index];
    if (runs(task) && state.fleet().node(task.node).draining) {
      leaving.push_back(index);
    } else if (stands(task.phase)) {
      ++stays[task.role];
    }
  }
  if (leaving.empty()) return false;
  for (std::size_t role = 0; role < stays.size(); ++role) {
    if (stays[role] >= shape.roles[role].min) continue;
    stop_all(txn, gang);
    return true;
  }
  for (const TaskIndex task : leaving) txn.evict(task);
  return true;
}

/// A gang that lost members gets them replaced at once, before anything new starts, or else stops
/// as a whole. What is left of a cancelled job stops, and of a gang that is to end.
void repair(Txn& txn, GangIndex index) {
  const State& state = txn.state();
  const Gang& gang = state.gangs()[index];
  if (!gang.job.valid() || gang.stopping == gang.holding) return;
  const Job& job = state.jobs()[gang.job];
  const bool doomed = job.cancelled || gang.fate != Fate::none;
  if (!doomed) {
    if (leave_drained(txn, gang)) return txn.took(RarePath::node_drained);
    if (gang.stopping > 0 || whole(state, index)) return;
    const Txn::Mark mark = txn.mark();
    if (!job.held && place_gang(txn, index)) {
      txn.keep(mark);
      return txn.took(RarePath::gang_mended);
    }
    txn.rollback(mark);
  }
  txn.took(doomed ? RarePath::rest_stopped : RarePath::gang_given_up);
  stop_all(txn, gang);
}

QueueIndex queue_of(const State& state, GangIndex gang) {
  return state.jobs()[state.gangs()[gang].job].queue;
}

/// Is there room for more of a gang that was placed in part? Then what comes after it must wait
/// until the gang has taken it: in the next pass, which knows where it stands.
bool could_grow(Txn& txn, GangIndex index, Txn::Mark mark) {
  const State& state = txn.state();
  const Gang& gang = state.gangs()[index];
  if (gang.pending() <= txn.size() - mark) return false;
  const GangShape& shape = state.gang_shape(gang.shape);
  std::vector<std::uint32_t> left(shape.roles.size());
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const Task& task = state.tasks()[TaskIndex(gang.first_task.value() + offset)];
    left[task.role] += task.phase == TaskPhase::pending ? 1 : 0;
  }
  for (std::size_t at = mark; at < txn.size(); ++at) {
    --left[state.tasks()[state.find(txn.action(at).task)].role];
  }
  const QueueIndex queue = queue_of(state, index);
  for (std::size_t at = 0; at < left.size(); ++at) {
    if (left[at] == 0) continue;
    for (const ShapeIndex each : shape.roles[at].alternatives) {
      if (txn.within_limits(queue, each) && txn.workspace().best(state, each).valid()) return true;
    }
  }
  return false;
}

Decision decide(Txn& txn, GangIndex index) {
  const State& state = txn.state();
  Decision decision{.gang = index, .job = state.jobs()[state.gangs()[index].job].id};
  if (over_limit(txn, index)) {
    txn.took(RarePath::limit_held_gang);
    decision.wakes_on = Wake::queue_freed;
    return decision;
  }
  const Txn::Mark mark = txn.mark();
  const Placing placing = place_gang(txn, index);
  decision.search_limit = placing.search_limit;
  if (placing && txn.mark() > mark) {
    decision.outcome = Outcome::placed;
    txn.keep(mark);
    if (state.gangs()[index].holding > 0) txn.took(RarePath::gang_grew);
  } else {
    txn.rollback(mark);  // All of the gang, or none of it.
  }
  return decision;
}

}  // namespace

std::string_view to_text(Outcome outcome) {
  constexpr std::array<std::string_view, 3> words{"placed", "waits", "never"};
  return words[static_cast<std::size_t>(outcome)];
}

Plan Cycle::run(const State& state, Workspace& workspace) const {
  workspace.sync(state);
  Txn txn(state, workspace);
  std::vector<GangIndex>& broken = workspace.broken();
  std::ranges::sort(broken);
  const auto doubled = std::ranges::unique(broken);
  broken.erase(doubled.begin(), doubled.end());
  for (const GangIndex gang : broken) repair(txn, gang);
  broken.clear();

  Pending& pending = workspace.pending();
  pending.begin(state);
  while (txn.size() < limits_.actions) {
    const GangIndex gang = pending.next();
    if (!gang.valid()) break;
    const Txn::Mark mark = txn.mark();
    const Decision decision = decide(txn, gang);
    txn.note(decision);
    if (decision.outcome == Outcome::placed) {
      pending.placed(state);
      if (could_grow(txn, gang, mark)) break;
      continue;
    }
    const std::vector<ShapeIndex> lonely = opened_by_others(state, workspace, gang);
    if (!lonely.empty()) {
      txn.took(RarePath::company_awaited);
      pending.awaits_company(lonely);
      if (awaits_only_company(state, workspace, gang)) {
        pending.sleeps(Wake::description_changed);
        continue;
      }
    }
    pending.sleeps(decision.wakes_on);
    // It may be a limit that stopped the last of its tasks, or refused an alternative that had
    // room.
    if (txn.limited(queue_of(state, gang))) pending.sleeps(Wake::queue_freed);
  }
  pending.finish();
  return std::move(txn).finish();
}

}  // namespace tutti
