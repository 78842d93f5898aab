/// The fleet, shapes and queues of a checkpoint; checkpoint_reader_jobs.cpp has the rest.
#include "model/checkpoint_reader.h"

#include <algorithm>
#include <span>

#include "base/limits.h"
#include "model/checkpoint_rows.h"
#include "model/codec_read.h"
#include "model/state_apply.h"

namespace tutti {

namespace codec {

void write_bindings(BytesOut& out) {
  out.number(Structs::size);
  std::size_t at = 0;
  Structs::each([&]<class T>(Of<T>) {
    out.text(struct_names[at++]);
    const std::vector<std::string_view> names = field_names<T>();
    out.number(names.size());
    for (const std::string_view name : names) out.text(name);
  });
}

namespace {

constexpr std::size_t bits_most = 64;

/// Which of our fields has which bit of the struct that follows.
std::vector<std::uint8_t> read_binding(BytesIn& in, std::string_view of,
                                       const std::vector<std::string_view>& ours) {
  std::vector<std::uint8_t> out;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string_view name = in.text();
    const auto found = std::ranges::find(ours, name);
    if (found == ours.end() || out.size() == bits_most) {
      in.refuse("the field \"" + std::string(name.substr(0, 40)) + "\" of " + std::string(of) +
                " is not known here");
      break;
    }
    out.push_back(static_cast<std::uint8_t>(found - ours.begin()));
  }
  return out;
}

}  // namespace

Bindings read_bindings(BytesIn& in) {
  std::array<std::vector<std::string_view>, Structs::size> ours;
  std::size_t next = 0;
  Structs::each([&]<class T>(Of<T>) { ours[next++] = field_names<T>(); });
  Bindings out;
  for (std::size_t left = in.count(); left > 0 && in.ok(); --left) {
    const std::string_view name = in.text();
    const auto found = std::ranges::find(struct_names, name);
    if (found == struct_names.end()) {
      in.refuse("\"" + std::string(name.substr(0, 40)) + "\" is not known here");
      break;
    }
    const auto at = static_cast<std::size_t>(found - struct_names.begin());
    out[at] = read_binding(in, name, ours[at]);
  }
  return out;
}

void FieldReader::read(Labels& labels) {
  std::vector<Label> all;
  read(all);
  labels = Labels(std::move(all));
}

void FieldReader::read(AttributeExpression& expression) {
  auto parsed = AttributeExpression::parse(in_.text());
  if (parsed) {
    expression = *std::move(parsed);
  } else {
    in_.refuse(parsed.error().what);
  }
}

}  // namespace codec

// --- Specs --------------------------------------------------------------------------------------

void CheckpointReader::Specs::read_shape(TaskShape& shape) {
  const auto row = in_.index<ShapeIndex>(state_.shapes(), "a shape");
  if (!in_.ok()) return;
  shape = state_.shape(row);
  shapes_met_.push_back(row);
}

void CheckpointReader::Specs::read_gang(std::shared_ptr<const GangSpec>& gang) {
  const std::uint64_t known = in_.number_to(gangs_.size(), "a gang");
  if (known > 0) {
    met_.push_back(static_cast<std::uint32_t>(known - 1));
    gang = gangs_[known - 1].spec;
    return;
  }
  auto fresh = std::make_shared<GangSpec>();
  shapes_met_.clear();
  members(*fresh);
  const auto shape = in_.index<GangShapeIndex>(state_.gang_shapes(), "the shape of a gang");
  if (!in_.ok()) return;
  if (!has_shape(*fresh, state_.shape(shape))) {
    in_.refuse("a gang has another shape than it says");
    return;
  }
  met_.push_back(static_cast<std::uint32_t>(gangs_.size()));
  gangs_.push_back({.spec = fresh, .shape = shape});
  gang = std::move(fresh);
}

/// Is that what State would have made of it? With the shapes that its roles were just read with.
bool CheckpointReader::Specs::has_shape(const GangSpec& gang, const GangShape& shape) const {
  if (gang.closeness != shape.closeness) return false;
  std::size_t next_group = 0;
  std::size_t next_role = 0;
  std::size_t first_shape = 0;  // Of the group, in shapes_met_.
  for (const GroupSpec& group : gang.groups) {
    std::size_t shapes = 0;
    for (std::uint32_t copy = 0; copy < group.copies; ++copy, ++next_group) {
      if (next_group >= shape.groups.size()) return false;
      const GangShape::Group& there = shape.groups[next_group];
      if (there.closeness != group.closeness || there.roles != group.roles.size()) return false;
      shapes = 0;
      for (const RoleSpec& role : group.roles) {
        const GangShape::Role& row = shape.roles[next_role++];
        const auto met = std::span(shapes_met_).subspan(first_shape + shapes);
        const std::size_t alternatives = role.alternatives.size();
        if (row.count != role.count || row.min != role.min || alternatives > met.size() ||
            !std::ranges::equal(row.alternatives, met.first(alternatives))) {
          return false;
        }
        shapes += alternatives;
      }
    }
    first_shape += shapes;
  }
  return next_group == shape.groups.size();
}

