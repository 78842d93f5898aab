#include "model/device.h"

namespace tutti {

std::string_view to_text(DeviceKind kind) {
  constexpr std::array<std::string_view, 5> words{"gpu", "npu", "tpu", "fpga", "nic"};
  return words[static_cast<std::size_t>(kind)];
}

std::string_view to_text(DeviceMode mode) {
  constexpr std::array<std::string_view, 4> words{"whole", "mig", "mps", "time_sliced"};
  return words[static_cast<std::size_t>(mode)];
}

std::string_view to_text(Health health) {
  constexpr std::array<std::string_view, 4> words{"online", "degraded", "failed", "flapping"};
  return words[static_cast<std::size_t>(health)];
}

}  // namespace tutti
