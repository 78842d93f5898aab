#include "model/standing.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace tutti {
namespace {

/// Cards of the node that a request of the shape takes, and that have room for its share.
std::vector<std::uint32_t> with_room(const State& state, const ShapeRow& shape, std::size_t request,
                                     NodeIndex node) {
  const Fleet& fleet = state.fleet();
  const Usage& usage = state.usage();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    const TypeIndex type = fleet.device_type(row);
    const Hold& hold = shape.hold[type.value()];
    const std::int64_t memory = fleet.types()[type.value()].memory_mib;
    const bool room = usage.used_permille(row) + hold.compute_permille <= DeviceRequest::whole &&
                      (memory == 0 || usage.used_mib(row) + hold.memory_mib <= memory);
    if (hold.request == request && room) rows.push_back(row);
  }
  std::ranges::stable_sort(rows, std::greater<>(),
                           [&](std::uint32_t row) { return usage.used_permille(row); });
  return rows;
}

Standing standing_as(const State& state, ShapeIndex index, NodeIndex node) {
  const ShapeRow& shape = state.shape(index);
  Standing out{.shape = index, .devices = {}, .complete = true};
  for (std::size_t request = 0; request < shape.spec.devices.size(); ++request) {
    const std::vector<std::uint32_t> rows = with_room(state, shape, request, node);
    const std::size_t count = shape.spec.devices[request].count;
    out.complete &= rows.size() >= count;
    for (std::size_t at = 0; at < std::min(count, rows.size()); ++at) {
      out.devices.add(rows[at] - state.fleet().device_begin(node));
    }
  }
  return out;
}

}  // namespace

Standing standing(const State& state, TaskIndex index, NodeIndex node) {
  const Task& task = state.tasks()[index];
  const GangShape& gang = state.gang_shape(state.gangs()[task.gang].shape);
  const std::vector<ShapeIndex>& alternatives = gang.roles[task.role].alternatives;
  for (const ShapeIndex shape : alternatives) {
    Standing out = standing_as(state, shape, node);
    if (out.complete) return out;
  }
  return standing_as(state, alternatives.front(), node);
}

}  // namespace tutti
