/// What the writer and the reader of checkpoints must agree upon. Private to model/.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "model/job.h"

namespace tutti::checkpoint {

inline constexpr std::string_view magic = "tutti state";
inline constexpr std::string_view end = "end";
inline constexpr std::uint8_t task_has_more = 8;  ///< Beside its phase.

/// Bits, the first one lowest.
inline std::uint8_t flags(std::initializer_list<bool> bits) {
  unsigned out = 0;
  unsigned at = 0;
  for (const bool bit : bits) out |= (bit ? 1U : 0U) << at++;
  return static_cast<std::uint8_t>(out);
}

/// Has something become of the gang that its tasks do not tell?
inline bool tried(const Gang& gang) {
  return gang.fate != Fate::none || gang.retries > 0 || gang.refusals > 0 ||
         gang.refused_attempt > 0;
}

}  // namespace tutti::checkpoint
