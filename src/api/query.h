/// What stands in the query of a request, checked.
#pragma once

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/result.h"
#include "net/message.h"

namespace tutti {

/// "17": digits and nothing else, within what T holds.
template <class T = std::uint64_t>
std::optional<T> natural(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Refuses a query with any other name in it, or with one of them twice.
Result<void> only_known(const net::Request& request, std::initializer_list<std::string_view> known);

}  // namespace tutti
