/// The fields of a task's shape and of what it runs: the lower half of codec_fields.h, which says
/// how they are used. Private to model/.
#pragma once

#include "model/launch.h"
#include "model/shape.h"

namespace tutti::codec {

template <class T>
struct Of {};

constexpr Operator last_of(Of<Operator>) { return Operator::less; }
constexpr TaintEffect last_of(Of<TaintEffect>) { return TaintEffect::no_execute; }

void fields(auto& a, Of<Label>) {
  a("key", &Label::key);
  a("value", &Label::value);
}

void fields(auto& a, Of<NamedAmount>) {
  a("name", &NamedAmount::name);
  a("amount", &NamedAmount::amount);
}

void fields(auto& a, Of<Requirement>) {
  a("key", &Requirement::key);
  a("op", &Requirement::op);
  a("values", &Requirement::values);
}

void fields(auto& a, Of<Selector>) { a("requirements", &Selector::requirements); }

void fields(auto& a, Of<Closeness>) {
  a("level", &Closeness::level);
  a("required", &Closeness::required);
}

void fields(auto& a, Of<DeviceRequest>) {
  a("where", &DeviceRequest::where);
  a("count", &DeviceRequest::count);
  a("compute_permille", &DeviceRequest::compute_permille);
  a("memory_mib", &DeviceRequest::memory_mib);
  a("closeness", &DeviceRequest::closeness);
}

void fields(auto& a, Of<Toleration>) {
  a("key", &Toleration::key);
  a("value", &Toleration::value);
  a("any_value", &Toleration::any_value);
  a("any_effect", &Toleration::any_effect);
  a("effect", &Toleration::effect);
}

void fields(auto& a, Of<StackRequirement>) {
  a("name", &StackRequirement::name);
  a("op", &StackRequirement::op);
  a("version", &StackRequirement::version);
}

void fields(auto& a, Of<PreferredNodes>) {
  a("weight", &PreferredNodes::weight);
  a("nodes", &PreferredNodes::nodes);
}

void fields(auto& a, Of<TaskAffinity>) {
  a("tasks", &TaskAffinity::tasks);
  a("topology_key", &TaskAffinity::topology_key);
  a("namespaces", &TaskAffinity::namespaces);
  a("anti", &TaskAffinity::anti);
  a("weight", &TaskAffinity::weight);
}

void fields(auto& a, Of<Spread>) {
  a("tasks", &Spread::tasks);
  a("topology_key", &Spread::topology_key);
  a("max_skew", &Spread::max_skew);
  a("min_domains", &Spread::min_domains);
  a("required", &Spread::required);
  a("honor_node_affinity", &Spread::honor_node_affinity);
  a("honor_node_taints", &Spread::honor_node_taints);
}

void fields(auto& a, Of<HostPort>) {
  a("port", &HostPort::port);
  a("protocol", &HostPort::protocol);
  a("ip", &HostPort::ip);
}

void fields(auto& a, Of<TaskShape>) {
  a("resources", &TaskShape::resources);
  a("devices", &TaskShape::devices);
  a("nodes", &TaskShape::nodes);
  a("nodes_any_of", &TaskShape::nodes_any_of);
  a("preferred_nodes", &TaskShape::preferred_nodes);
  a("tolerations", &TaskShape::tolerations);
  a("stack", &TaskShape::stack);
  a("ports", &TaskShape::ports);
  a("affinities", &TaskShape::affinities);
  a("spreads", &TaskShape::spreads);
  a("space", &TaskShape::space);
  a("labels", &TaskShape::labels);
}

constexpr Attended last_of(Of<Attended>) { return Attended::pipes; }

void fields(auto& a, Of<LaunchSpec>) {
  a("command", &LaunchSpec::command);
  a("directory", &LaunchSpec::directory);
  a("output", &LaunchSpec::output);
  a("environment", &LaunchSpec::environment);
  a("stop_signal", &LaunchSpec::stop_signal);
  a("grace_us", &LaunchSpec::grace);
  a("attended", &LaunchSpec::attended);
  a("rows", &LaunchSpec::rows);
  a("columns", &LaunchSpec::columns);
}

}  // namespace tutti::codec
