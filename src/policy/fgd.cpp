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
  Fgd(std::int64_t scale, std::int64_t cover_percent, const State& state)
      : fragmentation_(state, cover_percent),
        levels_(scale * std::max<std::int64_t>(fragmentation_.total(), 1)) {}
  std::string_view name() const override { return "fgd"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    Fragmentation::Look look;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      fragmentation_.look(view, nodes[at], look);
      out[at] = rating(look, fragmentation_.least_fragments_after(look, demand));
    }
  }

  void rate_devices(const TaskClass& task, const View& view, NodeIndex node,
                    std::span<const std::uint8_t> ordinals,
                    std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    Fragmentation::Look look;
    fragmentation_.look(view, node, look);
    for (std::size_t at = 0; at < ordinals.size(); ++at) {
      const bool seen = ordinals[at] < look.devices;
      out[at] = seen ? rating(look, fragmentation_.fragments_after(look, demand, ordinals[at])) : 0;
    }
  }

 private:
  Permille rating(const Fragmentation::Look& look, std::int64_t after) const {
    return percent(levels_.of(fragmentation_.fragments(look) - after));
  }

  Fragmentation fragmentation_;
  SigmoidLevels levels_;
};

}  // namespace

std::unique_ptr<const Score> make_fgd(Arguments arguments, const State& state) {
  return std::make_unique<Fgd>(arguments[0].value, arguments[1].value, state);
}

}  // namespace tutti
