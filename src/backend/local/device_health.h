/// How a card is, from what its driver says of it over time.
///
/// A card is taken out of use at once, and put back only after it was well for a while, so that one
/// that comes and goes does not get a new task each time. An error that the driver reports stays
/// until the driver, or the server, starts anew: nothing tells that it has passed.
#pragma once

#include <cstdint>
#include <string>

#include "backend/local/gpus.h"
#include "model/device.h"

namespace tutti {

class DeviceHealth {
 public:
  explicit DeviceHealth(Health first = Health::online) : first_(first), health_(first) {}

  /// The driver reported the XID error `number`.
  void hear_xid(std::uint64_t number);
  /// It was asked.
  void hear(const CardReading& reading);

  Health health() const { return health_; }
  /// Why it is not online, for people.
  const std::string& reason() const { return reason_; }

  /// Readings in a row: slow before that counts, and well before it is trusted again.
  static constexpr unsigned slow_before = 2;
  static constexpr unsigned well_before = 3;

 private:
  void become(Health health, std::string reason);

  Health first_;
  Health health_;
  std::string reason_;
  bool for_good_ = false;
  unsigned slow_ = 0;
  unsigned well_ = 0;
};

}  // namespace tutti
