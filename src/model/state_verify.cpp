/// The invariants of State, recomputed from scratch.
#include <map>

#include "base/check.h"
#include "model/state.h"

namespace tutti {
namespace {

/// Usage as it must be: nothing held, then every holding task booked once.
Usage recount(const State& state) {
  const Fleet& fleet = state.fleet();
  Usage usage;
  usage.resize(fleet, {});
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    usage.recapacitate(fleet, NodeIndex(at), {}, true);
    usage.reopen(fleet, NodeIndex(at));
  }
  for (std::size_t at = 0; at < state.tasks().size(); ++at) {
    const Task& task = state.tasks()[TaskIndex(at)];
    if (!task.gang.valid() || !holds(task.phase)) continue;
    usage.hold(fleet, task.shape, state.shape(task.shape), task.node, task.devices);
  }
  return usage;
}

std::string verify_gang(const State& state, GangIndex index) {
  const Gang& gang = state.gangs()[index];
  std::uint32_t holding = 0;
  std::uint32_t stopping = 0;
  std::uint32_t done = 0;
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const TaskPhase phase = state.tasks()[TaskIndex(gang.first_task.value() + offset)].phase;
    holding += holds(phase) ? 1 : 0;
    stopping += phase == TaskPhase::stopping ? 1 : 0;
    done += ended(phase) ? 1 : 0;
  }
  if (holding == gang.holding && stopping == gang.stopping && done == gang.done) return {};
  return "gang " + to_string(index) + " counts " + std::to_string(gang.holding) + " holding, " +
         std::to_string(gang.stopping) + " stopping, " + std::to_string(gang.done) +
         " done; its tasks say " + std::to_string(holding) + ", " + std::to_string(stopping) +
         ", " + std::to_string(done);
}

}  // namespace

std::string State::verify() const {
  if (!(recount(*this) == usage_)) return "usage differs from what the tasks hold";
  for (std::uint32_t row = 0; row < fleet_.device_count(); ++row) {
    if (usage_.used_permille(row) <= DeviceRequest::whole) continue;
    return "device " + std::to_string(row) + " is held to " +
           std::to_string(usage_.used_permille(row)) + " per mille";
  }
  for (std::size_t at = 0; at < gangs_.size(); ++at) {
    const GangIndex gang(at);
    if (!gangs_[gang].job.valid()) continue;
    if (std::string wrong = verify_gang(*this, gang); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace tutti
