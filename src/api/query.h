/// What stands in the query of a request, checked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "net/message.h"

namespace tutti {

/// "17": digits and nothing else, within 64 bits.
std::optional<std::uint64_t> natural(std::string_view text);

/// Refuses a query with any other name in it, or with one of them twice.
Result<void> only_known(const net::Request& request, std::initializer_list<std::string_view> known);

}  // namespace tutti
