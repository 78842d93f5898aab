/// Scalar resources: integers per lane, with checked arithmetic.
///
/// A lane is one kind of resource of a fleet: cpu (milli-cores), memory and storage (bytes), pods
/// (count), then extended resources by name, in order of first appearance. Amounts are never
/// floating point, and sums never wrap: what would overflow is refused where it enters
/// (limits::amount).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/result.h"

namespace tutti {

using Lane = Index<struct LaneTag, std::uint16_t>;

namespace lane {
inline constexpr Lane cpu{0};      ///< milli-cores
inline constexpr Lane memory{1};   ///< bytes
inline constexpr Lane storage{2};  ///< bytes of node-local scratch
inline constexpr Lane pods{3};     ///< tasks that a node accepts at once
}  // namespace lane

/// An amount of the resource of that name as people write it: "1500m cpu", "256Gi memory", "2 hca".
std::string amount_text(std::string_view resource, std::int64_t amount);
/// The same without its name: "1500m", "256Gi", "2".
std::string amount_number(std::string_view resource, std::int64_t amount);

/// The lanes of one fleet. Lanes are only added; an index stays valid for ever.
class LaneTable {
 public:
  LaneTable();

  std::size_t size() const { return names_.size(); }
  const std::string& name(Lane lane) const { return names_[lane.value()]; }
  std::optional<Lane> find(std::string_view name) const;

  /// The lane of that name, added when new. Fails beyond limits::lanes.
  Result<Lane> intern(std::string_view name);

  friend bool operator==(const LaneTable&, const LaneTable&) = default;

 private:
  std::vector<std::string> names_;
};

/// Amounts by lane; a lane that is not mentioned is zero. At most a handful are mentioned, so a
/// sorted list beats an array of every lane.
class Resources {
 public:
  struct Amount {
    Lane lane;
    std::int64_t amount = 0;
    friend bool operator==(const Amount&, const Amount&) = default;
  };

  std::int64_t get(Lane lane) const;
  /// REQUIRES: 0 <= amount <= limits::amount. Setting zero forgets the lane.
  void set(Lane lane, std::int64_t amount);

  const std::vector<Amount>& amounts() const { return amounts_; }
  friend bool operator==(const Resources&, const Resources&) = default;

 private:
  std::vector<Amount> amounts_;  ///< Sorted by lane, without zeros.
};

/// `a + b`, or nullopt when it would leave the range of int64.
std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b);
/// `a * b`, or nullopt when it would leave the range of int64.
std::optional<std::int64_t> checked_multiply(std::int64_t a, std::int64_t b);

}  // namespace tutti
