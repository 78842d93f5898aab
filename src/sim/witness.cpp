#include "sim/witness.h"

#include <algorithm>
#include <concepts>

namespace tutti {

void Witness::before(const State& state, const Event& event) {
  mixes_before_ = state.mix_version();
  std::visit(
      [&](const auto& what) {
        if constexpr (requires { hear(state, what); }) hear(state, what);
      },
      event);
}

bool Witness::is_news(const State& state, const TaskId& id, std::uint32_t attempt) {
  const TaskIndex index = state.find(id);
  if (!index.valid()) {
    seen_.count(RarePath::report_of_forgotten);
    return false;
  }
  const Task& task = state.tasks()[index];
  if (attempt < task.attempt) seen_.count(RarePath::report_outdated);
  if (attempt == task.attempt && !holds(task.phase)) seen_.count(RarePath::report_repeated);
  return attempt == task.attempt && holds(task.phase);
}

void Witness::hear(const State& state, const TaskStarted& report) {
  if (!is_news(state, report.task, report.attempt)) return;
  const TaskPhase phase = state.tasks()[state.find(report.task)].phase;
  if (phase == TaskPhase::running) seen_.count(RarePath::report_repeated);
}

void Witness::hear(const State& state, const TaskExited& report) {
  if (!is_news(state, report.task, report.attempt)) return;
  const TaskPhase phase = state.tasks()[state.find(report.task)].phase;
  if (phase == TaskPhase::assigned) seen_.count(RarePath::exit_before_start);
  if (phase == TaskPhase::stopping && report.exit_code == 0) {
    seen_.count(RarePath::ended_while_stopping);
  }
}

void Witness::hear(const State& state, const TaskRefused& report) {
  static_cast<void>(is_news(state, report.task, report.attempt));
}

void Witness::hear(const State& state, const JobCancelled& event) {
  const JobIndex index = state.find(event.id);
  if (!index.valid()) return;
  const Job& job = state.jobs()[index];
  for (std::uint32_t offset = 0; offset < job.tasks; ++offset) {
    const TaskIndex task(job.first_task.value() + offset);
    if (state.tasks()[task].phase != TaskPhase::assigned) continue;
    return seen_.count(RarePath::cancelled_at_launch);
  }
}

void Witness::hear(const State& state, const DeviceHealthChanged& event) {
  if (event.health == Health::online) return;
  const auto node = state.fleet().find(event.node);
  for (std::size_t at = 0; node && at < state.tasks().size(); ++at) {
    const Task& task = state.tasks()[TaskIndex(at)];
    if (!task.gang.valid() || !holds(task.phase) || task.node != *node) continue;
    if (!task.devices.contains(event.ordinal)) continue;
    return seen_.count(RarePath::device_lost_in_use);
  }
}

void Witness::after(const State& state, const Event& event, const Plan& plan) {
  const std::uint64_t said = std::holds_alternative<MixSet>(event) ? 1 : 0;
  if (state.mix_version() > mixes_before_ + said) seen_.count(RarePath::mix_learned);
  if (const auto* reported = std::get_if<NodeReported>(&event)) {
    const NodeIndex node = *state.fleet().find(reported->node.name);
    const bool overdrawn =
        std::ranges::any_of(state.usage().free(node), [](auto free) { return free < 0; });
    if (overdrawn) seen_.count(RarePath::node_overdrawn);
  }
  for (const Action& action : plan.actions) {
    if (action.kind == ActionKind::place) see_placed(state, event, action);
  }
}

void Witness::see_placed(const State& state, const Event& event, const Action& action) {
  const Task& task = state.tasks()[state.find(action.task)];
  const GangShape& shape = state.gang_shape(state.gangs()[task.gang].shape);
  if (shape.roles[task.role].alternatives.front() != action.shape) {
    seen_.count(RarePath::second_choice_taken);
  }
  const auto* refused = std::get_if<TaskRefused>(&event);
  if (refused != nullptr && refused->task == action.task) {
    seen_.count(RarePath::refused_placed_again);
  }
}

}  // namespace tutti
