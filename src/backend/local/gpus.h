/// The cards of this machine, as NVIDIA's driver describes them, and how they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/local/nvml.h"
#include "model/node.h"

namespace tutti {

class Catalog;

/// What the driver says of a card when it is asked how it is.
struct CardReading {
  bool answers = true;              ///< It is on its bus, and needs no reset.
  bool hardware_slow = false;       ///< Its clocks are held down by heat or by too little power.
  std::uint64_t memory_errors = 0;  ///< Uncorrected ones, since the last reset.
  unsigned celsius = 0;
  unsigned clock_mhz = 0;  ///< Of its processors; 0 where it does not say.
  unsigned clock_max_mhz = 0;
};

struct FoundGpus {
  /// Whole cards first, in the order of their buses; then their slices. A card that is not whole
  /// (MIG) has `DeviceMode::mig`, and is `degraded` where nothing was cut out of it yet.
  std::vector<DeviceSpec> devices;
  std::vector<nvml::Device> cards;  ///< Of the driver, as many of `devices` as are whole cards.
  std::vector<StackVersion> stack;  ///< "cuda" and "nvidia_driver".
};

/// Model by the catalog where it knows the name, NUMA node by `sys`/bus/pci, island by NVLink:
/// cards whose links end in each other, or in the same switches, share one.
FoundGpus find_gpus(const nvml::Library& driver, const Catalog* catalog, const std::string& sys);

CardReading read_card(const nvml::Library& driver, nvml::Device card);

}  // namespace tutti
