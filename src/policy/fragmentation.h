/// How much of a node's free accelerators the target mix cannot use, and how a placement changes
/// it.
///
/// Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
/// Gradient Descent" (USENIX ATC 2023): for a class m of the mix, everything open on a node is a
/// fragment if m cannot run there or needs no accelerator, else what is open on devices too full
/// for m. The measure is the mean over the mix.
///
/// Written as  F = total * open - Σ_g fit_g(cpu) * usable_g(devices)  with integer counts instead
/// of probabilities: g runs over the (share, count) groups of the mix, fit_g is the number of tasks
/// of the group that the node's cpu suffices for, usable_g what is open on devices that could serve
/// one. The sum is exact, and 16 groups are one vector.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "policy/demand.h"
#include "sched/policy.h"

namespace tutti {

class Fragmentation {
 public:
  /// Groups of a mix, in multiples of one vector. Rarer groups beyond the limit are left out.
  static constexpr std::size_t lanes = 16;
  static constexpr std::size_t blocks_max = 4;
  /// Devices of one node that are looked at: sums of their ‰ must fit in 16 bits.
  static constexpr std::size_t devices_max = 32;

  /// Reads the state's target mix and device types. Rarer tasks are left out once `cover_percent`
  /// of the mix is covered. O(mix * types).
  Fragmentation(const State& state, std::int64_t cover_percent);

  /// Σ of the counts of the mix: fragments are in units of 1/total() of a ‰ of a device.
  std::int64_t total() const { return total_; }
  /// Milli-cores that the mix wants for each whole accelerator; 0 when it wants no accelerator.
  std::int64_t cpu_per_device() const { return cpu_per_device_; }

  using Vector = std::array<std::int16_t, lanes>;
  /// What is open on one node, and how it serves each group of the mix.
  struct Look {
    std::array<std::uint16_t, devices_max> permille;  ///< Of the first `devices`.
    std::size_t devices = 0;
    std::int64_t sum = 0;  ///< ‰ that are open on all of them.
    std::int64_t cpu = 0;
    TypeIndex type;  ///< Of the first device; types within a node are taken as equal.
    std::array<Vector, blocks_max> usable;  ///< By group: open on devices that serve one.
    std::array<Vector, blocks_max> number;  ///< By group: how many devices serve one.
  };
  void look(const View& view, NodeIndex node, Look& out) const;

  /// total() * F of the node as it is.
  std::int64_t fragments(const Look& look) const;
  /// total() * F once the demand is placed: a share on `device`, or whole devices on free ones.
  /// REQUIRES: it fits there.
  std::int64_t fragments_after(const Look& look, const Demand& demand, std::size_t device) const;
  /// The least of them over all devices that fit.
  std::int64_t least_fragments_after(const Look& look, const Demand& demand) const;

 private:
  struct Group {
    std::int16_t share = 0;
    std::int16_t count = 0;
    friend auto operator<=>(const Group&, const Group&) = default;
  };
  /// Of one device type: row i holds the counts of tasks with cpu < thresholds[i].
  struct TypeTable {
    std::vector<std::int64_t> thresholds;
    std::vector<Vector> rows;  ///< (thresholds + 1) * blocks_.
  };

  const Vector* row_for(TypeIndex type, std::int64_t cpu) const;
  static void shift(Vector& usable, Vector& number, const Vector& share, std::int16_t open,
                    std::int16_t sign);
  static std::int32_t served(const Vector& usable, const Vector& number, const Vector& count,
                             const Vector& fit);
  void add_groups(const State& state);
  void add_type(const State& state, TypeIndex type);

  std::span<const State::MixRow> mix_;  ///< Used during construction only.
  std::int64_t total_ = 0;
  std::int64_t cpu_per_device_ = 0;
  std::size_t blocks_ = 0;
  std::array<Vector, blocks_max> share_{};  ///< Padding lanes ask for more than any device has.
  std::array<Vector, blocks_max> count_{};
  std::vector<Group> groups_;
  std::vector<TypeTable> types_;
  std::uint32_t divide_ = 1;  ///< Counts are divided by this, so that sums fit in 32 bits.
};

}  // namespace tutti
