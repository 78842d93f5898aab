/// This machine as a node: what it has, and what its owner says that it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/local/cpu_map.h"
#include "backend/local/device_watch.h"
#include "base/result.h"
#include "model/node.h"

namespace tutti {

class Catalog;
class State;

/// What its owner says, and where to look; other places in tests.
struct MachineOptions {
  /// In the short form of fleet files ("2xAscend-910B2"): cards that nothing here detects.
  std::vector<std::string> devices;
  /// A fleet file with one node, and its name: what stands there is so; the rest is detected.
  std::string node_file;
  std::string node_file_name;
  bool detect_devices = true;
  std::string driver = nvml::Library::usual;
  std::string proc = "/proc";
  std::string sys = "/sys";
};

struct ThisMachine {
  NodeSpec node;
  std::vector<Cpu> cpus;  ///< As find_cpus lists them; empty where it failed.
  std::optional<nvml::Library> driver;
  std::vector<DeviceWatch::Card> cards;  ///< Whole ones that the driver knows.
  std::vector<std::string> remarks;      ///< What was found, and what could not be, for people.
};

/// Cores that this process may use, memory, devices. That there is no driver is no error.
Result<ThisMachine> this_machine(const MachineOptions& options, const Catalog* catalog);

/// Lists its devices in the order in which `state` knows them, so that tasks which run keep theirs:
/// known ones by their id where they were, those that are gone as failed ones, new ones behind.
/// Where no task holds a device of this node, its own order stands.
void keep_places(ThisMachine& machine, const State& state);

}  // namespace tutti