const CheckpointReader::Specs::Job* CheckpointReader::Specs::read_job() {
  const std::uint64_t known = in_.number_to(jobs_.size(), "a job's spec");
  if (!in_.ok()) return nullptr;
  if (known > 0) return &jobs_[known - 1];
  auto fresh = std::make_shared<JobSpec>();
  met_.clear();
  members(*fresh);
  if (!in_.ok()) return nullptr;
  if (const auto possible = check_spec(*fresh); !possible) {
    in_.refuse(possible.error().what);
    return nullptr;
  }
  jobs_.push_back({.spec = std::move(fresh), .gangs = met_});
  return &jobs_.back();
}

// --- The whole ----------------------------------------------------------------------------------

CheckpointReader::CheckpointReader(std::string_view bytes, std::uint64_t most)
    : in_(bytes), rows_most_(most) {}
CheckpointReader::~CheckpointReader() = default;

Result<void> CheckpointReader::read(State& state) {
  state_ = std::make_unique<StateReader>(*this, state);
  return state_->read();
}

bool CheckpointReader::begin(std::string_view section) {
  BytesIn ahead = in_;
  if (!in_.ok() || ahead.text() != section) return false;
  in_ = ahead;
  return true;
}

std::shared_ptr<const JobSpec> CheckpointReader::spec() {
  const Specs::Job* const job = specs_->read_job();
  return job == nullptr ? nullptr : job->spec;
}

Result<void> CheckpointReader::finish() {
  if (in_.ok() && !begin(checkpoint::end)) in_.refuse("something follows that is not known here");
  if (in_.ok() && !in_.at_end()) in_.refuse("something follows its end");
  return in_.result();
}

Result<void> StateReader::read() {
  read_head();
  TRY(in_.result());
  read_fleet();
  read_shapes();
  read_queues();
  read_tables();
  read_timers();
  read_ends();
  read_mix();
  if (in_.ok()) book();
  state_.changes_.skip_all();
  return in_.result();
}

void StateReader::read_head() {
  if (in_.text() != checkpoint::magic) {
    refuse("this is no checkpoint");
    return;
  }
  const std::uint64_t format = in_.number();
  if (format < 1 || format > CheckpointWriter::format) {
    refuse("format " + std::to_string(format) + " is newer than " +
           std::to_string(CheckpointWriter::format) + ", the newest one known here");
    return;
  }
  from_.specs_ = std::make_unique<CheckpointReader::Specs>(in_, *this);
  from_.specs_->bind(codec::read_bindings(in_));
  if (in_.ok() && in_.text() != "state") refuse("it does not begin with a state");
  state_.now_.us = in_.signed_number();
  state_.version_ = in_.number();
}

// --- The fleet ----------------------------------------------------------------------------------

void StateReader::read_fleet() {
  LaneTable lanes;
  const std::size_t count = in_.count();
  for (std::size_t at = 0; at < count && in_.ok(); ++at) {
    const auto lane = lanes.intern(in_.text());
    if (!lane || lane->value() != at) refuse("a resource stands twice, or there are too many");
  }
  std::vector<Pool> pools;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    Pool& pool = pools.emplace_back();
    pool.name = in_.text();
    const std::string_view word = in_.text();
    pool.control = Control::observe;
    while (pool.control != Control::device && to_text(pool.control) != word) {
      pool.control = static_cast<Control>(static_cast<unsigned>(pool.control) - 1);
    }
    if (to_text(pool.control) != word) refuse("an unknown control of a pool");
  }
  std::vector<DeviceType> types;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    from_.specs_->members(types.emplace_back());
  }
  if (types.size() > limits::device_types) refuse("too many types of devices");
  std::vector<TreeSpec> trees;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    from_.specs_->members(trees.emplace_back());
  }
  state_.fleet_ = Fleet(std::move(lanes), std::move(pools), std::move(types));
  state_.fleet_.set_trees(std::move(trees));
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) read_node(state_.fleet_);
  state_.usage_ = {};
  state_.usage_.resize(state_.fleet_, {});
}

