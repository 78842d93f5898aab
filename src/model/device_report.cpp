#include "model/device_report.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"

namespace tutti {
namespace {

constexpr std::size_t nowhere = SIZE_MAX;

/// Gives each reported device its ordinal.
class Numbering {
 public:
  Numbering(std::span<const DeviceSpec> reported, std::span<const KnownDevice> known)
      : reported_(reported), known_(known), taken_(limits::devices_per_node) {}

  std::vector<std::size_t> run() {
    std::vector<std::size_t> out;
    for (const DeviceSpec& spec : reported_) out.push_back(take(with_id(spec.device.id)));
    for (std::size_t at = 0; at < reported_.size(); ++at) {
      if (out[at] == nowhere) out[at] = take(for_new(at));
    }
    return out;
  }

 private:
  std::size_t take(std::size_t ordinal) {
    if (ordinal != nowhere) taken_[ordinal] = true;
    return ordinal;
  }

  std::size_t with_id(std::string_view id) const {
    if (id.empty()) return nowhere;
    return first(known_.size(), [&](std::size_t at) { return known_[at].spec.device.id == id; });
  }

  std::size_t for_new(std::size_t position) const {
    const std::size_t count = known_.size();
    if (position < count && !taken_[position] && may_be(position)) return position;
    const auto gone = first(count, [&](std::size_t at) { return !known_[at].held; });
    if (gone != nowhere) return gone;
    std::size_t fresh = count;
    while (fresh < taken_.size() && taken_[fresh]) ++fresh;
    if (fresh < taken_.size()) return fresh;
    const auto any = first(count, [](std::size_t) { return true; });
    CHECK(any != nowhere, reported_.size(), count);
    return any;
  }

  /// May the device at this position be the one that was known there?
  bool may_be(std::size_t position) const {
    const KnownDevice& old = known_[position];
    return !old.held || old.spec.device.id.empty() || reported_[position].device.id.empty();
  }

  template <class Is>
  std::size_t first(std::size_t count, Is&& is) const {
    for (std::size_t at = 0; at < count; ++at) {
      if (!taken_[at] && is(at)) return at;
    }
    return nowhere;
  }

  std::span<const DeviceSpec> reported_;
  std::span<const KnownDevice> known_;
  std::vector<bool> taken_;
};

/// No longer reported: nobody gets it, and a card is no longer cut for it, unless somebody has it.
DeviceSpec lost(const KnownDevice& known) {
  DeviceSpec spec = known.spec;
  spec.device.health = Health::failed;
  if (!known.held) spec.device.parent = Device::no_parent;
  return spec;
}

}  // namespace

std::vector<DeviceSpec> numbered(std::span<const DeviceSpec> reported,
                                 std::span<const KnownDevice> known) {
  const std::vector<std::size_t> ordinals = Numbering(reported, known).run();
  std::vector<DeviceSpec> out;
  for (const KnownDevice& each : known) out.push_back(lost(each));
  for (const std::size_t ordinal : ordinals) out.resize(std::max(out.size(), ordinal + 1));
  for (std::size_t at = 0; at < reported.size(); ++at) {
    DeviceSpec& spec = out[ordinals[at]];
    spec = reported[at];
    std::uint8_t& parent = spec.device.parent;
    if (parent < reported.size()) parent = static_cast<std::uint8_t>(ordinals[parent]);
  }
  return out;
}

}  // namespace tutti
