/// Capacity: does a task fit what is free on a node, and on which devices?
///
/// This is the one filter that every decision runs, so it is a function and not an interface.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/policy.h"

namespace tutti {

/// What most nodes of a busy fleet fail at, inline: the best device on offer, then the lanes.
inline bool may_fit(const ShapeRow& row, const Usage& usage, NodeIndex node) {
  const Usage::Offer offer = usage.offer(node);
  if (offer.most_open < row.needs_open || offer.whole_open < row.needs_whole) return false;
  const std::int64_t* free = usage.free(node).data();
  for (const Resources::Amount& part : row.request) {
    if (free[part.lane.value()] < part.amount) return false;
  }
  return true;
}

/// Would the task fit now? Equal to fit_reject(...).ok(), but as fast as can be.
bool fits(const TaskClass& task, const View& view, NodeIndex node);

/// The first thing that is missing. Lanes come before devices, lower ones first.
Reject fit_reject(const TaskClass& task, const View& view, NodeIndex node);

/// How many such tasks the node could take side by side by its capacity alone, at most `most`: what
/// filters say of a second task is not asked.
std::uint32_t slots(const TaskClass& task, const View& view, NodeIndex node, std::uint32_t most);

/// Ordinals of the devices that could serve the request alone: of a matching type, offered, with
/// enough free. Ascending.
void candidates(const TaskClass& task, const View& view, NodeIndex node, unsigned request,
                std::vector<std::uint8_t>& out);

/// The devices that the task would take on this node. A task of one share takes the device that
/// `score` rates highest, a task of several the first ones, in one island where it asks for that.
/// REQUIRES: fits(task, view, node).
DeviceSet choose_devices(const TaskClass& task, const View& view, NodeIndex node,
                         const Score& score);

/// Sets of devices that the task could take on this node, one for each way that makes a difference
/// to anyone, used devices first. False when there are more than `most`, which then are left out.
/// REQUIRES: fits(task, view, node).
bool device_choices(const TaskClass& task, const View& view, NodeIndex node, std::size_t most,
                    std::vector<DeviceSet>& out);

}  // namespace tutti
