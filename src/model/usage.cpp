#include "model/usage.h"

#include <algorithm>

#include "base/check.h"

namespace tutti {

void Usage::hold(const Fleet& fleet, ShapeIndex shape, const ShapeRow& row, NodeIndex node,
                 const DeviceSet& devices) {
  const std::size_t base = node.value() * lanes_;
  for (const Resources::Amount& part : row.request) {
    lane_free_[base + part.lane.value()] -= part.amount;
  }
  const std::uint32_t begin = fleet.device_begin(node);
  const bool open = fleet.open(node);
  devices.each([&](unsigned ordinal) {
    const std::uint32_t at = begin + ordinal;
    const Hold& hold = row.hold[fleet.device_type(at).value()];
    used_permille_[at] += hold.compute_permille;
    used_mib_[at] += hold.memory_mib;
    reopen_device(fleet, at, open);
  });
  if (!devices.empty()) sum_up(fleet, node);
  count(node, shape, +1);
}

void Usage::release(const Fleet& fleet, ShapeIndex shape, const ShapeRow& row, NodeIndex node,
                    const DeviceSet& devices) {
  const std::size_t base = node.value() * lanes_;
  for (const Resources::Amount& part : row.request) {
    lane_free_[base + part.lane.value()] += part.amount;
  }
  const std::uint32_t begin = fleet.device_begin(node);
  const bool open = fleet.open(node);
  devices.each([&](unsigned ordinal) {
    const std::uint32_t at = begin + ordinal;
    const Hold& hold = row.hold[fleet.device_type(at).value()];
    CHECK(used_permille_[at] >= hold.compute_permille && used_mib_[at] >= hold.memory_mib, node,
          ordinal, used_permille_[at], hold.compute_permille);
    used_permille_[at] -= hold.compute_permille;
    used_mib_[at] -= hold.memory_mib;
    reopen_device(fleet, at, open);
  });
  if (!devices.empty()) sum_up(fleet, node);
  count(node, shape, -1);
}

void Usage::count(NodeIndex node, ShapeIndex shape, int by) {
  std::vector<ShapeCount>& counts = shapes_[node.value()];
  const auto at = std::ranges::lower_bound(counts, shape, {}, &ShapeCount::shape);
  if (at == counts.end() || at->shape != shape) {
    CHECK(by > 0, node, shape);
    counts.insert(at, {shape, 1});
    return;
  }
  at->count += static_cast<std::uint32_t>(by);
  if (at->count == 0) counts.erase(at);
}

void Usage::reopen_device(const Fleet& fleet, std::uint32_t row, bool node_open) {
  const std::int64_t memory = fleet.types()[fleet.device_type(row).value()].memory_mib;
  const bool open = node_open && fleet.offered(row) && used_permille_[row] < DeviceRequest::whole;
  open_permille_[row] =
      open ? static_cast<std::uint16_t>(DeviceRequest::whole - used_permille_[row]) : 0;
  open_mib_[row] = open ? static_cast<std::int32_t>(memory - used_mib_[row]) : 0;
}

void Usage::reopen(const Fleet& fleet, NodeIndex node) {
  const bool open = fleet.open(node);
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    reopen_device(fleet, row, open);
  }
  sum_up(fleet, node);
}

void Usage::sum_up(const Fleet& fleet, NodeIndex node) {
  Offer offer;
  for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
    const std::uint16_t open = open_permille_[row];
    offer.most_open = std::max(offer.most_open, open);
    offer.whole_open = static_cast<std::uint16_t>(offer.whole_open + open / DeviceRequest::whole);
  }
  offers_[node.value()] = offer;
}

void Usage::resize(const Fleet& fleet, std::span<const std::uint32_t> old_begin) {
  const std::size_t lanes = fleet.lanes().size();
  if (lanes != lanes_) {
    std::vector<std::int64_t> wider(shapes_.size() * lanes);
    for (std::size_t at = 0; at < lane_free_.size(); ++at) {
      wider[at / lanes_ * lanes + at % lanes_] = lane_free_[at];
    }
    lane_free_ = std::move(wider);
    lanes_ = lanes;
  }
  lane_free_.resize(fleet.size() * lanes_);
  if (!old_begin.empty()) {
    const auto move_rows = [&](auto& column) {
      std::remove_reference_t<decltype(column)> fresh(fleet.device_count());
      for (std::size_t node = 0; node + 1 < old_begin.size(); ++node) {
        const std::uint32_t begin = fleet.device_begin(NodeIndex(node));
        const std::uint32_t size = std::min(old_begin[node + 1] - old_begin[node],
                                            fleet.device_end(NodeIndex(node)) - begin);
        std::copy_n(column.begin() + old_begin[node], size, fresh.begin() + begin);
      }
      column = std::move(fresh);
    };
    move_rows(used_permille_);
    move_rows(open_permille_);
    move_rows(used_mib_);
    move_rows(open_mib_);
  }
  used_permille_.resize(fleet.device_count());
  open_permille_.resize(fleet.device_count());
  used_mib_.resize(fleet.device_count());
  open_mib_.resize(fleet.device_count());
  offers_.resize(fleet.size());
  shapes_.resize(fleet.size());
}

void Usage::recapacitate(const Fleet& fleet, NodeIndex node, const Resources& old,
                         bool old_bounded) {
  const Node& now = fleet.node(node);
  for (std::size_t at = 0; at < lanes_; ++at) {
    const Lane lane(at);
    const bool pods = lane == lane::pods;
    const std::int64_t before = pods && !old_bounded ? unbounded : old.get(lane);
    const std::int64_t after = pods && !now.bounded_pods ? unbounded : now.capacity.get(lane);
    lane_free_[node.value() * lanes_ + at] += after - before;
  }
}

bool Usage::copy_node(const Fleet& fleet, const Usage& from, NodeIndex node) {
  bool changed = false;
  const auto copy = [&](auto& column, const auto& source, std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      changed |= column[at] != source[at];
      column[at] = source[at];
    }
  };
  copy(lane_free_, from.lane_free_, node.value() * lanes_, (node.value() + 1) * lanes_);
  const std::uint32_t begin = fleet.device_begin(node);
  const std::uint32_t end = fleet.device_end(node);
  copy(used_permille_, from.used_permille_, begin, end);
  copy(open_permille_, from.open_permille_, begin, end);
  copy(used_mib_, from.used_mib_, begin, end);
  copy(open_mib_, from.open_mib_, begin, end);
  offers_[node.value()] = from.offers_[node.value()];
  copy(shapes_, from.shapes_, node.value(), node.value() + 1);
  return changed;
}

}  // namespace tutti
