/// Best fit: the node that is left with the least cpu and accelerators, each relative to the
/// largest node of the fleet.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class BestFit final : public Score {
 public:
  explicit BestFit(const State& state) : largest_(state.fleet()) {}
  std::string_view name() const override { return "bestfit"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    const std::int64_t whole = largest_.cpu * largest_.permille;
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const std::int64_t cpu = view.usage.free(nodes[at], lane::cpu) - demand.cpu;
      const std::int64_t open = open_on(view, nodes[at]) - demand.total();
      const std::int64_t left = 50 * cpu * largest_.permille + 50 * open * largest_.cpu;
      out[at] = percent((100 * whole - left) / whole);
    }
  }

 private:
  Largest largest_;
};

}  // namespace

std::unique_ptr<const Score> make_bestfit(Arguments, const State& state) {
  return std::make_unique<BestFit>(state);
}

}  // namespace tutti
