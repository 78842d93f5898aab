#include "policy/usable_table.h"

#include <bit>
#include <map>
#include <tuple>
#include <utility>

#include "policy/demand.h"

namespace tutti {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::size_t grid_steps = 6;  ///< Of cpu, for one-device classes and for gangs each.
constexpr std::uint64_t count_max = std::uint64_t{1} << 40;     ///< Tasks of a class that count.
constexpr std::uint64_t scarcity_max = std::uint64_t{1} << 20;  ///< Beyond, all are as scarce.
constexpr std::uint64_t one = std::uint64_t{1} << 32;           ///< In fixed point.

/// The integer part of a square root. REQUIRES: value < 2^126.
std::uint64_t root(Wide value) {
  std::uint64_t result = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const std::uint64_t next = result | std::uint64_t{1} << bit;
    if (Wide{next} * next <= value) result = next;
  }
  return result;
}

/// (all / reach)^(5/4), in units of 2^-32.
std::uint64_t scarcity(std::uint64_t all, std::uint64_t reach) {
  const Wide ratio = std::min(Wide{all} * one / reach, Wide{scarcity_max} * one);
  const std::uint64_t fourth = root(Wide{root(ratio * one)} * one);
  return static_cast<std::uint64_t>(ratio * fourth / one);
}

/// value / by, rounded to the nearest, halves up.
std::int64_t nearest(Wide value, Wide by) {
  return static_cast<std::int64_t>((2 * value + by) / (2 * by));
}

/// At most `most` of the values, evenly by rank, the largest among them.
std::vector<std::int64_t> thinned(std::vector<std::int64_t> values, std::size_t most) {
  std::ranges::sort(values);
  const auto doubled = std::ranges::unique(values);
  values.erase(doubled.begin(), doubled.end());
  if (values.size() <= most) return values;
  std::vector<std::int64_t> kept;
  for (std::size_t at = 1; at <= most; ++at) kept.push_back(values[at * values.size() / most - 1]);
  return kept;
}

std::int16_t bounded(std::int64_t mass) {
  return static_cast<std::int16_t>(std::min<std::int64_t>(mass, INT16_MAX));
}

}  // namespace

/// Tasks of the mix that are equal in all that counts here.
struct UsableTable::Class {
  std::int64_t cpu = 0;
  std::int64_t share = 0;
  std::int64_t count = 0;
  std::vector<bool> types;  ///< That serve it; empty without devices.
  std::uint64_t tasks = 0;
  Wide weight = 0;
  std::int64_t mass = 0;
};

/// Nodes with equal cpu and equal devices.
struct UsableTable::Kind {
  std::int64_t cpu = 0;
  std::vector<std::pair<TypeIndex, std::int64_t>> devices;  ///< Wanted ones, by type.
  std::uint64_t nodes = 0;

  /// Devices of one node that serve the class; 0 where it cannot run there.
  std::int64_t reach(const Class& each) const {
    std::int64_t sum = 0;
    for (const auto& [type, count] : devices) sum += each.types[type.value()] ? count : 0;
    return cpu >= each.cpu && sum >= each.count ? sum : 0;
  }
};

UsableTable::UsableTable(const State& state, std::int64_t fullness_permille) {
  types_.resize(state.fleet().types().size());
  std::vector<Class> classes = classes_of(state);
  for (const Class& each : classes) {
    for (std::size_t type = 0; type < each.types.size(); ++type) {
      if (each.types[type]) types_[type].rows.resize(1);
    }
  }
  if (std::ranges::all_of(types_, [](const Type& type) { return type.rows.empty(); })) return;
  weigh(classes, state);
  set_feed(classes);
  for (std::size_t devices = 1; devices < fullness_.size(); ++devices) {
    fullness_[devices] =
        nearest(static_cast<Wide>(fullness_permille) << 20, Wide{1'000'000} * devices);
  }
  set_grid(classes);
  const std::vector<std::uint32_t>& begin = state.fleet().device_offsets();
  for (std::size_t at = 1; at < begin.size(); ++at) {
    devices_max_ = std::max<std::size_t>(devices_max_, begin[at] - begin[at - 1]);
  }
  for (std::size_t at = 0; at < types_.size(); ++at) {
    if (!types_[at].rows.empty()) set_type(classes, TypeIndex(at));
  }
}

