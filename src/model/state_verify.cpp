/// The invariants of State, recomputed from scratch.

#include "base/check.h"
#include "model/state.h"

namespace tutti {

Usage State::unused() const {
  Usage usage;
  usage.resize(fleet_, {});
  for (std::size_t at = 0; at < fleet_.size(); ++at) {
    usage.recapacitate(fleet_, NodeIndex(at), {}, true);
    usage.reopen(fleet_, NodeIndex(at));
  }
  return usage;
}

/// Nothing held, then every holding task booked once.
Usage State::recount() const {
  Usage usage = unused();
  for (std::size_t at = 0; at < tasks_.size(); ++at) {
    const Task& task = tasks_[TaskIndex(at)];
    if (!task.gang.valid() || !holds(task.phase)) continue;
    usage.hold(fleet_, task.shape, shape(task.shape), task.node, task.devices);
  }
  return usage;
}

namespace {

/// By device row: cards that some holder would not get today. They may be held to more than all.
std::vector<char> described_anew(const State& state) {
  const Fleet& fleet = state.fleet();
  std::vector<char> out(fleet.device_count());
  for (std::size_t at = 0; at < state.tasks().size(); ++at) {
    const Task& task = state.tasks()[TaskIndex(at)];
    if (!task.gang.valid() || !holds(task.phase)) continue;
    const ShapeRow& shape = state.shape(task.shape);
    task.devices.each([&](unsigned ordinal) {
      const std::uint32_t row = fleet.device_begin(task.node) + ordinal;
      out[row] |= shape.hold[fleet.device_type(row).value()].request == Hold::no_request ? 1 : 0;
    });
  }
  return out;
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
  const bool waits = state.timers().of(index, Timers::Kind::pause_over).has_value();
  if (gang.pausing != waits || (gang.pausing && gang.holding > 0)) {
    return "gang " + to_string(index) + " pauses without end, or runs meanwhile";
  }
  if (gang.fate != Fate::none && gang.holding == 0 && gang.done < gang.tasks) {
    return "gang " + to_string(index) + " was to stop, has stopped, and waits for nothing";
  }
  if (holding == gang.holding && stopping == gang.stopping && done == gang.done) return {};
  return "gang " + to_string(index) + " counts " + std::to_string(gang.holding) + " holding, " +
         std::to_string(gang.stopping) + " stopping, " + std::to_string(gang.done) +
         " done; its tasks say " + std::to_string(holding) + ", " + std::to_string(stopping) +
         ", " + std::to_string(done);
}

std::string verify_job(const State& state, const Job& job) {
  std::uint32_t done = 0;
  std::uint32_t failed = 0;
  for (std::uint32_t offset = 0; offset < job.tasks; ++offset) {
    const TaskPhase phase = state.tasks()[TaskIndex(job.first_task.value() + offset)].phase;
    done += ended(phase) ? 1 : 0;
    failed += phase == TaskPhase::failed ? 1 : 0;
  }
  if (done == job.done && failed == job.failed && done < job.tasks && job.admitted <= job.gangs &&
      job.awaits <= job.spec->rules.after.size()) {
    return {};
  }
  return "job " + to_string(job.id) + " counts " + std::to_string(job.done) + " tasks done and " +
         std::to_string(job.failed) + " failed; its tasks say " + std::to_string(done) + " and " +
         std::to_string(failed) + " of " + std::to_string(job.tasks);
}

/// Does each queue count what its own tasks and those of the queues below it hold?
std::string verify_queues(const State& state) {
  const std::size_t lanes = state.fleet().lanes().size();
  std::vector<QueueUsage> held(state.queue_count(), {.lanes = std::vector<std::int64_t>(lanes)});
  for (std::size_t at = 0; at < state.tasks().size(); ++at) {
    const Task& task = state.tasks()[TaskIndex(at)];
    if (!task.gang.valid() || !holds(task.phase)) continue;
    const ShapeRow& shape = state.shape(task.shape);
    QueueIndex queue = state.jobs()[state.gangs()[task.gang].job].queue;
    for (; queue.valid(); queue = state.queue(queue).parent) {
      QueueUsage& usage = held[queue.value()];
      for (const Resources::Amount& part : shape.request) {
        usage.lanes[part.lane.value()] += part.amount;
      }
      usage.gpu_milli += shape.gpu_milli;
    }
  }
  for (std::size_t at = 0; at < held.size(); ++at) {
    QueueUsage counted = state.queue_usage(QueueIndex(at));
    counted.lanes.resize(lanes);
    if (counted == held[at]) continue;
    return "queue " + state.queue(QueueIndex(at)).spec.name + " counts other than its tasks hold";
  }
  return {};
}

}  // namespace

std::string State::verify() const {
  if (!(recount() == usage_)) return "usage differs from what the tasks hold";
  if (std::string wrong = verify_queues(*this); !wrong.empty()) return wrong;
  const std::vector<char> renewed = described_anew(*this);
  for (std::uint32_t row = 0; row < fleet_.device_count(); ++row) {
    if (usage_.used_permille(row) <= DeviceRequest::whole || renewed[row] != 0) continue;
    return "device " + std::to_string(row) + " is held to " +
           std::to_string(usage_.used_permille(row)) + " per mille";
  }
  for (std::size_t at = 0; at < jobs_.size(); ++at) {
    const Job& job = jobs_[JobIndex(at)];
    if (!job.id.valid()) continue;
    if (std::string wrong = verify_job(*this, job); !wrong.empty()) return wrong;
  }
  for (std::size_t at = 0; at < gangs_.size(); ++at) {
    const GangIndex gang(at);
    if (!gangs_[gang].job.valid()) continue;
    if (std::string wrong = verify_gang(*this, gang); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace tutti
