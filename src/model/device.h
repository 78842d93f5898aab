/// Accelerators (and NICs, FPGAs): what they are, how healthy, in which mode, and sets of them.
///
/// A device belongs to one node and is known there by its ordinal. A slice of a partitioned card is
/// a device of its own whose `parent` is the card, as a driver presents it. What a device *is*
/// (vendor, model, memory, precisions) is its `DeviceType`, interned per fleet: cards of equal type
/// are interchangeable for every request.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/id.h"
#include "base/limits.h"

namespace tutti {

using TypeIndex = Index<struct TypeTag, std::uint16_t>;

enum class DeviceKind : std::uint8_t { gpu, npu, tpu, fpga, nic };
enum class DeviceMode : std::uint8_t { whole, mig, mps, time_sliced };
enum class Health : std::uint8_t { online, degraded, failed, flapping };

std::string_view to_text(DeviceKind kind);
std::string_view to_text(DeviceMode mode);
std::string_view to_text(Health health);

/// One attribute of a device type: a number (memory in MiB, peak rates) or a word.
struct Attribute {
  std::string name;
  std::int64_t number = 0;
  std::string text;  ///< Empty for a number.
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

/// What a device is. Two devices are interchangeable exactly when their types are equal.
struct DeviceType {
  std::string model;  ///< "A100-80G"; the name under which the catalog knows it, else as reported.
  std::string vendor;
  DeviceKind kind = DeviceKind::gpu;
  std::int64_t memory_mib = 0;        ///< Usable; 0 when unknown.
  std::string profile;                ///< "1g.10gb" for a slice, else empty.
  std::vector<Attribute> attributes;  ///< Sorted by name; precisions are attributes.
  friend bool operator==(const DeviceType&, const DeviceType&) = default;
};

/// One accelerator of one node, apart from who holds it (model/usage.h).
struct Device {
  static constexpr std::uint8_t no_parent = 0xff;

  TypeIndex type;
  Health health = Health::online;
  DeviceMode mode = DeviceMode::whole;
  std::uint16_t island = 0;  ///< Cards of one node with equal islands share fast links.
  std::uint8_t numa = 0;
  std::uint8_t parent = no_parent;  ///< Ordinal of the card that a slice was cut from.
  std::string id;                   ///< UUID or driver name; may be empty.
  friend bool operator==(const Device&, const Device&) = default;
};

/// May new work start on it, for all that is known of it alone (Fleet::offered knows more)?
/// Holdings of a device that stops being offered stay booked.
inline bool offered(const Device& device) { return device.health == Health::online; }

/// A set of device ordinals of one node.
class DeviceSet {
 public:
  constexpr DeviceSet() = default;

  constexpr void add(unsigned ordinal) { words_[ordinal / 64] |= std::uint64_t{1} << ordinal % 64; }
  constexpr void remove(unsigned ordinal) {
    words_[ordinal / 64] &= ~(std::uint64_t{1} << ordinal % 64);
  }
  constexpr bool contains(unsigned ordinal) const {
    return (words_[ordinal / 64] >> ordinal % 64 & 1U) != 0;
  }
  constexpr bool empty() const { return words_[0] == 0 && words_[1] == 0; }
  constexpr unsigned size() const {
    return static_cast<unsigned>(std::popcount(words_[0]) + std::popcount(words_[1]));
  }
  constexpr const std::array<std::uint64_t, 2>& words() const { return words_; }

  /// Calls `visit(ordinal)` from the lowest to the highest.
  template <class Visit>
  constexpr void each(Visit&& visit) const {
    for (unsigned half = 0; half < 2; ++half) {
      for (std::uint64_t rest = words_[half]; rest != 0; rest &= rest - 1) {
        visit(half * 64 + static_cast<unsigned>(std::countr_zero(rest)));
      }
    }
  }

  friend constexpr bool operator==(const DeviceSet&, const DeviceSet&) = default;

 private:
  std::array<std::uint64_t, 2> words_{};
  static_assert(limits::devices_per_node <= 128);
};

}  // namespace tutti
