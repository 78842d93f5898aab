/// Strong indexes: a `NodeIndex` is not a `QueueIndex`, although both are 32-bit integers.
///
/// An index is dense: it counts rows of one table from 0. `none` is a value outside every table.
/// Ordering is by value, and every tie in a decision falls to the lower index.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace tutti {

template <class Tag, class Rep = std::uint32_t>
class Index {
 public:
  using rep = Rep;
  static constexpr Rep none_value = std::numeric_limits<Rep>::max();

  constexpr Index() = default;
  constexpr explicit Index(std::uint64_t value) : value_(static_cast<Rep>(value)) {}

  static constexpr Index none() { return Index(); }
  constexpr Rep value() const { return value_; }
  constexpr bool valid() const { return value_ != none_value; }

  friend constexpr auto operator<=>(Index, Index) = default;
  friend std::string to_string(Index index) {
    return index.valid() ? std::to_string(index.value_) : "none";
  }

 private:
  Rep value_ = none_value;
};

}  // namespace tutti

template <class Tag, class Rep>
struct std::hash<tutti::Index<Tag, Rep>> {
  std::size_t operator()(tutti::Index<Tag, Rep> index) const noexcept {
    return std::hash<Rep>{}(index.value());
  }
};
