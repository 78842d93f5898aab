/// Looks after the cards of this machine: asks the driver every so often, and hears its errors.
///
/// Has a thread of its own, because a driver with a sick card may take seconds to answer. What
/// became of a card goes to whoever waits until `wake_fd` is readable. A driver that never answers
/// holds up the end of this object.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backend/local/device_health.h"
#include "backend/local/nvml.h"
#include "backend/local/system.h"
#include "base/time.h"

namespace tutti {

class DeviceWatch {
 public:
  struct Card {
    nvml::Device device = nullptr;
    std::uint16_t ordinal = 0;       ///< Of the node.
    Health health = Health::online;  ///< As the node was reported.
  };
  struct Change {
    std::uint16_t ordinal = 0;
    Health health = Health::online;
    std::string reason;
  };
  struct Options {
    Duration every = Duration::seconds(10);
    /// Told of each change on the watch's thread.
    std::function<void(const Change&)> tell;
  };

  DeviceWatch(const nvml::Library& driver, std::vector<Card> cards, Options options);
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;
  ~DeviceWatch();

  /// Readable when `take` has something.
  int wake_fd() const { return wake_.get(); }
  std::vector<Change> take();

 private:
  void run(const std::stop_token& stop);
  /// Waits for errors, or a second.
  void listen();
  void ask_all();
  void note(std::size_t card);

  nvml::Library driver_;
  std::vector<Card> cards_;
  Options options_;
  std::vector<DeviceHealth> healths_;  ///< By card. Of the thread, as is what follows.
  nvml::EventSet errors_ = nullptr;
  Descriptor wake_;
  Descriptor ended_;  ///< Readable once the thread is to end.
  std::mutex mutex_;
  std::vector<Change> changes_;  ///< Guarded by mutex_.
  std::jthread thread_;          ///< Last: it uses all of the above.
};

}  // namespace tutti
