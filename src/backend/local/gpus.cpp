#include "backend/local/gpus.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>

#include "base/limits.h"
#include "dialect/devices.h"
#include "model/catalog.h"

namespace tutti {
namespace {

using nvml::Functions;

template <class Function>
std::string text_of(const nvml::Library& driver, Function Functions::* function,
                    nvml::Device device) {
  std::array<char, 128> text{};
  if (driver.ask(function, device, text.data(), unsigned{text.size()}) != nvml::success) return {};
  return text.data();
}

/// "0000:18:00.0", as the kernel writes it, of "00000000:18:00.0".
std::string bus_of(const nvml::Pci& pci) {
  std::string id(pci.id.data());
  if (id.empty()) id = pci.short_id.data();
  std::ranges::transform(id, id.begin(), [](unsigned char each) { return std::tolower(each); });
  const std::size_t colon = id.find(':');
  return colon == 8 ? id.substr(4) : id;
}

std::string bus_of(const nvml::Library& driver, nvml::Device card) {
  nvml::Pci pci;
  return driver.ask(&Functions::pci, card, &pci) == nvml::success ? bus_of(pci) : "";
}

/// Where the machine has one NUMA node only, the kernel says -1.
std::uint8_t numa_of(const std::string& sys, const std::string& bus) {
  int node = -1;
  std::ifstream(sys + "/bus/pci/devices/" + bus + "/numa_node") >> node;
  return static_cast<std::uint8_t>(std::clamp(node, 0, 255));
}

/// Joins what is linked: each card's island is the lowest card that it reaches.
class Islands {
 public:
  explicit Islands(std::size_t cards) : above_(cards) {
    std::iota(above_.begin(), above_.end(), 0);
  }

  /// The card has a link to what is at that bus: another card, or a switch.
  void link(std::size_t card, const std::string& bus) {
    const auto [found, fresh] = first_at_.emplace(bus, card);
    if (!fresh) join(card, found->second);
  }
  std::uint16_t of(std::size_t card) const {
    while (above_[card] != card) card = above_[card];
    return static_cast<std::uint16_t>(card);
  }

 private:
  void join(std::size_t a, std::size_t b) {
    const std::size_t low = std::min(of(a), of(b));
    above_[std::max(of(a), of(b))] = low;
  }
  std::vector<std::size_t> above_;
  std::map<std::string, std::size_t> first_at_;
};

void find_islands(const nvml::Library& driver, FoundGpus& found,
                  const std::vector<std::string>& buses) {
  Islands islands(found.cards.size());
  for (std::size_t card = 0; card < found.cards.size(); ++card) {
    islands.link(card, buses[card]);
    for (unsigned link = 0; link < nvml::links_most; ++link) {
      unsigned active = 0;
      const int answer = driver.ask(&Functions::link_state, found.cards[card], link, &active);
      if (answer != nvml::success || active == 0) continue;
      nvml::Pci far;
      driver.ask(&Functions::link_remote, found.cards[card], link, &far);
      // A guest sees its links, but not the switches of its host: these join all that have links.
      islands.link(card, bus_of(far));
    }
  }
  for (std::size_t card = 0; card < found.cards.size(); ++card) {
    found.devices[card].device.island = islands.of(card);
  }
}

DeviceType type_of(const nvml::Library& driver, nvml::Device card, const Catalog* catalog) {
  DeviceType type = device_type_of(catalog, text_of(driver, &Functions::name, card));
  if (type.model.empty()) type.model = "unknown";
  if (type.vendor.empty()) type.vendor = "nvidia";
  nvml::Memory memory;
  if (type.memory_mib == 0 && driver.ask(&Functions::memory, card, &memory) == nvml::success) {
    type.memory_mib = static_cast<std::int64_t>(memory.total >> 20U);
  }
  return type;
}

/// "1g.10gb", which the driver writes behind the name of the card; else from its figures.
std::string profile_of(const nvml::Library& driver, nvml::Device slice,
                       const nvml::Attributes& figures) {
  constexpr std::string_view before = " MIG ";
  const std::string name = text_of(driver, &Functions::name, slice);
  const std::size_t at = name.rfind(before);
  if (at != std::string::npos) return name.substr(at + before.size());
  return std::to_string(figures.gpu_slices) + "g." +
         std::to_string((figures.memory_mib + 1023) / 1024) + "gb";
}

std::optional<DeviceSpec> slice_of(const nvml::Library& driver, nvml::Device slice,
                                   const DeviceSpec& card, const Catalog* catalog) {
  DeviceSpec out = card;
  out.device.id = text_of(driver, &Functions::uuid, slice);
  if (out.device.id.empty()) return std::nullopt;
  nvml::Attributes figures;
  driver.ask(&Functions::attributes, slice, &figures);
  out.device.health = Health::online;
  const std::string profile = profile_of(driver, slice, figures);
  if (!become_slice(out.type, catalog, profile)) {
    out.type.memory_mib = static_cast<std::int64_t>(figures.memory_mib);
  }
  return out;
}

void add_slices(const nvml::Library& driver, std::size_t card, const Catalog* catalog,
                FoundGpus& found) {
  unsigned mode = 0;
  unsigned pending = 0;
  if (driver.ask(&Functions::mig_mode, found.cards[card], &mode, &pending) != nvml::success ||
      mode == 0) {
    return;
  }
  found.devices[card].device.mode = DeviceMode::mig;
  unsigned most = 0;
  driver.ask(&Functions::mig_count_max, found.cards[card], &most);
  const std::size_t before = found.devices.size();
  for (unsigned at = 0; at < most && found.devices.size() < limits::devices_per_node; ++at) {
    nvml::Device handle = nullptr;
    if (driver.ask(&Functions::mig_by_index, found.cards[card], at, &handle) != nvml::success) {
      continue;
    }
    auto slice = slice_of(driver, handle, found.devices[card], catalog);
    if (!slice) continue;
    slice->device.parent = static_cast<std::uint8_t>(card);
    found.devices.push_back(*std::move(slice));
  }
  // No program can use it as a whole, and there is nothing else of it.
  if (found.devices.size() == before) found.devices[card].device.health = Health::degraded;
}

std::vector<StackVersion> stack_of(const nvml::Library& driver) {
  std::vector<StackVersion> out;
  int cuda = 0;
  if (driver.ask(&Functions::cuda_version, &cuda) == nvml::success && cuda > 0) {
    out.push_back({"cuda", std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10)});
  }
  std::array<char, 96> version{};
  if (driver.ask(&Functions::driver_version, version.data(), unsigned{version.size()}) ==
      nvml::success) {
    out.push_back({"nvidia_driver", version.data()});
  }
  return out;
}

}  // namespace

