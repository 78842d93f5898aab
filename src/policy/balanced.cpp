/// Balanced: nodes on which cpu, memory and accelerators end up equally used.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class Balanced final : public Score {
 public:
  std::string_view name() const override { return "balanced"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  /// 1000 minus the distance between the most and the least used of the resources that a node has.
  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const NodeIndex node = nodes[at];
      const Resources& capacity = view.fleet().node(node).capacity;
      const auto devices = static_cast<std::int64_t>(view.fleet().devices(node).size());
      std::int64_t least = 1000;
      std::int64_t most = 0;
      const auto count = [&](std::int64_t whole, std::int64_t left) {
        if (whole <= 0) return;
        // In units of a millionth of the whole, so that a huge capacity cannot overflow.
        const std::int64_t used = 1000 - std::min<std::int64_t>(left / (whole / 1000 + 1), 1000);
        least = std::min(least, used);
        most = std::max(most, used);
      };
      count(capacity.get(lane::cpu), view.usage.free(node, lane::cpu) - demand.cpu);
      count(capacity.get(lane::memory), view.usage.free(node, lane::memory));
      count(devices * DeviceRequest::whole, open_on(view, node) - demand.total());
      out[at] = static_cast<Permille>(std::clamp<std::int64_t>(1000 - (most - least), 0, 1000));
    }
  }
};

}  // namespace

std::unique_ptr<const Score> make_balanced(Arguments, const State&) {
  return std::make_unique<Balanced>();
}

}  // namespace tutti
