/// NVIDIA's management library, as much of it as we ask: found when the server runs, never linked.
///
/// Types and numbers are those of the library's binary interface (version 2 of its functions where
/// there are several). Where a driver is too old for a function, its pointer is null; `ask` then
/// says `not_supported`, so nobody need look. All calls may take milliseconds, and with a sick card
/// seconds: none belongs on the thread of an engine or of a server's sockets.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace tutti::nvml {

/// Some of its answers; there are others.
enum Answer : int {
  success = 0,
  not_supported = 3,
  not_found = 6,
  timeout = 10,
  function_not_found = 13,
  gpu_is_lost = 15,
  reset_required = 16,
};

struct DeviceTag;
using Device = DeviceTag*;
struct EventSetTag;
using EventSet = EventSetTag*;

struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct Pci {
  std::array<char, 16> short_id{};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  std::array<char, 32> id{};  ///< "00000000:18:00.0"
};

struct Attributes {
  unsigned multiprocessors = 0;
  std::array<unsigned, 5> shared_engines{};
  unsigned gpu_slices = 0;      ///< Of a MIG device.
  unsigned compute_slices = 0;  ///< The same.
  unsigned long long memory_mib = 0;
};

struct EventFacts {
  Device device = nullptr;
  unsigned long long type = 0;
  unsigned long long what = 0;  ///< The number of an XID error.
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

inline constexpr unsigned clock_of_processors = 1;
inline constexpr unsigned temperature_of_gpu = 0;
inline constexpr unsigned uncorrected = 1;  ///< Memory errors.
inline constexpr unsigned since_reset = 0;  ///< How they are counted.
inline constexpr unsigned links_most = 18;
inline constexpr unsigned long long event_double_bit = 0x2;
inline constexpr unsigned long long event_xid = 0x8;
/// Reasons for slow clocks that are troubles of the hardware: too hot, or too little power.
inline constexpr unsigned long long slowed_by_hardware = 0x8 | 0x40 | 0x80;

/// The functions. Those that return text fill a buffer of a given size, with a NUL at its end.
struct Functions {
  int (*init)() = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  int (*cuda_version)(int*) = nullptr;  ///< 12040 is 12.4.
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*pci)(Device, Pci*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*mig_mode)(Device, unsigned* current, unsigned* pending) = nullptr;
  int (*mig_count_max)(Device, unsigned*) = nullptr;
  int (*mig_by_index)(Device, unsigned, Device*) = nullptr;
  int (*attributes)(Device, Attributes*) = nullptr;
  int (*clock)(Device, unsigned kind, unsigned* mhz) = nullptr;
  int (*clock_max)(Device, unsigned kind, unsigned* mhz) = nullptr;
  int (*slow_reasons)(Device, unsigned long long*) = nullptr;
  int (*memory_errors)(Device, unsigned kind, unsigned counter, unsigned long long*) = nullptr;
  int (*temperature)(Device, unsigned sensor, unsigned* celsius) = nullptr;
  int (*link_state)(Device, unsigned link, unsigned* active) = nullptr;
  int (*link_remote)(Device, unsigned link, Pci*) = nullptr;
  int (*event_set)(EventSet*) = nullptr;
  int (*register_events)(Device, unsigned long long types, EventSet) = nullptr;
  int (*wait)(EventSet, EventFacts*, unsigned timeout_ms) = nullptr;
};

class Library {
 public:
  static constexpr const char* usual = "libnvidia-ml.so.1";

  /// Loads and starts it, or says why there is none to ask. Stays loaded until the process ends,
  /// because threads of its own may be in it.
  static Result<Library> open(const std::string& path = usual);

  const Functions* operator->() const { return &functions_; }

  /// Calls one of the functions, if this library has it.
  template <class... Given, class... Arguments>
  int ask(int (*Functions::*function)(Given...), Arguments... arguments) const {
    const auto call = functions_.*function;
    return call == nullptr ? static_cast<int>(not_supported) : call(arguments...);
  }

 private:
  explicit Library(const Functions& functions) : functions_(functions) {}
  Functions functions_;
};

}  // namespace tutti::nvml
