#include "policy/fragmentation.h"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

/// Counts of the whole mix sum to at most this, so that a count times what is open on 32 devices,
/// summed over all groups, stays below 2^31.
constexpr std::uint64_t total_max = 1 << 14;
constexpr std::int16_t never = 0x7fff;
constexpr std::int64_t cpu_max = std::int64_t{1} << 40;  ///< Milli-cores of one task that count.

}  // namespace

Fragmentation::Fragmentation(const State& state, std::int64_t cover_percent) {
  std::uint64_t all = 0;
  for (const State::MixRow& row : state.mix()) all += row.count;
  std::uint64_t tasks = 0;
  std::size_t rows = 0;
  while (rows < state.mix().size() &&
         tasks * 100 < all * static_cast<std::uint64_t>(cover_percent)) {
    tasks += state.mix()[rows++].count;
  }
  mix_ = std::span(state.mix()).first(rows);
  divide_ = static_cast<std::uint32_t>((tasks + total_max - 1) / total_max);
  divide_ = std::max(divide_, std::uint32_t{1});
  std::int64_t cpu = 0;
  std::int64_t permille = 0;
  for (const State::MixRow& row : mix_) {
    const std::int64_t count = row.count / divide_;
    total_ += count;
    const Demand demand = demand_of(state.shape(row.shape));
    if (demand.count == 0) continue;
    cpu += count * std::min(demand.cpu, cpu_max);
    permille += count * demand.total();
  }
  if (permille > 0) cpu_per_device_ = cpu / (permille / DeviceRequest::whole + 1);
  add_groups(state);
  for (std::size_t at = 0; at < state.fleet().types().size(); ++at) add_type(state, TypeIndex(at));
  mix_ = {};
}

void Fragmentation::add_groups(const State& state) {
  std::map<Group, std::uint64_t> weight;
  for (const State::MixRow& row : mix_) {
    const Demand demand = demand_of(state.shape(row.shape));
    if (demand.count == 0 || demand.count > static_cast<std::int64_t>(devices_max)) continue;
    weight[{static_cast<std::int16_t>(demand.share), static_cast<std::int16_t>(demand.count)}] +=
        row.count / divide_;
  }
  std::vector<std::pair<Group, std::uint64_t>> ranked(weight.begin(), weight.end());
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  ranked.resize(std::min(ranked.size(), lanes * blocks_max));
  for (const auto& [group, count] : ranked) groups_.push_back(group);
  std::ranges::sort(groups_);
  blocks_ = (groups_.size() + lanes - 1) / lanes;
  for (std::size_t at = 0; at < blocks_ * lanes; ++at) {
    const bool real = at < groups_.size();
    share_[at / lanes][at % lanes] = real ? groups_[at].share : never;
    count_[at / lanes][at % lanes] = real ? groups_[at].count : never;
  }
}

void Fragmentation::add_type(const State& state, TypeIndex type) {
  struct Member {
    std::int64_t cpu = 0;
    std::size_t group = 0;
    std::uint32_t count = 0;
  };
  std::vector<Member> members;
  TypeTable table;
  for (const State::MixRow& row : mix_) {
    const ShapeRow& shape = state.shape(row.shape);
    const Demand demand = demand_of(shape);
    const Group group{static_cast<std::int16_t>(demand.share),
                      static_cast<std::int16_t>(demand.count)};
    const auto at = std::ranges::lower_bound(groups_, group);
    if (demand.count == 0 || at == groups_.end() || *at != group) continue;
    if (shape.hold[type.value()].request == Hold::no_request) continue;
    members.push_back(
        {demand.cpu, static_cast<std::size_t>(at - groups_.begin()), row.count / divide_});
    table.thresholds.push_back(demand.cpu);
  }
  std::ranges::sort(table.thresholds);
  const auto doubled = std::ranges::unique(table.thresholds);
  table.thresholds.erase(doubled.begin(), doubled.end());
  table.rows.resize((table.thresholds.size() + 1) * blocks_);
  for (std::size_t row = 0; row < table.thresholds.size(); ++row) {
    for (const Member& member : members) {
      if (member.cpu > table.thresholds[row]) continue;
      Vector& vector = table.rows[(row + 1) * blocks_ + member.group / lanes];
      std::int16_t& cell = vector[member.group % lanes];
      cell = static_cast<std::int16_t>(cell + static_cast<std::int16_t>(member.count));
    }
  }
  types_.push_back(std::move(table));
}

