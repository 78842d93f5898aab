#include "ledger/holding.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {
namespace {

std::int64_t permille_of(const Hold& hold, const DeviceType& type) {
  const std::int64_t memory =
      type.memory_mib > 0 ? std::int64_t{hold.memory_mib} * DeviceRequest::whole / type.memory_mib
                          : 0;
  return std::max<std::int64_t>(hold.compute_permille, std::min<std::int64_t>(memory, 1000));
}

}  // namespace

Holding holding_of(const State& state, const TaskMove& move) {
  const TaskIndex index = state.find(move.task);
  CHECK(index.valid() && move.node.valid(), move.task);
  const Fleet& fleet = state.fleet();
  const Task& task = state.tasks()[index];
  const ShapeRow& shape = state.shape(task.shape);
  Holding out{.task = move.task, .spec = state.jobs()[state.find(move.task.job)].spec};
  out.core_permille = shape.amount(lane::cpu);
  out.memory_mib = shape.amount(lane::memory) >> 20U;
  move.devices.each([&](unsigned ordinal) {
    const std::uint32_t row = fleet.device_begin(move.node) + ordinal;
    if (row >= fleet.device_end(move.node)) return;  // Its node does not have it any more.
    const TypeIndex type = fleet.device_type(row);
    const DeviceType& about = fleet.types()[type.value()];
    const std::int64_t share = permille_of(shape.hold[type.value()], about);
    const auto known = std::ranges::find(out.parts, about.model, &Holding::Part::model);
    if (known != out.parts.end()) {
      known->device_permille += share;
    } else {
      out.parts.push_back({about.model, share});
    }
  });
  if (out.parts.empty()) out.parts.emplace_back();
  return out;
}

}  // namespace tutti
