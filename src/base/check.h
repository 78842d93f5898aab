/// Invariants, always on. A failed CHECK is a bug of ours: it prints what it saw and aborts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace tutti::detail {

[[noreturn]] void check_failed(std::string_view expression, std::string_view file, int line,
                               const std::string& values);

template <class T>
std::string check_value(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(std::string_view(value));
  } else {
    return to_string(value);
  }
}

template <class... T>
[[gnu::cold]] std::string check_values(const T&... values) {
  std::string out;
  ((out += (out.empty() ? "" : ", ") + check_value(values)), ...);
  return out;
}

}  // namespace tutti::detail

/// CHECK(free >= 0, node, free): the condition, then values to print when it does not hold.
#define CHECK(condition, ...)                                                    \
  do {                                                                           \
    if (!(condition)) [[unlikely]]                                               \
      ::tutti::detail::check_failed(#condition, __FILE__, __LINE__,              \
                                    ::tutti::detail::check_values(__VA_ARGS__)); \
  } while (false)
