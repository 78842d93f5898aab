#include "backend/local/this_machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <string_view>
#include <utility>

#include "backend/local/gpus.h"
#include "base/limits.h"
#include "dialect/tutti.h"
#include "format/json.h"
#include "model/state.h"

namespace tutti {
namespace {

Result<std::int64_t> memory_bytes(const std::string& path) {
  std::ifstream file(path);
  std::string name;
  std::int64_t kib = 0;
  for (std::string rest; file >> name >> kib; std::getline(file, rest)) {
    if (name == "MemTotal:" && kib > 0) return kib * 1024;
  }
  return fail(Error{Code::io, "it does not say how much memory there is (MemTotal)", path, {}});
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

std::int64_t count_cores(ThisMachine& machine) {
  Result<std::vector<Cpu>> cpus = find_cpus();
  if (cpus) {
    machine.cpus = *std::move(cpus);
    machine.remarks.push_back(describe(machine.cpus));
    return static_cast<std::int64_t>(machine.cpus.size());
  }
  machine.remarks.push_back("nothing is known of its sockets and caches: " + cpus.error().what);
  return std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN));
}

/// Where a person wrote nothing of it.
void set_capacity(NodeSpec& node, const std::string& name, std::int64_t amount) {
  const auto at = std::ranges::lower_bound(node.capacity, name, {}, &NamedAmount::name);
  if (at == node.capacity.end() || at->name != name) node.capacity.insert(at, {name, amount});
}

Result<NodeSpec> node_of_file(const MachineOptions& options, const Catalog* catalog) {
  if (options.node_file_name.empty()) return NodeSpec{.name = host_name()};
  Result<FleetFile> fleet = parse_fleet(options.node_file, "this machine", catalog);
  if (!fleet) {
    Error error = std::move(fleet).error();
    error.where = options.node_file_name + (error.where.empty() ? "" : ":" + error.where);
    return fail(std::move(error));
  }
  if (fleet->nodes.size() == 1) return std::move(fleet->nodes.front());
  return fail(Error{Code::invalid, "it describes " + std::to_string(fleet->nodes.size()) + " nodes",
                    options.node_file_name,
                    "this machine is one: nodes: [{name: " + host_name() + ", devices: [...]}]"});
}

Result<std::vector<DeviceSpec>> named_devices(const std::vector<std::string>& devices,
                                              const Catalog* catalog) {
  if (devices.empty()) return std::vector<DeviceSpec>{};
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("nodes").begin_list().begin_object().member("name", "n");
  json.key("gpus").begin_list();
  for (const std::string& each : devices) json.value(each);
  json.end_list().end_object().end_list().end_object();
  Result<FleetFile> fleet = parse_fleet(text, "this machine", catalog);
  if (fleet) return std::move(fleet->nodes.front().devices);
  // Only the devices were written by a person; where they stand in our text says nothing to them.
  return fail(Error{Code::invalid, fleet.error().what, {}, fleet.error().hint});
}

/// "8 x H100-80G": by model, slices by their profile.
std::string count_by_model(const std::vector<DeviceSpec>& devices) {
  std::map<std::string, std::size_t> counts;
  for (const DeviceSpec& each : devices) {
    const bool slice = !each.type.profile.empty();
    ++counts[each.type.model + (slice ? " " + each.type.profile : "")];
  }
  std::string out;
  for (const auto& [model, count] : counts) {
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " x " + model;
  }
  return out;
}

std::size_t islands_of(const FoundGpus& found) {
  std::vector<std::uint16_t> islands;
  for (const DeviceSpec& each : found.devices) islands.push_back(each.device.island);
  std::ranges::sort(islands);
  return static_cast<std::size_t>(std::ranges::unique(islands).begin() - islands.begin());
}

void add_gpus(ThisMachine& machine, const MachineOptions& options, const Catalog* catalog) {
  Result<nvml::Library> driver = nvml::Library::open(options.driver);
  if (!driver) {
    machine.remarks.push_back("no NVIDIA driver: " + driver.error().what);
    return;
  }
  FoundGpus found = find_gpus(*driver, catalog, options.sys);
  std::string remark = found.devices.empty() ? "no NVIDIA card" : count_by_model(found.devices);
  if (!found.devices.empty()) {
    const std::size_t islands = islands_of(found);
    remark += " in " + std::to_string(islands) + " NVLink island" + (islands == 1 ? "" : "s");
  }
  for (const StackVersion& each : found.stack) remark += ", " + each.name + " " + each.version;
  machine.remarks.push_back(remark);
  machine.driver = *driver;
  for (std::size_t card = 0; card < found.cards.size(); ++card) {
    const auto ordinal = static_cast<std::uint16_t>(card);
    machine.cards.push_back({found.cards[card], ordinal, found.devices[card].device.health});
  }
  machine.node.devices = std::move(found.devices);
  for (StackVersion& each : found.stack) {
    std::vector<StackVersion>& stack = machine.node.stack;
    if (std::ranges::find(stack, each.name, &StackVersion::name) == stack.end()) {
      stack.push_back(std::move(each));
    }
  }
}

/// Behind those that are there; what they say of each other holds.
void append(std::vector<DeviceSpec> more, std::vector<DeviceSpec>& devices) {
  const std::size_t before = devices.size();
  for (DeviceSpec& each : more) {
    if (each.device.parent != Device::no_parent) {
      each.device.parent = static_cast<std::uint8_t>(each.device.parent + before);
    }
    devices.push_back(std::move(each));
  }
}

bool holds_devices(const State& state, NodeIndex node) {
  const Fleet& fleet = state.fleet();
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    if (state.usage().used_permille(row) > 0) return true;
  }
  return false;
}

