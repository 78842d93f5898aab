/// Who-holds-how-much, in the arrays that every decision reads.
///
/// Per node: what is free in each lane, and how many tasks of which shape it runs. Per device: what
/// is held, and what is open to new work (nothing, when the device is not healthy or its node takes
/// no work). Free amounts may be negative: capacity can shrink below what is held, and that is a
/// fact to live with, not an error.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/fleet.h"
#include "model/shape.h"

namespace tutti {

/// What one task of a shape holds of one device of a type. Where no request takes such devices, it
/// is what the task keeps of a card that was described anew while the task held it.
struct Hold {
  static constexpr std::uint8_t no_request = 0xff;
  std::uint8_t request = no_request;  ///< Which DeviceRequest takes devices of this type.
  std::uint16_t compute_permille = 0;
  std::int32_t memory_mib = 0;
};

/// A shape, resolved against one fleet.
struct ShapeRow {
  TaskShape spec;
  std::vector<Resources::Amount> request;  ///< One pod included; sorted by lane.
  std::vector<Hold> hold;                  ///< By TypeIndex.
  std::int64_t gpu_milli = 0;              ///< Σ over devices of compute ‰; what quotas count.
  std::uint16_t needs_open = 0;            ///< Some device must be open to this many ‰ ...
  std::uint16_t needs_whole = 0;  ///< ... and so many devices must be free: quick to refute.
  bool impossible = false;        ///< Asks for a resource that no node of this fleet can have.

  /// What a task takes of one lane.
  std::int64_t amount(Lane lane) const {
    for (const Resources::Amount& part : request) {
      if (part.lane == lane) return part.amount;
    }
    return 0;
  }
};

class Usage {
 public:
  struct ShapeCount {
    ShapeIndex shape;
    std::uint32_t count = 0;
    friend bool operator==(const ShapeCount&, const ShapeCount&) = default;
  };

  std::int64_t free(NodeIndex node, Lane lane) const {
    return lane_free_[node.value() * lanes_ + lane.value()];
  }
  std::span<const std::int64_t> free(NodeIndex node) const {
    return std::span(lane_free_).subspan(node.value() * lanes_, lanes_);
  }
  /// Compute ‰ and memory of each device that new work may take, by device row.
  std::span<const std::uint16_t> open_permille() const { return open_permille_; }
  std::span<const std::int32_t> open_mib() const { return open_mib_; }
  std::uint32_t used_permille(std::uint32_t row) const { return used_permille_[row]; }
  std::int32_t used_mib(std::uint32_t row) const { return used_mib_[row]; }
  /// What the devices of a node can offer at best, whatever their types.
  struct Offer {
    std::uint16_t most_open = 0;   ///< ‰ of the device with the most open.
    std::uint16_t whole_open = 0;  ///< Devices that nobody shares.
    friend bool operator==(const Offer&, const Offer&) = default;
  };
  Offer offer(NodeIndex node) const { return offers_[node.value()]; }
  std::span<const ShapeCount> shapes(NodeIndex node) const { return shapes_[node.value()]; }

  /// Books one task of the shape. Never refuses: the caller decided. O(request + devices).
  void hold(const Fleet& fleet, ShapeIndex shape, const ShapeRow& row, NodeIndex node,
            const DeviceSet& devices);
  /// The exact inverse of `hold`.
  void release(const Fleet& fleet, ShapeIndex shape, const ShapeRow& row, NodeIndex node,
               const DeviceSet& devices);

  /// Makes room for new nodes, lanes and devices; existing bookings stay.
  /// `old_begin` are the device offsets before rows of devices moved, empty when none did.
  void resize(const Fleet& fleet, std::span<const std::uint32_t> old_begin);
  /// Free amounts of `node` after its capacity changed from `old`.
  void recapacitate(const Fleet& fleet, NodeIndex node, const Resources& old, bool old_bounded);
  /// What is open on a node after health, presence or cordon changed.
  void reopen(const Fleet& fleet, NodeIndex node);

  /// Makes the node's row equal to the other's. True when it was not. REQUIRES: equal sizes.
  bool copy_node(const Fleet& fleet, const Usage& from, NodeIndex node);

  /// Free pods on a node that does not bound their number.
  static constexpr std::int64_t unbounded = std::int64_t{1} << 40;

  friend bool operator==(const Usage&, const Usage&) = default;

 private:
  void count(NodeIndex node, ShapeIndex shape, int by);
  void reopen_device(const Fleet& fleet, std::uint32_t row, bool node_open);
  void sum_up(const Fleet& fleet, NodeIndex node);

  std::size_t lanes_ = 0;
  std::vector<std::int64_t> lane_free_;       ///< node * lanes_ + lane
  std::vector<std::uint32_t> used_permille_;  ///< Above 1000 on cards that were described anew.
  std::vector<std::uint16_t> open_permille_;
  std::vector<std::int32_t> used_mib_;
  std::vector<std::int32_t> open_mib_;
  std::vector<Offer> offers_;                    ///< By node.
  std::vector<std::vector<ShapeCount>> shapes_;  ///< Sorted by shape, counts positive.
};

}  // namespace tutti
