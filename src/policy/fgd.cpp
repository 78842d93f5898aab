/// FGD: places where the fragmentation of the target mix grows least.
///
/// The rating is the integer part of a sigmoid of the decrease, as published; its coarseness is
/// wanted, for equal ratings fall to the lowest node and so fill one node after the other.
#include "policy/fragmentation.h"
#include "policy/makers.h"
#include "policy/sigmoid.h"

namespace tutti {
namespace {

class Fgd final : public Score {
 public:
  Fgd(std::int64_t scale, const State& state)
      : fragmentation_(state), levels_(scale * std::max<std::int64_t>(fragmentation_.total(), 1)) {}
  std::string_view name() const override { return "fgd"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const Fragmentation::Open open = fragmentation_.look(view, nodes[at]);
      const std::int64_t before = fragmentation_.fragments(open);
      std::int64_t least = INT64_MAX;
      if (!demand.shared()) least = fragmentation_.fragments_after(open, demand, 0);
      for (std::size_t device = 0; demand.shared() && device < open.devices; ++device) {
        if (open.permille[device] < demand.share) continue;
        if (device > 0 && open.permille[device] == open.permille[device - 1]) continue;
        least = std::min(least, fragmentation_.fragments_after(open, demand, device));
      }
      out[at] = percent(levels_.of(before - least));
    }
  }

  void rate_devices(const TaskClass& task, const View& view, NodeIndex node,
                    std::span<const std::uint8_t> ordinals,
                    std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    const Fragmentation::Open open = fragmentation_.look(view, node);
    const std::int64_t before = fragmentation_.fragments(open);
    for (std::size_t at = 0; at < ordinals.size(); ++at) {
      out[at] = 0;
      if (ordinals[at] >= open.devices) continue;
      out[at] =
          percent(levels_.of(before - fragmentation_.fragments_after(open, demand, ordinals[at])));
    }
  }

 private:
  Fragmentation fragmentation_;
  SigmoidLevels levels_;
};

}  // namespace

std::unique_ptr<const Score> make_fgd(Arguments arguments, const State& state) {
  return std::make_unique<Fgd>(arguments.front().value, state);
}

}  // namespace tutti
