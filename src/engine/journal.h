/// Port: where events are made durable, in order.
#pragma once

#include <span>

#include "base/result.h"
#include "base/time.h"
#include "model/event.h"

namespace tutti {

class Journal {
 public:
  virtual ~Journal() = default;
  /// Durable, as one unit, when it returns. An error means that nothing of it may be relied upon:
  /// the engine then applies nothing of the batch.
  virtual Result<void> append(std::span<const Event> events, Instant at) = 0;
};

/// Keeps nothing: for simulations, whose history is their seed.
class NullJournal final : public Journal {
 public:
  Result<void> append(std::span<const Event>, Instant) override { return {}; }
};

}  // namespace tutti
