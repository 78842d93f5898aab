/// Pack: prefers the nodes left fullest, so that large holes survive for large gangs.
#include "policy/demand.h"
#include "policy/makers.h"

namespace tutti {
namespace {

/// How full something is, in thousandths, by a multiplication instead of a division.
///
/// Exact, rounded down, for capacities below 2^20; larger ones lose their low bits first. With
/// c < 2^20 and n <= 1000 c, m = floor(2^50 / c) + 1 gives floor(n / c) = n * m >> 50, because
/// n * (m * c - 2^50) <= 1000 c^2 < 2^50; and n * m stays below 2^61.
class Fullness {
 public:
  explicit Fullness(std::int64_t capacity) {
    while (capacity >> shift_ >= limit) ++shift_;
    capacity_ = std::max<std::int64_t>(capacity, 0) >> shift_;
    if (capacity_ > 0)
      factor_ = (std::uint64_t{1} << bits) / static_cast<std::uint64_t>(capacity_) + 1;
  }
  Permille with(std::int64_t left) const {
    const std::int64_t used = std::clamp<std::int64_t>(capacity_ - (left >> shift_), 0, capacity_);
    return static_cast<Permille>(static_cast<std::uint64_t>(used) * 1000 * factor_ >> bits);
  }

 private:
  static constexpr unsigned bits = 50;
  static constexpr std::int64_t limit = std::int64_t{1} << 20;
  std::int64_t capacity_ = 0;
  std::uint64_t factor_ = 0;  ///< Without capacity, 0: never full.
  unsigned shift_ = 0;
};

/// The dominant used share after placement: of cpu, memory or accelerators, whichever is larger.
class Pack final : public Score {
 public:
  /// The name says which nodes are preferred.
  Pack(std::string_view name, bool prefer_full, const Fleet& fleet)
      : name_(name), prefer_full_(prefer_full) {
    for (std::size_t at = 0; at < fleet.size(); ++at) {
      const NodeIndex node(at);
      const Resources& capacity = fleet.node(node).capacity;
      const auto devices = static_cast<std::int64_t>(fleet.devices(node).size());
      nodes_.push_back({.cpu = Fullness(capacity.get(lane::cpu)),
                        .memory = Fullness(capacity.get(lane::memory)),
                        .devices = Fullness(devices * DeviceRequest::whole)});
    }
  }
  std::string_view name() const override { return name_; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Ask ask(*task.row);
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      out[at] = rating(ask, nodes[at], present(view, nodes[at]));
    }
  }

  void rate_node(std::span<const TaskClass* const> tasks, const View& view, NodeIndex node,
                 std::span<Permille> out) const override {
    const Present now = present(view, node);
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      out[at] = rating(Ask(*tasks[at]->row), node, now);
    }
  }

 private:
  struct PerNode {
    Fullness cpu;
    Fullness memory;
    Fullness devices;
  };
  /// What a task takes.
  struct Ask {
    Demand demand;
    std::int64_t memory;
    explicit Ask(const ShapeRow& row) : demand(demand_of(row)), memory(row.amount(lane::memory)) {}
  };
  /// What a node has free.
  struct Present {
    std::int64_t cpu;
    std::int64_t memory;
    std::int64_t devices;
  };

  static Present present(const View& view, NodeIndex node) {
    return {.cpu = view.usage.free(node, lane::cpu),
            .memory = view.usage.free(node, lane::memory),
            .devices = open_on(view, node)};
  }
  Permille rating(const Ask& ask, NodeIndex node, const Present& now) const {
    const PerNode& fullness = nodes_[node.value()];
    const Permille full = std::max({fullness.cpu.with(now.cpu - ask.demand.cpu),
                                    fullness.memory.with(now.memory - ask.memory),
                                    fullness.devices.with(now.devices - ask.demand.total())});
    return prefer_full_ ? full : static_cast<Permille>(1000 - full);
  }

  std::string_view name_;
  bool prefer_full_;
  std::vector<PerNode> nodes_;
};

}  // namespace

std::unique_ptr<const Score> make_pack(Arguments, const State& state) {
  return std::make_unique<Pack>("pack", true, state.fleet());
}

std::unique_ptr<const Score> make_spread(Arguments, const State& state) {
  return std::make_unique<Pack>("spread", false, state.fleet());
}

}  // namespace tutti
