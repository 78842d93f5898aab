/// Port: who wants to know what happened, in order: the tables from which readers are answered.
#pragma once

#include <cstdint>

#include "model/event.h"
#include "model/state.h"

namespace tutti {

/// The number of a row of the journal, from 1.
using JournalRow = std::uint64_t;

class Follower {
 public:
  virtual ~Follower() = default;
  /// The event was applied, and `state` is what came of it; those that were refused left rows, but
  /// are not heard of.
  virtual void happened(JournalRow row, const Event& event, const State& state) = 0;
};

}  // namespace tutti
