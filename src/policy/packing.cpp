/// Packing: first devices that are in use already, then idle devices of used nodes, then idle
/// nodes.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class Packing final : public Score {
 public:
  std::string_view name() const override { return "packing"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Demand demand = demand_of(*task.row);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      out[at] = demand.count == 0 ? Permille{0} : percent(score(demand, view, nodes[at]));
    }
  }

 private:
  static std::int64_t score(const Demand& demand, const View& view, NodeIndex node) {
    const Fleet& fleet = view.fleet();
    const auto devices = static_cast<std::int64_t>(fleet.devices(node).size());
    const std::int64_t open = open_on(view, node);
    if (open == devices * DeviceRequest::whole) return std::max(33 - devices, devices);
    const std::int64_t opened =
        demand.shared() && shares_one(demand, view, node) ? 0 : demand.count;
    if (opened > 0) return std::max<std::int64_t>(50 - opened, 33);
    return std::max<std::int64_t>(100 - open / 100, 50);
  }

  /// Is there a device in use with room for one more?
  static bool shares_one(const Demand& demand, const View& view, NodeIndex node) {
    const Fleet& fleet = view.fleet();
    for (std::uint32_t row = fleet.device_begin(node); row < fleet.device_end(node); ++row) {
      const std::int64_t open = view.usage.open_permille()[row];
      if (open >= demand.share && open < DeviceRequest::whole) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<const Score> make_packing(Arguments, const State&) {
  return std::make_unique<Packing>();
}

}  // namespace tutti