FoundGpus find_gpus(const nvml::Library& driver, const Catalog* catalog, const std::string& sys) {
  FoundGpus found{.devices = {}, .cards = {}, .stack = stack_of(driver)};
  std::vector<std::string> buses;
  unsigned count = 0;
  driver.ask(&Functions::count, &count);
  for (unsigned at = 0; at < std::min<unsigned>(count, limits::devices_per_node); ++at) {
    nvml::Device card = nullptr;
    // One that fell off its bus has no handle any more.
    if (driver.ask(&Functions::by_index, at, &card) != nvml::success) continue;
    const std::string bus = bus_of(driver, card);
    DeviceSpec spec{.type = type_of(driver, card, catalog), .device = {}};
    spec.device.id = text_of(driver, &Functions::uuid, card);
    spec.device.numa = numa_of(sys, bus);
    found.devices.push_back(std::move(spec));
    found.cards.push_back(card);
    buses.push_back(bus);
  }
  find_islands(driver, found, buses);
  for (std::size_t card = 0; card < found.cards.size(); ++card) {
    add_slices(driver, card, catalog, found);
  }
  return found;
}

CardReading read_card(const nvml::Library& driver, nvml::Device card) {
  CardReading out;
  nvml::Memory memory;
  const int answer = driver.ask(&Functions::memory, card, &memory);
  out.answers = answer != nvml::gpu_is_lost && answer != nvml::reset_required;
  if (!out.answers) return out;
  unsigned long long reasons = 0;
  if (driver.ask(&Functions::slow_reasons, card, &reasons) == nvml::success) {
    out.hardware_slow = (reasons & nvml::slowed_by_hardware) != 0;
  }
  unsigned long long errors = 0;
  if (driver.ask(&Functions::memory_errors, card, nvml::uncorrected, nvml::since_reset, &errors) ==
      nvml::success) {
    out.memory_errors = errors;
  }
  driver.ask(&Functions::temperature, card, nvml::temperature_of_gpu, &out.celsius);
  driver.ask(&Functions::clock, card, nvml::clock_of_processors, &out.clock_mhz);
  driver.ask(&Functions::clock_max, card, nvml::clock_of_processors, &out.clock_max_mhz);
  return out;
}

}  // namespace tutti
