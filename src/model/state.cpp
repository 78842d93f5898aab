#include "model/state.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace tutti {
namespace {

constexpr std::size_t known_specs = 256;

}  // namespace

State::State() : known_specs_(known_specs) {
  queues_.push_back({.spec = {.name = "default"}, .limit = {}});
  queue_usage_.emplace_back();
  queue_by_name_.emplace("default", QueueIndex(0));
  usage_.resize(fleet_, {});
}

std::optional<QueueIndex> State::find_queue(std::string_view name) const {
  const auto found = queue_by_name_.find(name);
  if (found == queue_by_name_.end()) return std::nullopt;
  return found->second;
}

TaskIndex State::find(const TaskId& id) const {
  const JobIndex job = job_rows_.find(id.job);
  if (!job.valid() || id.ordinal >= jobs_[job].tasks) return TaskIndex::none();
  return TaskIndex(jobs_[job].first_task.value() + id.ordinal);
}

TaskId State::id_of(TaskIndex task) const {
  const Job& job = jobs_[gangs_[tasks_[task].gang].job];
  return {job.id, task.value() - job.first_task.value()};
}

namespace {

std::int64_t memory_of(const DeviceRequest& request, const DeviceType& type) {
  if (!request.shared()) return type.memory_mib;
  if (request.memory_mib != 0) return request.memory_mib;
  // Rounded down, so that N parts of 1/N always share one card.
  return type.memory_mib * request.compute_permille / DeviceRequest::whole;
}

/// What a task keeps of a card that none of its requests takes: which of them it serves is not
/// known any more, so it counts for the greediest.
Hold kept(const TaskShape& shape, const DeviceType& type) {
  Hold hold;
  for (const DeviceRequest& request : shape.devices) {
    hold.compute_permille = std::max(hold.compute_permille, request.compute_permille);
    const std::int64_t memory = std::min(memory_of(request, type), type.memory_mib);
    hold.memory_mib = std::max(hold.memory_mib, static_cast<std::int32_t>(memory));
  }
  return hold;
}

Hold resolved(const TaskShape& shape, const DeviceType& type) {
  for (std::size_t number = 0; number < shape.devices.size(); ++number) {
    const DeviceRequest& request = shape.devices[number];
    if (!request.where.matches(type)) continue;
    const std::int64_t memory = memory_of(request, type);
    if (memory > type.memory_mib) continue;  // It would never fit on a card of this type.
    return {.request = static_cast<std::uint8_t>(number),
            .compute_permille = request.compute_permille,
            .memory_mib = static_cast<std::int32_t>(memory)};
  }
  return kept(shape, type);
}

}  // namespace

void State::resolve(ShapeRow& row) const {
  for (std::size_t at = row.hold.size(); at < fleet_.types().size(); ++at) {
    row.hold.push_back(resolved(row.spec, fleet_.types()[at]));
  }
}

ShapeIndex State::intern(const TaskShape& shape) {
  std::vector<ShapeIndex>& candidates = shapes_by_hash_[hash_of(shape)];
  for (const ShapeIndex known : candidates) {
    if (shapes_[known.value()].spec == shape) return known;
  }
  ShapeRow row{.spec = shape, .request = {}, .hold = {}};
  Resources request;
  request.set(lane::pods, 1);
  for (const NamedAmount& part : shape.resources) {
    const Lane lane = fleet_.lane_of(part.name);
    row.impossible |= !lane.valid();
    if (lane.valid()) request.set(lane, part.amount);
  }
  row.request = request.amounts();
  for (const DeviceRequest& part : shape.devices) {
    row.gpu_milli += std::int64_t{part.count} * part.compute_permille;
    row.needs_open = std::max({row.needs_open, part.compute_permille, std::uint16_t{1}});
    if (!part.shared()) row.needs_whole = static_cast<std::uint16_t>(row.needs_whole + part.count);
  }
  resolve(row);
  shapes_.push_back(std::move(row));
  candidates.emplace_back(shapes_.size() - 1);
  return candidates.back();
}

std::optional<ShapeIndex> State::find_shape(const TaskShape& shape) const {
  const auto candidates = shapes_by_hash_.find(hash_of(shape));
  if (candidates == shapes_by_hash_.end()) return std::nullopt;
  for (const ShapeIndex known : candidates->second) {
    if (shapes_[known.value()].spec == shape) return known;
  }
  return std::nullopt;
}

std::uint64_t State::hash_of_gang(const GangShape& shape) {
  Hash hash;
  for (const GangShape::Role& role : shape.roles) {
    for (const ShapeIndex alternative : role.alternatives) hash.add(alternative.value());
    hash.add(role.group).add(role.count).add(role.min);
  }
  return hash.value();
}

template <class RowOf>
GangShape State::unrolled(const GangSpec& spec, RowOf&& row_of) {
  GangShape shape{.closeness = spec.closeness, .groups = {}, .roles = {}};
  for (const GroupSpec& group : spec.groups) {
    for (std::uint32_t copy = 0; copy < group.copies; ++copy) {
      const auto number = static_cast<std::uint32_t>(shape.groups.size());
      shape.groups.push_back({.closeness = group.closeness,
                              .first_role = static_cast<std::uint32_t>(shape.roles.size()),
                              .roles = static_cast<std::uint32_t>(group.roles.size())});
      for (const RoleSpec& role : group.roles) {
        GangShape::Role row{.group = number,
                            .first_task = shape.tasks,
                            .count = role.count,
                            .min = role.min,
                            .alternatives = {}};
        for (const TaskShape& alternative : role.alternatives) {
          row.alternatives.push_back(row_of(alternative));
        }
        shape.tasks += role.count;
        shape.min += role.min;
        shape.roles.push_back(std::move(row));
      }
    }
  }
  return shape;
}

std::optional<GangShapeIndex> State::find_shape(const GangShape& shape) const {
  const auto candidates = gang_shapes_by_hash_.find(hash_of_gang(shape));
  if (candidates == gang_shapes_by_hash_.end()) return std::nullopt;
  for (const GangShapeIndex known : candidates->second) {
    if (gang_shapes_[known.value()] == shape) return known;
  }
  return std::nullopt;
}

std::optional<GangShapeIndex> State::find_shape(const GangSpec& spec) const {
  return find_shape(unrolled(
      spec, [&](const TaskShape& each) { return find_shape(each).value_or(ShapeIndex()); }));
}

GangShapeIndex State::intern(const GangSpec& spec) {
  GangShape shape = unrolled(spec, [&](const TaskShape& each) { return intern(each); });
  if (const auto known = find_shape(shape)) return *known;
  std::vector<GangShapeIndex>& candidates = gang_shapes_by_hash_[hash_of_gang(shape)];
  gang_shapes_.push_back(std::move(shape));
  candidates.emplace_back(gang_shapes_.size() - 1);
  return candidates.back();
}

GangShapeIndex State::intern_cached(const std::shared_ptr<const GangSpec>& spec) {
  const auto address = reinterpret_cast<std::uintptr_t>(spec.get());
  KnownSpec& slot = known_specs_[tutti::mix(address) % known_specs_.size()];
  if (slot.spec != spec) slot = {spec, intern(*spec)};
  return slot.shape;
}

}  // namespace tutti
