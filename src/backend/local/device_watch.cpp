#include "backend/local/device_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"

namespace tutti {
namespace {

/// An end of the server waits for so long at most.
constexpr unsigned listen_ms = 500;

void ring(const Descriptor& bell) {
  const std::uint64_t one = 1;
  write_all(bell.get(), {reinterpret_cast<const char*>(&one), sizeof one});
}

}  // namespace

DeviceWatch::DeviceWatch(const nvml::Library& driver, std::vector<Card> cards, Options options)
    : driver_(driver), cards_(std::move(cards)), options_(std::move(options)) {
  for (const Card& card : cards_) healths_.emplace_back(card.health);
  wake_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  ended_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  CHECK(wake_.valid() && ended_.valid());
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

DeviceWatch::~DeviceWatch() {
  thread_.request_stop();
  ring(ended_);
}

std::vector<DeviceWatch::Change> DeviceWatch::take() {
  std::uint64_t times = 0;
  static_cast<void>(::read(wake_.get(), &times, sizeof times));
  const std::scoped_lock lock(mutex_);
  return std::exchange(changes_, {});
}

void DeviceWatch::run(const std::stop_token& stop) {
  if (driver_.ask(&nvml::Functions::event_set, &errors_) == nvml::success) {
    bool any = false;
    for (const Card& card : cards_) {
      any |= driver_.ask(&nvml::Functions::register_events, card.device,
                         nvml::event_xid | nvml::event_double_bit, errors_) == nvml::success;
    }
    if (!any) errors_ = nullptr;
  }
  while (!stop.stop_requested()) {
    ask_all();
    const Instant next = steady_time() + options_.every;
    while (!stop.stop_requested() && steady_time() < next) listen();
  }
}

void DeviceWatch::listen() {
  nvml::EventFacts event;
  const int answer = errors_ == nullptr
                         ? static_cast<int>(nvml::not_supported)
                         : driver_.ask(&nvml::Functions::wait, errors_, &event, listen_ms);
  if (answer == nvml::timeout) return;
  if (answer != nvml::success) {
    // Not by this driver, or not now: then the next time that all are asked.
    pollfd end{.fd = ended_.get(), .events = POLLIN, .revents = 0};
    ::poll(&end, 1, listen_ms);
    return;
  }
  for (std::size_t card = 0; card < cards_.size(); ++card) {
    if (cards_[card].device != event.device) continue;
    if (event.type == nvml::event_xid) healths_[card].hear_xid(event.what);
    healths_[card].hear(read_card(driver_, event.device));
    note(card);
  }
}

void DeviceWatch::ask_all() {
  for (std::size_t card = 0; card < cards_.size(); ++card) {
    healths_[card].hear(read_card(driver_, cards_[card].device));
    note(card);
  }
}

void DeviceWatch::note(std::size_t at) {
  Card& card = cards_[at];
  const DeviceHealth& health = healths_[at];
  if (health.health() == card.health) return;
  card.health = health.health();
  const Change change{.ordinal = card.ordinal, .health = card.health, .reason = health.reason()};
  if (options_.tell) options_.tell(change);
  {
    const std::scoped_lock lock(mutex_);
    changes_.push_back(change);
  }
  ring(wake_);
}

}  // namespace tutti
