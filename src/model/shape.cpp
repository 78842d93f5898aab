#include "model/shape.h"

#include "base/hash.h"

namespace tutti {
namespace {

void add(Hash& hash, const Selector& selector) {
  hash.add(selector.requirements.size());
  for (const Requirement& requirement : selector.requirements) {
    hash.add(requirement.key).add(static_cast<std::uint64_t>(requirement.op));
    hash.add(requirement.values.size());
    for (const std::string& value : requirement.values) hash.add(value);
  }
}

void add(Hash& hash, const DeviceRequest& request) {
  hash.add(request.where.text()).add(request.count).add(request.compute_permille);
  hash.add(static_cast<std::uint64_t>(request.memory_mib));
  hash.add(request.closeness.level).add(request.closeness.required);
}

bool any_address(std::string_view ip) { return ip.empty() || ip == "0.0.0.0" || ip == "::"; }

}  // namespace

bool Toleration::tolerates(const Taint& taint) const {
  if (!any_effect && effect != taint.effect) return false;
  if (key.empty()) return any_value;
  return key == taint.key && (any_value || value == taint.value);
}

bool HostPort::conflicts(const HostPort& other) const {
  if (port != other.port || protocol != other.protocol) return false;
  return ip == other.ip || any_address(ip) || any_address(other.ip);
}

std::uint64_t hash_of(const TaskShape& shape) {
  Hash hash;
  for (const NamedAmount& part : shape.resources) {
    hash.add(part.name).add(static_cast<std::uint64_t>(part.amount));
  }
  hash.add(shape.devices.size());
  for (const DeviceRequest& request : shape.devices) add(hash, request);
  add(hash, shape.nodes);
  hash.add(shape.nodes_any_of.size());
  for (const Selector& selector : shape.nodes_any_of) add(hash, selector);
  // Rarer parts only separate shapes that are equal so far; comparison settles the rest.
  hash.add(shape.preferred_nodes.size()).add(shape.tolerations.size()).add(shape.stack.size());
  hash.add(shape.ports.size()).add(shape.affinities.size()).add(shape.spreads.size());
  for (const TaskAffinity& term : shape.affinities) {
    hash.add(term.topology_key).add(term.anti).add(term.weight);
    add(hash, term.tasks);
  }
  for (const Spread& spread : shape.spreads) {
    hash.add(spread.topology_key).add(spread.max_skew);
    add(hash, spread.tasks);
  }
  hash.add(shape.space);
  for (const Label& label : shape.labels.all()) hash.add(label.key).add(label.value);
  return hash.value();
}

}  // namespace tutti
