#include "engine/engine.h"

#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "policy/learned_mix.h"

namespace tutti {

Engine::Engine(Journal& journal, Backend& backend, const PolicyFactory& factory, CycleLimits limits)
    : journal_(journal),
      backend_(backend),
      factory_(&factory),
      cycle_(limits),
      workspace_(factory) {}

Engine::Engine(Journal& journal, Backend& backend, const RecipeFactory& factory, CycleLimits limits)
    : Engine(journal, backend, static_cast<const PolicyFactory&>(factory), limits) {
  if (factory.recipe().learn_mix) learn_every_ = factory.recipe().learn_every;
}

Result<Engine::Step> Engine::step(std::span<const Event> inbox, Instant now) {
  Step step;
  step.refused = TRY(take(inbox, now));
  step.plan = TRY(decide(now));
  return step;
}

Result<std::vector<Engine::Refused>> Engine::take(std::span<const Event> inbox, Instant now) {
  std::vector<Refused> refused;
  const auto due = state_.timers().next();
  const bool told = !inbox.empty() && std::holds_alternative<TimePassed>(inbox.front());
  if (due && *due <= now && !told) TRY(append(TimePassed{}, now));
  TRY(journal_.append(inbox, now));
  for (std::size_t at = 0; at < inbox.size(); ++at) {
    const JournalRow row = ++rows_;
    // An event may be admissible only because of one before it, so each is judged in its turn. What
    // is refused was journaled, and a replay refuses it again.
    if (auto admitted = state_.admissible(inbox[at]); !admitted) {
      refused.push_back({at, std::move(admitted).error()});
      continue;
    }
    apply(row, inbox[at], now);
  }
  return refused;
}

Result<Plan> Engine::decide(Instant now) {
  Plan all;
  TRY(learn(now));
  // What was placed may make room beside it for a task that follows it: until nothing moves.
  do {
    Plan plan = cycle_.run(state_, workspace_);
    all.decisions.insert(all.decisions.end(), plan.decisions.begin(), plan.decisions.end());
    if (plan.actions.empty()) break;
    if (!all.actions.empty()) workspace_.took(RarePath::cycle_repeated);
    TRY(carry_out(plan, now));
    all.actions.insert(all.actions.end(), plan.actions.begin(), plan.actions.end());
    workspace_.sync(state_);  // Who got a part of what it wants waits for the rest from now on.
  } while (workspace_.pending().any_awake());
  return all;
}

void Engine::apply(JournalRow row, const Event& event, Instant now) {
  state_.apply(event, now);
  if (follower_ != nullptr) follower_->happened(row, event, state_);
}

Result<void> Engine::append(const Event& event, Instant now) {
  TRY(journal_.append(std::span(&event, 1), now));
  apply(++rows_, event, now);
  return {};
}

Result<void> Engine::learn(Instant now) {
  if (learn_every_ == 0) return {};
  const std::uint64_t seen_before = std::exchange(arrivals_seen_, state_.arrivals().seen());
  std::optional<MixSet> mix = learned_mix(state_, seen_before, learn_every_);
  if (!mix) return {};
  return append(*std::move(mix), now);
}

Result<void> Engine::carry_out(const Plan& plan, Instant now) {
  if (auto kept = append(PlanDecided{plan.actions}, now); !kept) {
    forget_workspace();  // It believes in a plan that does not exist.
    return kept;
  }
  for (const Action& action : plan.actions) backend_.execute(action, state_);
  return {};
}

void Engine::resume(State state, JournalRow rows) {
  CHECK(rows_ == 0 || rows_ == rows, rows_, rows);
  forget_workspace();
  state_ = std::move(state);
  rows_ = rows;
  arrivals_seen_ = state_.arrivals().seen();
}

void Engine::forget_workspace() {
  rare_paths_before_ = rare_paths();
  workspace_ = Workspace(*factory_);
}

RarePaths Engine::rare_paths() const {
  RarePaths all = rare_paths_before_;
  all.add(workspace_.rare_paths());
  return all;
}

void Engine::reconcile() {
  std::set<std::pair<TaskId, std::uint32_t>> there;  // Runs, or is about to.
  for (const Backend::Observed& each : backend_.observe()) {
    if (each.running) there.emplace(each.task, each.attempt);
  }
  for (std::size_t at = 0; at < state_.tasks().size(); ++at) {
    const TaskIndex index(at);
    const Task& task = state_.tasks()[index];
    if (!task.gang.valid() || !holds(task.phase)) continue;
    Action action{.kind = ActionKind::place,
                  .task = state_.id_of(index),
                  .attempt = task.attempt,
                  .shape = task.shape,
                  .node = task.node,
                  .devices = task.devices};
    const bool is_there = there.erase({action.task, action.attempt}) > 0;
    if (is_there && task.phase == TaskPhase::running) continue;
    if (task.phase == TaskPhase::stopping) action.kind = ActionKind::evict;
    backend_.execute(action, state_);
  }
  for (const auto& [task, attempt] : there) {
    backend_.execute({.kind = ActionKind::evict, .task = task, .attempt = attempt}, state_);
  }
}

}  // namespace tutti
