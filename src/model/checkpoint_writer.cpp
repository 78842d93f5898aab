#include <algorithm>

#include "base/check.h"
#include "base/hash.h"
#include "model/checkpoint_rows.h"
#include "model/checkpoint_specs.h"

namespace tutti {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20U;

void write_freed(BytesOut& out, std::size_t size,
                 const std::map<std::uint32_t, std::vector<std::uint32_t>>& freed) {
  out.number(size);
  out.number(freed.size());
  for (const auto& [count, firsts] : freed) {
    out.number(count);
    out.number(firsts.size());
    for (const std::uint32_t first : firsts) out.number(first);
  }
}

void write_closeness(BytesOut& out, const Closeness& closeness) {
  out.text(closeness.level);
  out.byte(closeness.required ? 1 : 0);
}

void write_gang_shape(BytesOut& out, const GangShape& shape) {
  write_closeness(out, shape.closeness);
  out.number(shape.groups.size());
  for (const GangShape::Group& group : shape.groups) {
    write_closeness(out, group.closeness);
    out.number(group.roles);
  }
  out.number(shape.roles.size());
  for (const GangShape::Role& role : shape.roles) {
    out.number(role.count);
    out.number(role.min);
    out.number(role.alternatives.size());
    for (const ShapeIndex alternative : role.alternatives) out.index(alternative);
  }
}

void write_node(BytesOut& out, codec::BytesWriter& fields, const Fleet& fleet, NodeIndex index) {
  const Node& node = fleet.node(index);
  out.text(node.name);
  out.index(node.pool);
  out.byte(checkpoint::flags(
      {node.bounded_pods, node.cordoned, node.cordoned_by_operator, node.present, node.draining}));
  out.number(node.capacity.amounts().size());
  for (const Resources::Amount& part : node.capacity.amounts()) {
    out.index(part.lane);
    out.signed_number(part.amount);
  }
  out.number(node.labels.all().size());
  for (const Label& label : node.labels.all()) fields.members(out, label);
  out.number(node.taints.size());
  for (const Taint& taint : node.taints) fields.members(out, taint);
  out.number(node.stack.size());
  for (const StackVersion& version : node.stack) fields.members(out, version);
  const auto devices = fleet.devices(index);
  out.number(devices.size());
  for (const Device& device : devices) fields.members(out, device);
}

void write_fleet(BytesOut& out, codec::BytesWriter& fields, const Fleet& fleet) {
  out.number(fleet.lanes().size());
  for (std::size_t at = 0; at < fleet.lanes().size(); ++at) out.text(fleet.lanes().name(Lane(at)));
  out.number(fleet.pools().size());
  for (const Pool& pool : fleet.pools()) {
    out.text(pool.name);
    out.text(to_text(pool.control));
  }
  out.number(fleet.types().size());
  for (const DeviceType& type : fleet.types()) fields.members(out, type);
  out.number(fleet.trees().size());
  for (const TreeSpec& tree : fleet.trees()) fields.members(out, tree);
  out.number(fleet.size());
  for (std::size_t at = 0; at < fleet.size(); ++at) write_node(out, fields, fleet, NodeIndex(at));
}

bool is_new(const GangShape::Role& role, const Task& task) {
  return task.phase == TaskPhase::pending && task.attempt == 0 &&
         task.shape == role.alternatives.front();
}

/// Has nothing happened to any of it?
bool is_new(const State& state, const Job& job) {
  for (std::uint32_t offset = 0; offset < job.gangs; ++offset) {
    const Gang& gang = state.gangs()[GangIndex(job.first_gang.value() + offset)];
    if (checkpoint::tried(gang)) return false;
  }
  for (std::uint32_t offset = 0; offset < job.tasks; ++offset) {
    const Task& task = state.tasks()[TaskIndex(job.first_task.value() + offset)];
    const GangShape& shape = state.gang_shape(state.gangs()[task.gang].shape);
    if (!is_new(shape.roles[task.role], task)) return false;
  }
  return true;
}

void write_task(BytesOut& out, const GangShape::Role& role, const Task& task) {
  const bool fresh = is_new(role, task);
  out.byte(static_cast<std::uint8_t>(static_cast<unsigned>(task.phase) |
                                     (fresh ? 0U : checkpoint::task_has_more)));
  if (fresh) return;
  const auto chosen = std::ranges::find(role.alternatives, task.shape);
  CHECK(chosen != role.alternatives.end(), task.shape);
  out.number(task.attempt);
  out.number(static_cast<std::uint64_t>(chosen - role.alternatives.begin()));
  if (!holds(task.phase)) return;
  out.index(task.node);
  for (const std::uint64_t word : task.devices.words()) out.number(word);
}

void write_gang(BytesOut& out, const State& state, const Gang& gang) {
  const bool tried = checkpoint::tried(gang);
  out.byte(tried ? 1 : 0);
  if (tried) {
    out.byte(static_cast<std::uint8_t>(gang.fate));
    out.number(gang.retries);
    out.number(gang.refusals);
    out.number(gang.refused_attempt);
  }
  const GangShape& shape = state.gang_shape(gang.shape);
  for (std::uint32_t offset = 0; offset < gang.tasks; ++offset) {
    const Task& task = state.tasks()[TaskIndex(gang.first_task.value() + offset)];
    write_task(out, shape.roles[task.role], task);
  }
}

void write_job(BytesOut& out, const State& state, const Job& job) {
  const bool fresh = is_new(state, job);
  out.byte(checkpoint::flags({job.cancelled, job.held, job.started, fresh}));
  out.number(job.id.value());
  out.signed_number(job.submitted.us);
  out.number(job.awaits);
  out.number(job.gangs - job.admitted);
  out.index(job.first_gang);
  out.index(job.first_task);
  for (std::uint32_t offset = 0; offset < job.gangs && !fresh; ++offset) {
    write_gang(out, state, state.gangs()[GangIndex(job.first_gang.value() + offset)]);
  }
}

void write_ends(BytesOut& out, const Dependents& dependents) {
  std::vector<std::pair<JobId, JobEnd>> ends;
  dependents.each_end([&](JobId job, JobEnd end) { ends.emplace_back(job, end); });
  std::ranges::sort(ends);
  out.number(ends.size());
  std::uint64_t before = 0;
  for (const auto& [job, end] : ends) {
    out.number((job.value() - before) << 2U | static_cast<std::uint64_t>(end));
    before = job.value();
  }
}

void write_mix(BytesOut& out, const State& state) {
  out.number(state.mix().size());
  for (const State::MixRow& row : state.mix()) {
    out.index(row.shape);
    out.number(row.count);
  }
  out.number(state.mix_version());
  out.byte(state.mix_learned() ? 1 : 0);
  out.number(state.arrivals().seen());
  out.number(state.arrivals().counts().size());
  for (const std::uint32_t count : state.arrivals().counts()) out.number(count);
}

}  // namespace