/// The device of `now` that `known` is, if none was found to be it before.
std::optional<std::size_t> find_again(const Device& known, const DeviceType& type,
                                      const std::vector<DeviceSpec>& now,
                                      const std::vector<bool>& found) {
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (found[at] || now[at].device.id != known.id) continue;
    if (!known.id.empty() || now[at].type == type) return at;
  }
  return std::nullopt;
}

}  // namespace

Result<ThisMachine> this_machine(const MachineOptions& options, const Catalog* catalog) {
  ThisMachine machine;
  NodeSpec& node = machine.node;
  node = TRY(node_of_file(options, catalog));
  set_capacity(node, "cpu", count_cores(machine) * 1000);
  set_capacity(node, "memory", TRY(memory_bytes(options.proc + "/meminfo")));
  std::vector<DeviceSpec> declared = std::exchange(node.devices, {});
  append(TRY(named_devices(options.devices, catalog)), declared);
  if (options.detect_devices) add_gpus(machine, options, catalog);
  if (!declared.empty()) machine.remarks.push_back("declared: " + count_by_model(declared));
  append(std::move(declared), node.devices);
  if (node.devices.size() <= limits::devices_per_node) return machine;
  return fail(Code::limit, "this machine has " + std::to_string(node.devices.size()) +
                               " devices; at most " + std::to_string(limits::devices_per_node) +
                               " are supported");
}

void keep_places(ThisMachine& machine, const State& state) {
  const Fleet& fleet = state.fleet();
  const std::optional<NodeIndex> index = fleet.find(machine.node.name);
  if (!index || !holds_devices(state, *index)) return;
  const std::vector<DeviceSpec>& now = machine.node.devices;
  std::vector<bool> found(now.size());
  std::vector<std::size_t> place(now.size());
  std::vector<DeviceSpec> out;
  for (const Device& known : fleet.devices(*index)) {
    const DeviceType& type = fleet.types()[known.type.value()];
    if (const auto at = find_again(known, type, now, found)) {
      found[*at] = true;
      place[*at] = out.size();
      out.push_back(now[*at]);
      continue;
    }
    out.push_back({.type = type, .device = known});
    out.back().device.health = Health::failed;
  }
  const std::size_t old = out.size();
  for (std::size_t at = 0; at < now.size(); ++at) {
    if (found[at]) continue;
    found[at] = true;
    place[at] = out.size();
    out.push_back(now[at]);
  }
  if (out.size() > limits::devices_per_node) return;
  const auto is_of_now = [&](std::size_t at) {
    return std::ranges::find(place, at) != place.end();
  };
  for (std::size_t at = 0; at < out.size(); ++at) {
    std::uint8_t& parent = out[at].device.parent;
    // What is gone names its card by where that was, and so it still is.
    if (parent == Device::no_parent || (at < old && !is_of_now(at))) continue;
    parent = static_cast<std::uint8_t>(place[parent]);
  }
  for (DeviceWatch::Card& card : machine.cards) {
    card.ordinal = static_cast<std::uint16_t>(place[card.ordinal]);
  }
  machine.node.devices = std::move(out);
}

}  // namespace tutti
