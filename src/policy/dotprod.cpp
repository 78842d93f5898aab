/// Dot product: avoids nodes whose free resources line up with the request, so that what is scarce
/// for others is left alone.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

constexpr std::int64_t million = 1'000'000;

class DotProd final : public Score {
 public:
  explicit DotProd(const State& state) : largest_(state.fleet()) {}
  std::string_view name() const override { return "dotprod"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      // Each product is at most the square of the largest node, so its share of 50 is in [0, 50].
      const std::int64_t cpu = view.usage.free(nodes[at], lane::cpu) * demand.cpu / largest_.cpu *
                               50 * million / largest_.cpu;
      const std::int64_t open = open_on(view, nodes[at]) * demand.total() * 50 * million /
                                (largest_.permille * largest_.permille);
      out[at] = percent((100 * million - cpu - open) / million);
    }
  }

 private:
  Largest largest_;
};

}  // namespace

std::unique_ptr<const Score> make_dotprod(Arguments, const State& state) {
  return std::make_unique<DotProd>(state);
}

}  // namespace tutti