// --- Specs --------------------------------------------------------------------------------------

void CheckpointWriter::Specs::write_job(BytesOut& out, const std::shared_ptr<const JobSpec>& job) {
  const auto [known, fresh] = jobs_.try_emplace(job.get(), jobs_.size() + 1);
  out.number(fresh ? 0 : known->second);
  if (fresh) members(out, *job);
}

void CheckpointWriter::Specs::write_shape(BytesOut& out, const TaskShape& shape) {
  const auto row = state_.find_shape(shape);
  CHECK(row.has_value());  // What was submitted was interned.
  out.index(*row);
}

void CheckpointWriter::Specs::write_gang(BytesOut& out,
                                         const std::shared_ptr<const GangSpec>& gang) {
  BytesOut body;
  members(body, *gang);
  std::vector<std::uint64_t>& alike = gangs_by_hash_[Hash().add(body.bytes()).value()];
  for (const std::uint64_t known : alike) {
    if (*gangs_[known] == *gang) return out.number(known + 1);
  }
  alike.push_back(gangs_.size());
  gangs_.push_back(gang);
  out.number(0);
  out.append(body);
  const auto shape = state_.find_shape(*gang);
  CHECK(shape.has_value());
  out.index(*shape);
}

// --- The whole ----------------------------------------------------------------------------------

CheckpointWriter::CheckpointWriter(const State& state, Sink sink)
    : sink_(std::move(sink)), specs_(std::make_unique<Specs>(state)) {
  out_.text(checkpoint::magic);
  out_.number(format);
  codec::write_bindings(out_);
  write_state(state);
}
CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::write_state(const State& state) {
  begin("state");
  out_.signed_number(state.now().us);
  out_.number(state.version());
  write_fleet(out_, *specs_, state.fleet());
  out_.number(state.shape_count());
  for (std::size_t at = 0; at < state.shape_count(); ++at) {
    specs_->members(out_, state.shape(ShapeIndex(at)).spec);
  }
  out_.number(state.gang_shape_count());
  for (std::size_t at = 0; at < state.gang_shape_count(); ++at) {
    write_gang_shape(out_, state.gang_shape(GangShapeIndex(at)));
  }
  out_.number(state.queue_count());
  for (std::size_t at = 0; at < state.queue_count(); ++at) {
    specs_->members(out_, state.queue(QueueIndex(at)).spec);
    out_.number(state.queue_usage(QueueIndex(at)).lanes.size());
  }
  write_freed(out_, state.jobs().size(), state.jobs().freed());
  write_freed(out_, state.gangs().size(), state.gangs().freed());
  write_freed(out_, state.tasks().size(), state.tasks().freed());
  for (std::size_t at = 0; at < state.jobs().size(); ++at) {
    const Job& job = state.jobs()[JobIndex(at)];
    if (!job.id.valid()) continue;
    spec(job.spec);
    write_job(out_, state, job);
    flush_if_much();
  }
  out_.number(state.timers().all().size());
  for (const Timers::Timer& timer : state.timers().all()) {
    out_.signed_number(timer.at.us);
    out_.index(timer.gang);
    out_.byte(static_cast<std::uint8_t>(timer.kind));
  }
  write_ends(out_, state.dependents());
  write_mix(out_, state);
}

void CheckpointWriter::begin(std::string_view section) { out_.text(section); }

void CheckpointWriter::spec(const std::shared_ptr<const JobSpec>& spec) {
  specs_->write_job(out_, spec);
}

void CheckpointWriter::flush_if_much() {
  if (out_.bytes().size() < piece) return;
  sink_(out_.bytes());
  out_.clear();
}

void CheckpointWriter::finish() {
  begin(checkpoint::end);
  sink_(out_.bytes());
  out_.clear();
}

}  // namespace tutti
