/// Seeds as command lines write them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tutti {

/// {"42", "7..9"} is 42, 7, 8, 9. At most 100 000 seeds.
Result<std::vector<std::uint64_t>> parse_seeds(const std::vector<std::string>& texts);

}  // namespace tutti
