/// What a failing case looked like, to be read.
#include <string>

#include "tests/oracle/gang.h"
#include "tests/oracle/world.h"

namespace tutti::oracle {
namespace {

std::string text_of(const DeviceRequest& request) {
  std::string out = std::to_string(request.count) + "x(" + request.where.text() + ")";
  if (request.compute_permille != 1000) out += " " + std::to_string(request.compute_permille) + "‰";
  if (request.memory_mib != 0) out += " " + std::to_string(request.memory_mib) + "MiB";
  if (!request.closeness.level.empty()) {
    out += (request.closeness.required ? " together " : " near ") + request.closeness.level;
  }
  return out;
}

std::string text_of(const Closeness& closeness) {
  if (closeness.level.empty()) return "anywhere";
  return (closeness.required ? "together " : "near ") + closeness.level;
}

std::string text_of(const Toleration& toleration) {
  return toleration.key + (toleration.any_value ? "" : "=" + toleration.value) +
         (toleration.any_effect ? "" : ":no_schedule");
}

std::string text_of(const NodeSpec& node) {
  std::string out = node.name;
  for (const NamedAmount& part : node.capacity) {
    out += " " + part.name + "=" + std::to_string(part.amount);
  }
  for (const DeviceSpec& device : node.devices) {
    out += " [" + device.type.model + std::to_string(device.type.memory_mib) + " island " +
           std::to_string(device.device.island) + " numa " + std::to_string(device.device.numa);
    if (device.device.parent != Device::no_parent) {
      out += " of " + std::to_string(device.device.parent);
    }
    if (device.device.health != Health::online) {
      out += " " + std::string(to_text(device.device.health));
    }
    out += "]";
  }
  for (const Label& label : node.labels.all()) out += " " + label.key + "=" + label.value;
  for (const Taint& taint : node.taints) {
    out += " taint(" + taint.key + "=" + taint.value + " " +
           std::to_string(static_cast<int>(taint.effect)) + ")";
  }
  for (const StackVersion& version : node.stack) out += " " + version.name + "-" + version.version;
  return out + (node.cordoned ? " CORDONED" : "");
}

}  // namespace

std::string to_text(const TaskShape& shape) {
  std::string out;
  for (const NamedAmount& part : shape.resources) {
    out += part.name + "=" + std::to_string(part.amount) + " ";
  }
  for (const DeviceRequest& request : shape.devices) out += text_of(request) + " ";
  if (!shape.nodes.requirements.empty()) out += "nodes{" + to_text(shape.nodes) + "} ";
  for (const Selector& each : shape.nodes_any_of) out += "or{" + to_text(each) + "} ";
  for (const Toleration& each : shape.tolerations) out += "tolerates{" + text_of(each) + "} ";
  for (const StackRequirement& each : shape.stack) {
    out += each.name + " " + std::string(to_text(each.op)) + " " + each.version + " ";
  }
  for (const HostPort& each : shape.ports) {
    out += "port " + std::to_string(each.port) + each.protocol + each.ip + " ";
  }
  for (const TaskAffinity& term : shape.affinities) {
    out += (term.anti ? "away{" : "near{") + to_text(term.tasks) + " in " + term.topology_key;
    if (term.weight != 0) out += " wish";
    for (const std::string& space : term.namespaces) out += " @" + space;
    out += "} ";
  }
  for (const Spread& each : shape.spreads) {
    out += std::string(each.required ? "spread{" : "wish spread{") + to_text(each.tasks) +
           " over " + each.topology_key + " skew " + std::to_string(each.max_skew) + " domains " +
           std::to_string(each.min_domains) + (each.honor_node_affinity ? " honor_nodes" : "") +
           (each.honor_node_taints ? " honor_taints" : "") + "} ";
  }
  for (const Label& label : shape.labels.all()) out += label.key + "=" + label.value + " ";
  return out + (shape.space.empty() ? "" : "@" + shape.space);
}

std::string to_text(const World& world) {
  std::string out;
  for (std::size_t node = 0; node < world.nodes.size(); ++node) {
    out += text_of(world.nodes[node]) + (world.present[node] != 0 ? "" : " LOST") + "\n";
    for (const Held& task : world.tasks) {
      if (task.node != node) continue;
      out += "    " + (task.queue.empty() ? "" : task.queue + ": ") + to_text(*task.shape) + " on";
      for (const unsigned each : task.devices) out += " #" + std::to_string(each);
      out += "\n";
    }
  }
  for (const QueueSpec& queue : world.queues) {
    out += "queue " + queue.name;
    for (const NamedAmount& part : queue.limit) {
      out += " " + part.name + "<=" + std::to_string(part.amount);
    }
    out += "\n";
  }
  return out;
}

std::string to_text(const Gang& gang) {
  std::string out = "gang in " + gang.queue + ", " + text_of(gang.closeness) + "\n";
  for (std::size_t group = 0; group < gang.groups.size(); ++group) {
    out += "  group " + text_of(gang.groups[group]) + "\n";
    for (const Role& role : gang.roles) {
      if (role.group != group) continue;
      out += "    " + std::to_string(role.spec->min) + ".." + std::to_string(role.spec->count) +
             " tasks\n";
      for (const TaskShape& shape : role.spec->alternatives) {
        out += "      " + to_text(shape) + "\n";
      }
    }
  }
  return out;
}

}  // namespace tutti::oracle
