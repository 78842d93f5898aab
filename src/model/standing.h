/// What a task holds where others have put it.
#pragma once

#include "model/state.h"

namespace tutti {

struct Standing {
  ShapeIndex shape;
  DeviceSet devices;
  bool complete = false;  ///< All the devices that it asks for; else those that had room.
};

/// The first alternative of which the node has all devices, whatever the node accepts today; else
/// the first one. Who put the task there does not say which cards it has, so those are guessed: the
/// fullest that have room, as the task's neighbours may share them. O(alternatives x devices).
Standing standing(const State& state, TaskIndex task, NodeIndex node);

}  // namespace tutti
