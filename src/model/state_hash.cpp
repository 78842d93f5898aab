/// The fingerprint of State. What is described once (types, shapes, queues) is hashed as its JSON,
/// so that a field added later changes no hash while it has its default.
#include "base/hash.h"
#include "format/json.h"
#include "model/codec_write.h"
#include "model/state.h"

namespace tutti {
namespace {

Hash& add(Hash& hash, std::int64_t number) { return hash.add(static_cast<std::uint64_t>(number)); }

template <class T>
void add_all(Hash& hash, const std::vector<T>& items) {
  std::string json;
  JsonWriter writer(json);
  codec::Writer(writer).write(items);
  hash.add(json);
}

template <codec::Described T>
void add(Hash& hash, const T& value) {
  std::string json;
  JsonWriter writer(json);
  codec::Writer(writer).write(value);
  hash.add(json);
}

void add(Hash& hash, const Labels& labels) {
  hash.add(labels.all().size());
  for (const Label& label : labels.all()) hash.add(label.key).add(label.value);
}

void add(Hash& hash, const Node& node) {
  hash.add(node.name).add(node.pool.value()).add(node.open()).add(node.present);
  hash.add(node.bounded_pods).add(node.capacity.amounts().size());
  for (const Resources::Amount& part : node.capacity.amounts()) {
    add(hash.add(part.lane.value()), part.amount);
  }
  add(hash, node.labels);
  hash.add(node.taints.size()).add(node.stack.size());
  for (const Taint& taint : node.taints) {
    hash.add(taint.key).add(taint.value).add(static_cast<std::uint64_t>(taint.effect));
  }
  for (const StackVersion& version : node.stack) hash.add(version.name).add(version.version);
  if (node.cordoned_by_operator) hash.add("cordoned by an operator");
  if (node.draining) hash.add("draining");
}

void add(Hash& hash, const State& state, NodeIndex index) {
  const Fleet& fleet = state.fleet();
  add(hash, fleet.node(index));
  for (const std::int64_t free : state.usage().free(index)) add(hash, free);
  for (std::uint32_t row = fleet.device_begin(index); row < fleet.device_end(index); ++row) {
    const Device& device = fleet.device(row);
    hash.add(device.type.value()).add(static_cast<std::uint64_t>(device.health));
    hash.add(static_cast<std::uint64_t>(device.mode)).add(device.island).add(device.numa);
    hash.add(device.parent).add(device.id).add(state.usage().used_permille(row));
    add(hash, state.usage().used_mib(row));
  }
}

void add(Hash& hash, const GangShape& gang) {
  hash.add(gang.closeness.level).add(gang.closeness.required).add(gang.groups.size());
  for (const GangShape::Group& group : gang.groups) {
    hash.add(group.closeness.level).add(group.closeness.required).add(group.roles);
  }
  for (const GangShape::Role& role : gang.roles) {
    hash.add(role.count).add(role.min).add(role.alternatives.size());
    for (const ShapeIndex shape : role.alternatives) hash.add(shape.value());
  }
}

void add(Hash& hash, const Task& task) {
  hash.add(task.shape.value()).add(task.node.value()).add(task.attempt);
  hash.add(task.devices.words()[0]).add(task.devices.words()[1]);
  hash.add(static_cast<std::uint64_t>(task.phase));
}

void add(Hash& hash, const State& state, const Job& job) {
  const JobSpec& spec = *job.spec;
  hash.add(job.id.value()).add(job.done).add(job.cancelled);
  add(add(hash, job.submitted.us), spec.priority);
  hash.add(spec.name).add(spec.queue).add(spec.user).add(spec.space);
  if (job.held) hash.add("held");
  if (spec.rules != JobRules{}) add(hash, spec.rules);
  if (job.awaits > 0) hash.add("awaits").add(job.awaits);
  if (job.admitted < job.gangs) hash.add("admitted").add(job.admitted);
  add(hash, spec.labels);
  for (std::uint32_t at = 0; at < job.gangs; ++at) {
    const Gang& gang = state.gangs()[GangIndex(job.first_gang.value() + at)];
    hash.add(gang.shape.value());
    if (gang.fate != Fate::none) hash.add("fate").add(static_cast<std::uint64_t>(gang.fate));
    if (gang.retries > 0) hash.add("retries").add(gang.retries);
    if (gang.refusals > 0) {
      hash.add("refusals").add(gang.refusals).add(gang.refused_attempt);
    }
  }
  for (std::uint32_t at = 0; at < job.tasks; ++at) {
    add(hash, state.tasks()[TaskIndex(job.first_task.value() + at)]);
  }
}

void add(Hash& hash, const ArrivalCounts& arrivals) {
  hash.add(arrivals.seen());
  for (std::size_t at = 0; at < arrivals.counts().size(); ++at) {
    if (arrivals.counts()[at] != 0) hash.add(at).add(arrivals.counts()[at]);
  }
}

}  // namespace

std::uint64_t State::hash() const {
  Hash hash;
  add(hash, now_.us);
  hash.add(version_).add(fleet_.lanes().size());
  for (std::size_t at = 0; at < fleet_.lanes().size(); ++at)
    hash.add(fleet_.lanes().name(Lane(at)));
  for (const Pool& pool : fleet_.pools()) hash.add(pool.name);
  add_all(hash, fleet_.types());
  add_all(hash, fleet_.trees());
  for (std::size_t at = 0; at < fleet_.size(); ++at) add(hash, *this, NodeIndex(at));
  hash.add(shapes_.size());
  for (const ShapeRow& row : shapes_) add(hash, row.spec);
  for (const GangShape& gang : gang_shapes_) add(hash, gang);
  for (std::size_t at = 0; at < jobs_.size(); ++at) {
    const Job& job = jobs_[JobIndex(at)];
    if (job.id.valid()) add(hash, *this, job);
  }
  for (std::size_t at = 0; at < queues_.size(); ++at) {
    add(hash, queues_[at].spec);
    add(hash, queue_usage_[at].gpu_milli);
    for (const std::int64_t amount : queue_usage_[at].lanes) add(hash, amount);
  }
  for (const Timers::Timer& timer : timers_.all()) {
    add(hash, timer.at.us).add(timer.gang.value()).add(static_cast<std::uint64_t>(timer.kind));
  }
  for (const MixRow& row : mix_) hash.add(row.shape.value()).add(row.count);
  // Where the mix is given, nothing follows from the arrivals.
  if (mix_learned_) add(hash, arrivals_);
  return hash.value();
}

}  // namespace tutti
