/// Pack: prefers the nodes left fullest, so that large holes survive for large gangs.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

/// The dominant used share after placement: of cpu, memory or accelerators, whichever is larger.
class Pack final : public Score {
 public:
  /// `sign` +1 prefers full nodes, -1 empty ones.
  Pack(std::string_view name, bool prefer_full) : name_(name), prefer_full_(prefer_full) {}
  std::string_view name() const override { return name_; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    std::int64_t memory = 0;
    for (const Resources::Amount& part : task.row->request) {
      if (part.lane == lane::memory) memory = part.amount;
    }
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const NodeIndex node = nodes[at];
      const Resources& capacity = view.fleet().node(node).capacity;
      const auto devices = static_cast<std::int64_t>(view.fleet().devices(node).size());
      const Permille full =
          std::max({used(capacity.get(lane::cpu), view.usage.free(node, lane::cpu) - demand.cpu),
                    used(capacity.get(lane::memory), view.usage.free(node, lane::memory) - memory),
                    used(devices * DeviceRequest::whole, open_on(view, node) - demand.total())});
      out[at] = prefer_full_ ? full : static_cast<Permille>(1000 - full);
    }
  }

 private:
  static Permille used(std::int64_t capacity, std::int64_t left) {
    if (capacity <= 0) return 0;
    // Dividing first where the product could overflow loses less than a thousandth.
    const std::int64_t unit = capacity > std::int64_t{1} << 50 ? 1 << 20 : 1;
    const std::int64_t value = (capacity / unit - left / unit) * 1000 / (capacity / unit);
    return static_cast<Permille>(std::clamp<std::int64_t>(value, 0, 1000));
  }

  std::string_view name_;
  bool prefer_full_;
};

}  // namespace

std::unique_ptr<const Score> make_pack(Arguments, const State&) {
  return std::make_unique<Pack>("pack", true);
}

std::unique_ptr<const Score> make_spread(Arguments, const State&) {
  return std::make_unique<Pack>("spread", false);
}

}  // namespace tutti
