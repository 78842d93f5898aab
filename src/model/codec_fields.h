/// The fields of every struct that an event holds: name in the journal, and member.
///
/// One list serves writing, reading and tests: `fields(archive, Of<T>{})` calls
/// `archive(name, &T::member)` for each. A name is never given to another meaning; a member that is
/// added gets a new one (a test compares the lists with the structs). Private to model/.
#pragma once

#include "model/codec_job_fields.h"
#include "model/event.h"

namespace tutti::codec {

// --- Words: enumerations are written as their text, so only the last one need be known. ---------

constexpr DeviceKind last_of(Of<DeviceKind>) { return DeviceKind::nic; }
constexpr DeviceMode last_of(Of<DeviceMode>) { return DeviceMode::time_sliced; }
constexpr Health last_of(Of<Health>) { return Health::flapping; }
constexpr ExitCause last_of(Of<ExitCause>) { return ExitCause::lost; }
constexpr ActionKind last_of(Of<ActionKind>) { return ActionKind::scale; }

// --- Plans --------------------------------------------------------------------------------------

void fields(auto& a, Of<TaskId>) {
  a("job", &TaskId::job);
  a("ordinal", &TaskId::ordinal);
}

void fields(auto& a, Of<Action>) {
  a("kind", &Action::kind);
  a("task", &Action::task);
  a("attempt", &Action::attempt);
  a("shape", &Action::shape);
  a("node", &Action::node);
  a("devices", &Action::devices);
}

// --- The fleet ----------------------------------------------------------------------------------

void fields(auto& a, Of<Attribute>) {
  a("name", &Attribute::name);
  a("number", &Attribute::number);
  a("text", &Attribute::text);
}

void fields(auto& a, Of<DeviceType>) {
  a("model", &DeviceType::model);
  a("vendor", &DeviceType::vendor);
  a("kind", &DeviceType::kind);
  a("memory_mib", &DeviceType::memory_mib);
  a("profile", &DeviceType::profile);
  a("attributes", &DeviceType::attributes);
}

void fields(auto& a, Of<Device>) {
  a("type", &Device::type);
  a("health", &Device::health);
  a("mode", &Device::mode);
  a("island", &Device::island);
  a("numa", &Device::numa);
  a("parent", &Device::parent);
  a("id", &Device::id);
}

void fields(auto& a, Of<DeviceSpec>) {
  a("type", &DeviceSpec::type);
  a("device", &DeviceSpec::device);
}

void fields(auto& a, Of<Taint>) {
  a("key", &Taint::key);
  a("value", &Taint::value);
  a("effect", &Taint::effect);
}

void fields(auto& a, Of<StackVersion>) {
  a("name", &StackVersion::name);
  a("version", &StackVersion::version);
}

void fields(auto& a, Of<NodeSpec>) {
  a("name", &NodeSpec::name);
  a("pool", &NodeSpec::pool);
  a("capacity", &NodeSpec::capacity);
  a("devices", &NodeSpec::devices);
  a("labels", &NodeSpec::labels);
  a("taints", &NodeSpec::taints);
  a("stack", &NodeSpec::stack);
  a("cordoned", &NodeSpec::cordoned);
}

void fields(auto& a, Of<TreeSpec>) {
  a("name", &TreeSpec::name);
  a("levels", &TreeSpec::levels);
}

void fields(auto& a, Of<QueueSpec>) {
  a("name", &QueueSpec::name);
  a("limit", &QueueSpec::limit);
  a("guarantee", &QueueSpec::guarantee);
  a("weight", &QueueSpec::weight);
}

// --- Events; "tag", "version" and "at" are taken ------------------------------------------------

void fields(auto& a, Of<NodeReported>) { a("node", &NodeReported::node); }
void fields(auto& a, Of<NodeLost>) { a("node", &NodeLost::node); }

void fields(auto& a, Of<NodeCordoned>) {
  a("node", &NodeCordoned::node);
  a("cordoned", &NodeCordoned::cordoned);
  a("drain", &NodeCordoned::drain);
}

void fields(auto& a, Of<DeviceHealthChanged>) {
  a("node", &DeviceHealthChanged::node);
  a("ordinal", &DeviceHealthChanged::ordinal);
  a("health", &DeviceHealthChanged::health);
}

void fields(auto& a, Of<TreesDeclared>) { a("trees", &TreesDeclared::trees); }
void fields(auto& a, Of<QueueSet>) { a("queue", &QueueSet::queue); }

void fields(auto& a, Of<JobSubmitted>) {
  a("id", &JobSubmitted::id);
  a("spec", &JobSubmitted::spec);
  a("request", &JobSubmitted::request);
}

void fields(auto& a, Of<JobCancelled>) { a("id", &JobCancelled::id); }

void fields(auto& a, Of<JobHeld>) {
  a("id", &JobHeld::id);
  a("held", &JobHeld::held);
}

void fields(auto&, Of<TimePassed>) {}

void fields(auto& a, Of<PlanDecided>) { a("actions", &PlanDecided::actions); }

void fields(auto& a, Of<TaskStarted>) {
  a("task", &TaskStarted::task);
  a("attempt", &TaskStarted::attempt);
}

void fields(auto& a, Of<TaskExited>) {
  a("task", &TaskExited::task);
  a("attempt", &TaskExited::attempt);
  a("exit_code", &TaskExited::exit_code);
  a("cause", &TaskExited::cause);
}

void fields(auto& a, Of<TaskRefused>) {
  a("task", &TaskRefused::task);
  a("attempt", &TaskRefused::attempt);
  a("reason", &TaskRefused::reason);
}

void fields(auto& a, Of<TaskBound>) {
  a("task", &TaskBound::task);
  a("node", &TaskBound::node);
}

void fields(auto& a, Of<MixSet::Entry>) {
  a("shape", &MixSet::Entry::shape);
  a("count", &MixSet::Entry::count);
}

void fields(auto& a, Of<MixSet>) {
  a("entries", &MixSet::entries);
  a("learned", &MixSet::learned);
}

}  // namespace tutti::codec