void UsableTable::weigh(std::span<Class> classes, const State& state) const {
  const std::vector<Kind> kinds = kinds_of(state);
  std::uint64_t all = 0;
  for (const Kind& kind : kinds) {
    for (const auto& [type, count] : kind.devices) {
      all += kind.nodes * static_cast<std::uint64_t>(count);
    }
  }
  Wide sum = 0;
  for (Class& each : classes) {
    // In thirds, because a gang counts as 3 + log2(devices) thirds.
    each.weight = Wide{each.tasks} * 3 * one;
    if (each.count > 0) {
      std::uint64_t reach = 0;
      for (const Kind& kind : kinds) {
        reach += kind.nodes * static_cast<std::uint64_t>(kind.reach(each));
      }
      const auto thirds = 2 + std::bit_width(static_cast<std::uint64_t>(each.count));
      each.weight =
          reach == 0 ? 0 : Wide{each.tasks} * static_cast<unsigned>(thirds) * scarcity(all, reach);
    }
    sum += each.weight;
  }
  for (Class& each : classes) each.mass = nearest(each.weight << mass_bits, std::max(sum, Wide{1}));
}

std::vector<UsableTable::Class> UsableTable::classes_of(const State& state) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::vector<bool>>;
  std::map<Key, std::uint64_t> tasks;
  for (const State::MixRow& row : state.mix()) {
    const ShapeRow& shape = state.shape(row.shape);
    if (shape.impossible) continue;
    const Demand demand = demand_of(shape);
    std::vector<bool> types;
    for (std::size_t at = 0; demand.count > 0 && at < shape.hold.size(); ++at) {
      types.push_back(shape.hold[at].request == 0);
    }
    // A share of nothing but memory still needs a device that is open.
    const std::int64_t share = demand.count > 0 ? std::max<std::int64_t>(demand.share, 1) : 0;
    tasks[{std::min(demand.cpu, cpu_max), share, demand.count, std::move(types)}] += row.count;
  }
  std::vector<Class> classes;
  classes.reserve(tasks.size());
  for (const auto& [key, count] : tasks) {
    const auto& [cpu, share, devices, types] = key;
    classes.push_back({cpu, share, devices, types, std::min(count, count_max)});
  }
  return classes;
}

std::vector<UsableTable::Kind> UsableTable::kinds_of(const State& state) const {
  const Fleet& fleet = state.fleet();
  std::map<std::pair<std::int64_t, std::vector<std::pair<TypeIndex, std::int64_t>>>, std::uint64_t>
      nodes;
  std::vector<std::pair<TypeIndex, std::int64_t>> devices;
  for (std::size_t at = 0; at < fleet.size(); ++at) {
    const NodeIndex node(at);
    devices.clear();
    for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
      const TypeIndex type = fleet.device_type(row);
      if (types_[type.value()].rows.empty()) continue;
      const auto known =
          std::ranges::find(devices, type, &std::pair<TypeIndex, std::int64_t>::first);
      if (known != devices.end()) {
        ++known->second;
      } else {
        devices.emplace_back(type, 1);
      }
    }
    if (devices.empty()) continue;
    std::ranges::sort(devices);
    ++nodes[{fleet.node(node).capacity.get(lane::cpu), devices}];
  }
  std::vector<Kind> kinds;
  kinds.reserve(nodes.size());
  for (const auto& [key, count] : nodes) kinds.push_back({key.first, key.second, count});
  return kinds;
}

void UsableTable::set_feed(std::span<const Class> classes) {
  Wide cpu = 0;
  Wide permille = 0;
  for (const Class& each : classes) {
    if (each.count == 0) continue;
    cpu += Wide{each.tasks} * static_cast<std::uint64_t>(each.cpu);
    permille += Wide{each.tasks} * static_cast<std::uint64_t>(each.share * each.count);
  }
  if (cpu == 0 || permille == 0) return;
  const Wide most = INT32_MAX;  // So that its product with any cpu stays in 64 bits.
  feed_ = static_cast<std::int64_t>(std::min<Wide>((2 * (permille << 20) + cpu) / (2 * cpu), most));
  feed_ = std::max<std::int64_t>(feed_, 1);
  starved_weight_ = 2;
}

