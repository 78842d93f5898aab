/// The target mix, boiled down to what rates a placement in a handful of look-ups.
///
/// Devices are measured in ‰ of one, cpu in milli-cores. Each class of the mix (a cpu, a share and
/// a number of devices, and the device types that serve it) gets a mass, 2^14 for the whole mix.
/// The mass is the class's share of the tasks, raised for gangs and for classes that only a small
/// part of the fleet can serve: with 1/r of the wanted devices in reach, by r^(5/4).
///
///   V(node) = Σ devices open * (mass of the one-device classes that fit the open share and the
///   cpu)
///           + 1000 * whole devices * (mass of the gangs that fit the whole devices and the cpu)
///
/// is 2^14 times what the next task is expected to find usable on the node. The fits are read from
/// a coarse grid: cpu in at most 12 steps, shares in at most 8; a class is rounded up to the grid,
/// so that a node never looks more usable than it is. To that comes, in ‰ of a device,
///
///   H(node) = - 2 * (what is open but beyond the cpu that the mix wants for each device)
///           + fullness * open^2 / (1000 * devices)
///
/// The square makes emptying one node cheaper than nibbling at two. A device type that no class of
/// the mix can use is worth nothing and counts nowhere.
///
/// Immutable; integers only, so that every machine computes the same. Built in
/// O(classes * (kinds of nodes + types)) + O(devices), where nodes of equal cpu and devices are a
/// kind. It reads the capacity of nodes, whether present or not, but nothing of their health.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/state.h"

namespace tutti {

class UsableTable {
 public:
  /// Eight devices of one node, or one number eight times.
  using Lanes [[gnu::vector_size(16)]] = std::int16_t;
  static constexpr std::size_t lanes = 8;
  static constexpr std::size_t sizes_max = 8;
  static constexpr std::size_t cpu_steps_max = 12;
  static constexpr int mass_bits = 14;

  /// One-device classes that one cpu step suffices for.
  struct Row {
    std::array<std::int16_t, sizes_max + 1> mass{};  ///< By size step: of all that fit.
    Lanes rise[sizes_max] = {};  ///< mass[j + 1] - mass[j], eight times, for vector code.
  };
  /// Of one device type. Row 0 and column 0 are zero: below the lowest step nothing fits.
  struct Type {
    std::vector<Row> rows;            ///< By cpu step; empty: no class can use the type.
    std::vector<std::int64_t> gangs;  ///< By cpu step and whole devices: their part of V.
  };

  UsableTable(const State& state, std::int64_t fullness_permille);

  /// The table of a type, or null where no class of the mix can use it.
  const Type* type(TypeIndex type) const {
    const Type& table = types_[type.value()];
    return table.rows.empty() ? nullptr : &table;
  }
  /// How many steps that much free cpu reaches; negative amounts reach none.
  std::size_t cpu_step(std::int64_t cpu) const {
    const auto free = static_cast<std::int32_t>(std::clamp<std::int64_t>(cpu, -1, cpu_max));
    std::size_t step = 0;
    for (std::size_t half = cpu_.size() / 2; half > 0; half /= 2) {
      step += cpu_[step + half - 1] <= free ? half : 0;
    }
    return step;
  }
  std::size_t size_step(std::int64_t open) const {
    return size_step_[static_cast<std::size_t>(open)];
  }
  /// The thresholds of shares, each eight times; unused ones are beyond every share.
  const Lanes* sizes() const { return sizes_; }

  /// What one device adds to V through the one-device classes.
  std::int64_t value(const Type& type, std::size_t cpu_step, std::int64_t open) const {
    return type.rows[cpu_step].mass[size_step(open)] * open;
  }
  /// What so many whole devices of a type add to V through the gangs.
  std::int64_t gangs(const Type& type, std::size_t cpu_step, std::int64_t whole) const {
    return type.gangs[cpu_step * (devices_max_ + 1) + static_cast<std::size_t>(whole)];
  }
  /// H of a node with `devices` wanted devices, of which `open` ‰ are open.
  std::int64_t node_terms(std::int64_t cpu, std::int64_t open, std::int64_t devices) const {
    const std::int64_t fed = (std::clamp<std::int64_t>(cpu, 0, cpu_max) * feed_) >> 20;
    const std::int64_t starved = std::max<std::int64_t>(0, open - fed);
    return ((open * open * fullness_[static_cast<std::size_t>(devices)]) >> 20) -
           starved * starved_weight_;
  }

  std::span<const std::int32_t> cpu_steps() const { return std::span(cpu_).first(cpu_count_); }
  std::span<const std::int16_t> size_steps() const { return size_list_; }
  /// 2^-20 ‰ of a device that one milli-core feeds in the mix; 0 where the mix says nothing.
  std::int64_t feed() const { return feed_; }

 private:
  static constexpr std::int64_t cpu_max = INT32_MAX - 1;
  struct Class;
  struct Kind;

  static std::vector<Class> classes_of(const State& state);
  std::vector<Kind> kinds_of(const State& state) const;
  /// Fills in weights and masses.
  void weigh(std::span<Class> classes, const State& state) const;
  void set_feed(std::span<const Class> classes);
  void set_grid(std::span<const Class> classes);
  void set_type(std::span<const Class> classes, TypeIndex type);
  std::size_t cpu_step_of(const Class& each) const;

  std::vector<Type> types_;
  std::size_t devices_max_ = 0;  ///< Of the largest node.
  /// Ascending, padded with what no cpu reaches to a power of two.
  std::array<std::int32_t, 16> cpu_{};
  std::size_t cpu_count_ = 0;
  std::vector<std::int64_t> one_grid_;   ///< Cpu steps for one-device classes ...
  std::vector<std::int64_t> gang_grid_;  ///< ... and for gangs.
  std::vector<std::int16_t> size_list_;
  Lanes sizes_[sizes_max] = {};
  std::array<std::uint8_t, 1001> size_step_{};
  std::int64_t feed_ = 0;
  std::int64_t starved_weight_ = 0;  ///< 2, or 0 where nothing is known of cpu.
  std::array<std::int64_t, limits::devices_per_node + 1> fullness_{};  ///< By devices; 2^-20 per ‰.
};

}  // namespace tutti