const Fragmentation::Vector* Fragmentation::row_for(TypeIndex type, std::int64_t cpu) const {
  const TypeTable& table = types_[type.value()];
  const auto row = static_cast<std::size_t>(std::ranges::upper_bound(table.thresholds, cpu) -
                                            table.thresholds.begin());
  return table.rows.data() + row * blocks_;
}

void Fragmentation::look(const View& view, NodeIndex node, Look& out) const {
  const Fleet& fleet = view.fleet();
  const std::uint32_t begin = fleet.device_begin(node);
  out.devices = std::min<std::size_t>(fleet.device_end(node) - begin, devices_max);
  out.cpu = view.usage.free(node, lane::cpu);
  out.sum = 0;
  if (out.devices == 0) return;
  out.type = fleet.device_type(begin);
  for (std::size_t block = 0; block < blocks_; ++block) {
    out.usable[block].fill(0);
    out.number[block].fill(0);
  }
  for (std::size_t device = 0; device < out.devices; ++device) {
    const std::uint16_t open = view.usage.open_permille()[begin + device];
    out.permille[device] = open;
    out.sum += open;
    if (open == 0) continue;
    for (std::size_t block = 0; block < blocks_; ++block) {
      shift(out.usable[block], out.number[block], share_[block], static_cast<std::int16_t>(open),
            1);
    }
  }
}

/// One device with that much open begins (+1) or ceases (-1) to serve.
void Fragmentation::shift(Vector& usable, Vector& number, const Vector& share, std::int16_t open,
                          std::int16_t sign) {
  for (std::size_t at = 0; at < lanes; ++at) {
    const auto serves = static_cast<std::int16_t>(open >= share[at] ? -1 : 0);
    usable[at] = static_cast<std::int16_t>(usable[at] + ((sign * open) & serves));
    number[at] = static_cast<std::int16_t>(number[at] + (sign & serves));
  }
}

/// Σ over 16 groups of count times what is usable, where enough devices serve.
std::int32_t Fragmentation::served(const Vector& usable, const Vector& number, const Vector& count,
                                   const Vector& fit) {
  std::int32_t sum = 0;
  for (std::size_t at = 0; at < lanes; ++at) {
    const auto enough = static_cast<std::int16_t>(number[at] >= count[at] ? -1 : 0);
    sum += std::int32_t{static_cast<std::int16_t>(usable[at] & enough)} * fit[at];
  }
  return sum;
}

std::int64_t Fragmentation::fragments(const Look& look) const {
  if (look.devices == 0) return 0;
  const Vector* fit = row_for(look.type, look.cpu);
  std::int64_t sum = 0;
  for (std::size_t block = 0; block < blocks_; ++block) {
    sum += served(look.usable[block], look.number[block], count_[block], fit[block]);
  }
  return total_ * look.sum - sum;
}

std::int64_t Fragmentation::fragments_after(const Look& look, const Demand& demand,
                                            std::size_t device) const {
  if (look.devices == 0) return 0;
  const Vector* fit = row_for(look.type, look.cpu - demand.cpu);
  const bool shared = demand.shared();
  const auto before = static_cast<std::int16_t>(shared ? look.permille[device] : 1000);
  const auto after = static_cast<std::int16_t>(before - demand.share);
  const auto devices = static_cast<std::int16_t>(demand.count);
  std::int64_t sum = 0;
  for (std::size_t block = 0; block < blocks_; ++block) {
    Vector usable = look.usable[block];
    Vector number = look.number[block];
    if (shared) {
      shift(usable, number, share_[block], before, -1);
      shift(usable, number, share_[block], after, +1);
    } else {
      for (std::size_t at = 0; at < lanes; ++at) {
        usable[at] = static_cast<std::int16_t>(usable[at] - devices * before);
        number[at] = static_cast<std::int16_t>(number[at] - devices);
      }
    }
    sum += served(usable, number, count_[block], fit[block]);
  }
  return total_ * (look.sum - demand.total()) - sum;
}

std::int64_t Fragmentation::least_fragments_after(const Look& look, const Demand& demand) const {
  if (!demand.shared()) return fragments_after(look, demand, 0);
  std::int64_t least = INT64_MAX;
  for (std::size_t device = 0; device < look.devices; ++device) {
    const std::uint16_t open = look.permille[device];
    if (open < demand.share) continue;
    const auto* end = look.permille.begin() + device;
    if (std::find(look.permille.begin(), end, open) != end) continue;  // Equal devices are one.
    least = std::min(least, fragments_after(look, demand, device));
  }
  return least;
}

}  // namespace tutti