void UsableTable::set_grid(std::span<const Class> classes) {
  std::vector<std::int64_t> sizes;
  for (const Class& each : classes) {
    if (each.count == 0 || each.weight == 0) continue;
    (each.count == 1 ? one_grid_ : gang_grid_).push_back(each.cpu);
    if (each.count == 1) sizes.push_back(each.share);
  }
  one_grid_ = thinned(std::move(one_grid_), grid_steps);
  gang_grid_ = thinned(std::move(gang_grid_), grid_steps);
  std::vector<std::int64_t> joint = one_grid_;
  joint.insert(joint.end(), gang_grid_.begin(), gang_grid_.end());
  joint = thinned(std::move(joint), cpu_steps_max);
  cpu_count_ = joint.size();
  cpu_.fill(INT32_MAX);
  std::ranges::transform(joint, cpu_.begin(),
                         [](std::int64_t cpu) { return static_cast<std::int32_t>(cpu); });
  for (const std::int64_t size : thinned(std::move(sizes), sizes_max)) {
    size_list_.push_back(static_cast<std::int16_t>(size));
  }
  for (std::size_t at = 0; at < sizes_max; ++at) {
    const std::int16_t size = at < size_list_.size() ? size_list_[at] : INT16_MAX;
    sizes_[at] = Lanes{} + size;
  }
  for (std::size_t open = 0; open < size_step_.size(); ++open) {
    const auto reached = std::ranges::upper_bound(size_list_, static_cast<std::int16_t>(open));
    size_step_[open] = static_cast<std::uint8_t>(reached - size_list_.begin());
  }
}

/// The first step at which the class fits, its cpu rounded up to the grid.
std::size_t UsableTable::cpu_step_of(const Class& each) const {
  const std::vector<std::int64_t>& grid = each.count == 1 ? one_grid_ : gang_grid_;
  return cpu_step(*std::ranges::lower_bound(grid, each.cpu));
}

void UsableTable::set_type(std::span<const Class> classes, TypeIndex type) {
  const std::size_t rows = cpu_count_ + 1;
  const std::size_t columns = devices_max_ + 1;
  std::vector<std::array<std::int64_t, sizes_max + 1>> mass(rows);
  std::vector<std::int64_t> gang(rows * columns);
  for (const Class& each : classes) {
    if (each.count == 0 || each.weight == 0 || !each.types[type.value()]) continue;
    const std::size_t row = cpu_step_of(each);
    if (each.count > 1) {
      gang[row * columns + static_cast<std::size_t>(each.count)] += each.mass;
      continue;
    }
    const auto size = std::ranges::lower_bound(size_list_, static_cast<std::int16_t>(each.share));
    mass[row][static_cast<std::size_t>(size - size_list_.begin()) + 1] += each.mass;
  }
  // From "fits exactly from here on" to "fits": sums over all lower rows and columns.
  for (std::size_t row = 1; row < rows; ++row) {
    for (std::size_t at = 1; at <= sizes_max; ++at) {
      mass[row][at] += mass[row][at - 1] + mass[row - 1][at] - mass[row - 1][at - 1];
    }
    for (std::size_t at = 1; at < columns; ++at) {
      const std::size_t above = (row - 1) * columns + at;
      gang[above + columns] += gang[above + columns - 1] + gang[above] - gang[above - 1];
    }
  }
  Type& table = types_[type.value()];
  table.rows.assign(rows, {});
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t at = 1; at <= sizes_max; ++at) {
      Row& out = table.rows[row];
      out.mass[at] = bounded(mass[row][at]);
      out.rise[at - 1] = Lanes{} + static_cast<std::int16_t>(out.mass[at] - out.mass[at - 1]);
    }
    for (std::size_t at = 0; at < columns; ++at) {
      const auto whole = static_cast<std::int64_t>(at) * DeviceRequest::whole;
      table.gangs.push_back(whole * bounded(gang[row * columns + at]));
    }
  }
}

}  // namespace tutti