void StateReader::read_node(Fleet& fleet) {
  codec::FieldReader& fields = *from_.specs_;
  NodeSpec spec{.name = std::string(in_.text())};
  const auto pool = in_.index<PoolIndex>(fleet.pools().size(), "a pool");
  const std::uint8_t flags = in_.byte();
  bool bounded = false;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    const auto lane = in_.index<Lane>(fleet.lanes().size(), "a resource");
    spec.capacity.push_back({fleet.lanes().name(lane), in_.signed_number()});
    bounded |= lane == lane::pods;
  }
  if ((flags & 1U) != 0 && !bounded) spec.capacity.push_back({"pods", 0});
  if ((flags & 1U) == 0 && bounded) refuse("a node bounds its tasks, and does not");
  std::vector<Label> labels;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    fields.members(labels.emplace_back());
  }
  spec.labels = Labels(std::move(labels));
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    fields.members(spec.taints.emplace_back());
  }
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    fields.members(spec.stack.emplace_back());
  }
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    DeviceSpec& device = spec.devices.emplace_back();
    fields.members(device.device);
    const std::size_t type = device.device.type.value();
    if (type >= fleet.types().size()) {
      refuse("a device of an unknown type");
    } else {
      device.type = fleet.types()[type];
    }
  }
  if (!in_.ok()) return;
  spec.pool = fleet.pools()[pool.value()].name;
  spec.cordoned = (flags & 2U) != 0;
  if (const auto possible = fleet.admissible(spec); !possible) {
    refuse(possible.error().what);
    return;
  }
  const std::size_t known = fleet.lanes().size() + fleet.pools().size() + fleet.types().size();
  const Fleet::Upsert done = fleet.upsert(spec);
  if (!done.added) refuse("node \"" + spec.name + "\" stands twice");
  if (fleet.lanes().size() + fleet.pools().size() + fleet.types().size() != known) {
    refuse("a type or a pool stands twice");
  }
  if ((flags & 20U) != 0) {
    fleet.set_cordoned(done.node, (flags & 4U) != 0, (flags & 16U) != 0);
    fleet.upsert(spec);  // Its own word of being closed stands beside the operator's.
  }
  if ((flags & 8U) == 0) fleet.set_present(done.node, false);
}

// --- Shapes and queues --------------------------------------------------------------------------

void StateReader::read_shapes() {
  const std::size_t lanes = state_.fleet_.lanes().size();
  const std::size_t shapes = in_.count();
  for (std::size_t at = 0; at < shapes && in_.ok(); ++at) {
    TaskShape shape;
    from_.specs_->members(shape);
    if (const auto possible = check_shape("a shape", shape); in_.ok() && !possible) {
      refuse(possible.error().what);
    }
    if (in_.ok() && state_.intern(shape) != ShapeIndex(at)) refuse("a shape stands twice");
  }
  if (state_.fleet_.lanes().size() != lanes) refuse("a shape asks for an unlisted resource");
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) read_gang_shape();
}

Closeness StateReader::read_closeness() {
  Closeness closeness{.level = std::string(in_.text())};
  closeness.required = in_.byte() != 0;
  return closeness;
}

void StateReader::read_gang_shape() {
  GangShape shape{.closeness = read_closeness(), .groups = {}, .roles = {}};
  std::uint64_t roles = 0;
  for (std::size_t left = in_.count(); left > 0 && in_.ok(); --left) {
    GangShape::Group& group = shape.groups.emplace_back();
    group.closeness = read_closeness();
    group.first_role = static_cast<std::uint32_t>(roles);
    group.roles =
        static_cast<std::uint32_t>(in_.number_to(limits::roles_per_gang, "a number of roles"));
    roles += group.roles;
  }
  if (in_.count() != roles || roles == 0 || roles > limits::roles_per_gang) {
    refuse("the groups of a gang have other roles than it has");
  }
  for (GangShape::Group& group : shape.groups) {
    for (std::uint32_t left = group.roles; left > 0 && in_.ok(); --left) {
      GangShape::Role& role = shape.roles.emplace_back();
      role.group = static_cast<std::uint32_t>(&group - shape.groups.data());
      role.first_task = shape.tasks;
      role.count = static_cast<std::uint32_t>(in_.number_to(limits::tasks_per_job, "tasks"));
      role.min = static_cast<std::uint32_t>(in_.number_to(role.count, "a minimum of tasks"));
      for (std::size_t each = in_.count(); each > 0 && in_.ok(); --each) {
        role.alternatives.push_back(in_.index<ShapeIndex>(state_.shapes_.size(), "a shape"));
      }
      if (role.alternatives.empty()) refuse("a role asks for nothing");
      shape.tasks += role.count;
      shape.min += role.min;
      if (shape.tasks > limits::tasks_per_job) refuse("a gang has too many tasks");
    }
  }
  if (!in_.ok()) return;
  std::vector<GangShapeIndex>& alike = state_.gang_shapes_by_hash_[State::hash_of_gang(shape)];
  for (const GangShapeIndex known : alike) {
    if (state_.gang_shapes_[known.value()] == shape) refuse("the shape of a gang stands twice");
  }
  alike.emplace_back(state_.gang_shapes_.size());
  state_.gang_shapes_.push_back(std::move(shape));
}

void StateReader::read_queues() {
  const std::size_t lanes = state_.fleet_.lanes().size();
  const std::size_t queues = in_.count();
  if (queues == 0) refuse("there is no queue");
  for (std::size_t at = 0; at < queues && in_.ok(); ++at) {
    QueueSet set;
    from_.specs_->members(set.queue);
    queue_lanes_.push_back(in_.number_to(lanes, "a number of resources"));
    if (!in_.ok()) return;
    if (const auto possible = state_.admissible(set); !possible) refuse(possible.error().what);
    if (at == 0 && set.queue.name != "default") refuse("the first queue is not the default one");
    if (at > 0 && state_.find_queue(set.queue.name)) refuse("a queue stands twice");
    if (in_.ok()) {
      StateApply applied(state_);
      applied(set);
    }
  }
  if (state_.fleet_.lanes().size() != lanes) refuse("a queue limits an unlisted resource");
}

}  // namespace tutti
