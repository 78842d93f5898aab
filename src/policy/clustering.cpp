/// Clustering: keeps tasks with equally many accelerators together on a node.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class Clustering final : public Score {
 public:
  explicit Clustering(const State& state) : largest_(state.fleet()) {}
  std::string_view name() const override { return "clustering"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const std::int64_t kind = kind_of(demand_of(*task.row));
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (kind == none) {
        out[at] = 0;
        continue;
      }
      const std::int64_t used = largest_.permille - open_on(view, nodes[at]);
      out[at] = percent(company(view, nodes[at], kind) + 25 * used / largest_.permille);
    }
  }

 private:
  static constexpr std::int64_t none = 0;
  static constexpr std::int64_t part = -1;

  /// Tasks are of a kind when they take the same number of whole devices, or each a part of one.
  static std::int64_t kind_of(const Demand& demand) {
    return demand.count == 0 ? none : demand.shared() ? part : demand.count;
  }

  static std::int64_t company(const View& view, NodeIndex node, std::int64_t kind) {
    bool same = false;
    bool other = false;
    for (const Usage::ShapeCount& count : view.usage.shapes(node)) {
      const std::int64_t there = kind_of(demand_of(view.state.shape(count.shape)));
      same |= there == kind;
      other |= there != kind && there != none;
    }
    if (same) return other ? 50 : 75;
    return other ? 0 : 25;
  }

  Largest largest_;
};

}  // namespace

std::unique_ptr<const Score> make_clustering(Arguments, const State& state) {
  return std::make_unique<Clustering>(state);
}

}  // namespace tutti
