#include "policy/fragmentation.h"

#include <algorithm>
#include <map>

namespace tutti {
namespace {

/// Counts of the whole mix sum to at most this, so that a count times what is open on 32 devices,
/// summed over all groups, stays below 2^31.
constexpr std::uint64_t total_max = 1 << 14;
constexpr std::int16_t never = 0x7fff;

}  // namespace

Fragmentation::Fragmentation(const State& state) {
  std::uint64_t tasks = 0;
  for (const State::MixRow& row : state.mix()) tasks += row.count;
  divide_ = static_cast<std::uint32_t>((tasks + total_max - 1) / total_max);
  divide_ = std::max(divide_, std::uint32_t{1});
  for (const State::MixRow& row : state.mix()) total_ += row.count / divide_;
  add_groups(state);
  for (std::size_t at = 0; at < state.fleet().types().size(); ++at) add_type(state, TypeIndex(at));
}

void Fragmentation::add_groups(const State& state) {
  std::map<Group, std::uint64_t> weight;
  for (const State::MixRow& row : state.mix()) {
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
  for (const State::MixRow& row : state.mix()) {
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
  std::size_t row = 0;
  while (row < table.thresholds.size() && table.thresholds[row] <= cpu) ++row;
  return table.rows.data() + row * blocks_;
}

Fragmentation::Open Fragmentation::look(const View& view, NodeIndex node) const {
  const Fleet& fleet = view.fleet();
  Open open;
  const std::uint32_t begin = fleet.device_begin(node);
  open.devices = std::min<std::size_t>(fleet.device_end(node) - begin, devices_max);
  for (std::size_t at = 0; at < open.devices; ++at) {
    open.permille[at] = view.usage.open_permille()[begin + at];
    open.sum += open.permille[at];
  }
  open.cpu = view.usage.free(node, lane::cpu);
  if (open.devices > 0) open.type = fleet.device_type(begin);
  return open;
}

std::int64_t Fragmentation::fragments(const Open& open) const {
  if (open.devices == 0) return 0;
  const Vector* fit = row_for(open.type, open.cpu);
  std::int32_t served = 0;
  for (std::size_t block = 0; block < blocks_; ++block) {
    Vector sum{};
    Vector number{};
    for (std::size_t device = 0; device < open.devices; ++device) {
      const auto left = static_cast<std::int16_t>(open.permille[device]);
      for (std::size_t at = 0; at < lanes; ++at) {
        const auto serves = static_cast<std::int16_t>(left >= share_[block][at] ? -1 : 0);
        sum[at] = static_cast<std::int16_t>(sum[at] + (left & serves));
        number[at] = static_cast<std::int16_t>(number[at] - serves);
      }
    }
    for (std::size_t at = 0; at < lanes; ++at) {
      const std::int16_t usable = number[at] >= count_[block][at] ? sum[at] : std::int16_t{0};
      served += std::int32_t{usable} * fit[block][at];
    }
  }
  return total_ * open.sum - served;
}

std::int64_t Fragmentation::fragments_after(const Open& open, const Demand& demand,
                                            std::size_t device) const {
  Open after = open;
  after.cpu -= demand.cpu;
  if (demand.count == 1 && demand.share < DeviceRequest::whole) {
    after.permille[device] = static_cast<std::uint16_t>(after.permille[device] - demand.share);
    after.sum -= demand.share;
    return fragments(after);
  }
  std::int64_t wanted = demand.count;
  for (std::size_t at = 0; at < after.devices && wanted > 0; ++at) {
    if (after.permille[at] < demand.share) continue;
    after.permille[at] = static_cast<std::uint16_t>(after.permille[at] - demand.share);
    after.sum -= demand.share;
    --wanted;
  }
  return fragments(after);
}

}  // namespace tutti
