#include "backend/local/device_health.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti {
namespace {

/// Mistakes of programs: the card is none the worse.
constexpr std::array<std::uint64_t, 6> of_programs{13, 31, 43, 45, 68, 109};
/// The card has healed itself, or will when it is reset, and can finish what runs.
constexpr std::array<std::uint64_t, 3> healing{63, 92, 94};

bool is_in(const auto& list, std::uint64_t number) {
  return std::ranges::find(list, number) != list.end();
}

std::string words_of(std::uint64_t number) {
  switch (number) {
    case 48:
      return "memory error that could not be corrected";
    case 63:
      return "a row of its memory is being replaced";
    case 64:
      return "a row of its memory could not be replaced";
    case 74:
      return "error of an NVLink";
    case 79:
      return "it fell off its bus";
    case 92:
      return "many memory errors that were corrected";
    case 94:
      return "memory error that one program felt";
    case 95:
      return "memory error that all programs felt";
    case 119:
    case 120:
      return "its own processor does not answer";
    default:
      return "";
  }
}

}  // namespace

void DeviceHealth::become(Health health, std::string reason) {
  health_ = health;
  reason_ = std::move(reason);
  well_ = 0;
}

void DeviceHealth::hear_xid(std::uint64_t number) {
  if (is_in(of_programs, number)) return;
  const Health health = is_in(healing, number) ? Health::degraded : Health::failed;
  if (for_good_ && health_ == Health::failed) return;  // It cannot get worse.
  const std::string words = words_of(number);
  become(health, "XID " + std::to_string(number) + (words.empty() ? "" : ": " + words));
  for_good_ = true;
}

void DeviceHealth::hear(const CardReading& reading) {
  slow_ = reading.hardware_slow ? slow_ + 1 : 0;
  if (!reading.answers) return become(Health::failed, "its driver has lost it, or wants a reset");
  if (for_good_) return;
  if (reading.memory_errors > 0) {
    return become(Health::degraded, "memory errors that could not be corrected: " +
                                        std::to_string(reading.memory_errors));
  }
  if (slow_ >= slow_before) {
    return become(Health::degraded, "heat or power hold its clock at " +
                                        std::to_string(reading.clock_mhz) + " of " +
                                        std::to_string(reading.clock_max_mhz) + " MHz, at " +
                                        std::to_string(reading.celsius) + " degrees");
  }
  if (health_ == first_ || slow_ > 0 || ++well_ < well_before) return;
  become(first_, first_ == Health::online ? "" : reason_);
}

}  // namespace tutti
