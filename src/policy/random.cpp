/// Random: any node that fits, any device of it, each as likely as the others.
#include "base/hash.h"
#include "policy/makers.h"

namespace tutti {
namespace {

class Random final : public Score {
 public:
  std::string_view name() const override { return "random"; }
  Depends depends_on() const override { return Depends::everything; }

  void rate(const TaskClass& task, const View&, std::span<const NodeIndex>,
            std::span<Permille> out) const override {
    pick(task.cycle_seed, out);
  }

  void rate_devices(const TaskClass& task, const View&, NodeIndex node,
                    std::span<const std::uint8_t>, std::span<Permille> out) const override {
    pick(task.cycle_seed + node.value() + 1, out);
  }

 private:
  /// One winner among equals; the seed differs from decision to decision.
  static void pick(std::uint64_t seed, std::span<Permille> out) {
    std::ranges::fill(out, Permille{0});
    if (!out.empty()) out[mix(mix(seed)) % out.size()] = 1000;
  }
};

}  // namespace

std::unique_ptr<const Score> make_random(Arguments, const State&) {
  return std::make_unique<Random>();
}

}  // namespace tutti
