/// Usable: places where the most of the node stays usable for the tasks that are expected.
///
/// FGD (policy/fragmentation.h) counts what the target mix can no longer use and places where that
/// grows least. This score keeps the idea and changes four things, all measured to help: it looks
/// at the whole mix, on a coarse grid; it weighs classes by how scarce their nodes are; it counts
/// open devices as lost when the node's cpu cannot feed them at the rate of the mix, even if some
/// task with little cpu could still take them; and it likes fuller nodes a little better. The
/// formula is our own; policy/usable_table.h defines V and H. The rating is
///
///   500 + floor(((d + H' - H) * 2^14 + V' - V) / (2^14 * 128 ‰))          within 0 to 1000
///
/// with d the ‰ of wanted devices that the task takes, and ' for the node after the placement. In
/// words: what is taken, less what becomes unusable, in steps of an eighth of a device. A share may
/// go to several devices: the best one counts, the first of them where several are best. Steps are
/// coarse on purpose: equal ratings fall to the lowest node, which keeps large holes whole.
///
/// Where nothing is wanted (an empty mix, no devices, devices of no use to the mix) there is
/// nothing to preserve: such a node is rated 500 and more, the fuller the better, as by `pack`.
///
/// A class reads only the node's cpu and devices, so this costs O(devices); nodes of up to eight
/// devices of one type, the usual ones, take the vector path, all others the plain one. Both
/// compute the same.
#include <cstring>

#include "policy/demand.h"
#include "policy/makers.h"
#include "policy/usable_table.h"
#include "sched/fit.h"

namespace tutti {
namespace {

using Lanes = UsableTable::Lanes;
using WideLanes [[gnu::vector_size(32)]] = std::int32_t;
constexpr std::size_t lanes = UsableTable::lanes;
constexpr int step_bits = UsableTable::mass_bits + 7;  ///< 128 ‰ of a device in units of V.

Permille level(std::int64_t gain) {
  return static_cast<Permille>(std::clamp<std::int64_t>((gain >> step_bits) + 500, 0, 1000));
}

std::int64_t as_value(std::int64_t permille) { return permille << UsableTable::mass_bits; }

/// What a task asks for.
struct Ask {
  Demand demand;
  bool chooses = false;  ///< One share of one device, which the rating chooses.
  const std::vector<Hold>* hold = nullptr;

  explicit Ask(const TaskClass& task) : demand(demand_of(*task.row)), hold(&task.row->hold) {
    chooses = demand.count == 1 && task.spec().devices.front().shared();
  }
  bool several_shares() const { return demand.count > 1 && demand.share != DeviceRequest::whole; }
};

/// One node, before and after a placement; any mixture of any number of devices.
class Look {
 public:
  Look(const UsableTable& table, const Ask& ask, const View& view, NodeIndex node)
      : table_(table), ask_(ask), view_(view), begin_(view.fleet().device_begin(node)) {
    cpu_ = view.usage.free(node, lane::cpu);
    before_ = table.cpu_step(cpu_);
    after_ = table.cpu_step(cpu_ - ask.demand.cpu);
    for (std::uint32_t row = begin_; row < view.fleet().device_end(node); ++row) add(row);
    for (std::size_t at = 0; at < pool_count_; ++at) {
      const Pool& pool = pools_[at];
      change_ += table.gangs(*pool.type, after_, pool.whole) -
                 table.gangs(*pool.type, before_, pool.whole);
    }
  }

  /// Devices that some class of the mix can use.
  std::int64_t wanted() const { return wanted_; }

  /// The rating if the task takes these devices.
  Permille taking(std::span<const std::uint8_t> ordinals) {
    std::int64_t change = change_;
    std::int64_t taken = 0;
    for (const std::uint8_t ordinal : ordinals) {
      Pool* pool = pool_of(view_.fleet().device_type(begin_ + ordinal));
      if (pool == nullptr) continue;
      const std::int64_t open = view_.usage.open_permille()[begin_ + ordinal];
      const std::int64_t share = std::min(ask_.demand.share, open);
      change +=
          table_.value(*pool->type, after_, open - share) - table_.value(*pool->type, after_, open);
      taken += share;
      if (open == DeviceRequest::whole && share > 0) ++pool->taken;
    }
    for (std::size_t at = 0; at < pool_count_; ++at) {
      Pool& pool = pools_[at];
      change += table_.gangs(*pool.type, after_, pool.whole - pool.taken) -
                table_.gangs(*pool.type, after_, pool.whole);
      pool.taken = 0;
    }
    const std::int64_t now = table_.node_terms(cpu_, open_, wanted_);
    const std::int64_t then = table_.node_terms(cpu_ - ask_.demand.cpu, open_ - taken, wanted_);
    return level(as_value(taken + then - now) + change);
  }

 private:
  /// The devices of one wanted type.
  struct Pool {
    TypeIndex index;
    const UsableTable::Type* type;
    std::int64_t whole;
    std::int64_t taken;  ///< Of the whole ones.
  };

  void add(std::uint32_t row) {
    const TypeIndex index = view_.fleet().device_type(row);
    Pool* pool = pool_of(index);
    if (pool == nullptr) {
      const UsableTable::Type* type = table_.type(index);
      if (type == nullptr) return;
      pool = &pools_[pool_count_++];
      *pool = {.index = index, .type = type, .whole = 0, .taken = 0};
    }
    const std::int64_t open = view_.usage.open_permille()[row];
    ++wanted_;
    open_ += open;
    pool->whole += open == DeviceRequest::whole ? 1 : 0;
    change_ += table_.value(*pool->type, after_, open) - table_.value(*pool->type, before_, open);
  }

  Pool* pool_of(TypeIndex index) {
    for (std::size_t at = 0; at < pool_count_; ++at) {
      if (pools_[at].index == index) return &pools_[at];
    }
    return nullptr;
  }

  const UsableTable& table_;
  const Ask& ask_;
  const View& view_;
  std::uint32_t begin_;
  std::size_t before_ = 0;  ///< Step of the free cpu now ...
  std::size_t after_ = 0;   ///< ... and with the task.
  std::int64_t cpu_ = 0;
  std::int64_t wanted_ = 0;
  std::int64_t open_ = 0;
  std::int64_t change_ = 0;  ///< Of V, by the cpu that the task takes.
  std::size_t pool_count_ = 0;
  std::array<Pool, limits::devices_per_node> pools_;  // Only the first pool_count_ are set.
};

std::int64_t sum(const WideLanes& values) {
  std::int32_t total = 0;
  for (std::size_t at = 0; at < lanes; ++at) total += values[at];
  return total;
}

std::int32_t largest(const WideLanes& values) {
  std::int32_t most = values[0];
  for (std::size_t at = 1; at < lanes; ++at) most = std::max(most, values[at]);
  return most;
}

/// `count` numbers from `from`, then zeros.
template <class T, class Vector>
void load(const T* from, std::size_t count, Vector& out) {
  static_assert(sizeof(Vector) == lanes * sizeof(T));
  if (count == lanes) {
    std::memcpy(&out, from, sizeof(Vector));
    return;
  }
  T padded[lanes] = {};
  for (std::size_t at = 0; at < count; ++at) padded[at] = from[at];
  std::memcpy(&out, padded, sizeof(Vector));
}

/// The same for a node with up to eight devices, all of one wanted type, and a task that takes no
/// device, whole devices, or one share: as vectors, whose sums all stay within 32 bits.
class VectorLook {
 public:
  VectorLook(const UsableTable& table, const Ask& ask, const View& view, NodeIndex node)
      : table_(table),
        ask_(ask),
        view_(view),
        begin_(view.fleet().device_begin(node)),
        devices_(view.fleet().device_end(node) - begin_),
        cpu_(view.usage.free(node, lane::cpu)) {}

  /// The rating with the devices that suit the task best.
  Permille best(const UsableTable::Type& type, std::int32_t memory_mib) {
    const std::int64_t cpu_after = cpu_ - ask_.demand.cpu;
    const std::size_t before = table_.cpu_step(cpu_);
    const std::size_t after = table_.cpu_step(cpu_after);
    load(view_.usage.open_permille().data() + begin_, devices_, open_);
    wide_ = __builtin_convertvector(open_, WideLanes);
    Lanes mass_before{};
    Lanes mass_after{};
    for (std::size_t at = 0; at < UsableTable::sizes_max; ++at) {
      const Lanes fits = open_ >= table_.sizes()[at];
      mass_before += fits & type.rows[before].rise[at];
      mass_after += fits & type.rows[after].rise[at];
    }
    kept_ = __builtin_convertvector(mass_after, WideLanes) * wide_;
    // Whole devices are counted above the sum of what is open, which stays below 2^16.
    const std::int64_t both = sum(wide_ + ((wide_ == DeviceRequest::whole) & (1 << 16)));
    const std::int64_t whole = both >> 16;
    const std::int64_t open = both & 0xffff;
    const std::int64_t taken = ask_.demand.total();
    const auto count = static_cast<std::int64_t>(devices_);
    const std::int64_t terms =
        table_.node_terms(cpu_after, open - taken, count) - table_.node_terms(cpu_, open, count);
    const std::int64_t gain = as_value(taken + terms) - table_.gangs(type, before, whole) +
                              sum(kept_ - __builtin_convertvector(mass_before, WideLanes) * wide_);
    if (ask_.chooses) return level(gain + best_change(type, after, whole, memory_mib));
    // Whole devices, or none at all.
    const std::int64_t lost = ask_.demand.count * table_.value(type, after, DeviceRequest::whole);
    return level(gain - lost + table_.gangs(type, after, whole - ask_.demand.count));
  }

 private:
  /// What the gangs have after the share was taken, and the best change of a device.
  std::int64_t best_change(const UsableTable::Type& type, std::size_t after, std::int64_t whole,
                           std::int32_t memory_mib) const {
    const std::int64_t gangs = table_.gangs(type, after, whole);
    const bool breaks = whole > 0 && ask_.demand.share > 0;
    const std::int64_t broken = breaks ? table_.gangs(type, after, whole - 1) - gangs : 0;
    const auto share = static_cast<std::int16_t>(ask_.demand.share);  // Or 0: memory only.
    const Lanes left = open_ - share;
    Lanes mass{};
    for (std::size_t at = 0; at < UsableTable::sizes_max; ++at) {
      mass += (left >= table_.sizes()[at]) & type.rows[after].rise[at];
    }
    const WideLanes change =
        __builtin_convertvector(mass, WideLanes) * __builtin_convertvector(left, WideLanes) -
        kept_ + ((wide_ == DeviceRequest::whole) & static_cast<std::int32_t>(broken));
    WideLanes fits = wide_ >= share;
    if (memory_mib > 0) {
      WideLanes mib;
      load(view_.usage.open_mib().data() + begin_, devices_, mib);
      fits &= mib >= memory_mib;
    }
    return gangs + largest((change & fits) | (~fits & INT32_MIN));
  }

  const UsableTable& table_;
  const Ask& ask_;
  const View& view_;
  std::uint32_t begin_;
  std::size_t devices_;
  std::int64_t cpu_;
  Lanes open_;      ///< ‰ of each device.
  WideLanes wide_;  ///< The same.
  WideLanes kept_;  ///< What each device adds to V with the task's cpu gone.
};

class Usable final : public Score {
 public:
  Usable(std::int64_t fullness_permille, const State& state)
      : table_(state, fullness_permille), pack_(make_pack({}, state)) {}
  std::string_view name() const override { return "usable"; }
  Depends depends_on() const override { return Depends::class_and_node; }

  void rate(const TaskClass& task, const View& view, std::span<const NodeIndex> nodes,
            std::span<Permille> out) const override {
    const Ask ask(task);
    const Fleet& fleet = view.fleet();
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const NodeIndex node = nodes[at];
      const TypeIndex index = fleet.uniform_type(node);
      const UsableTable::Type* type = index.valid() ? table_.type(index) : nullptr;
      const bool few = fleet.device_end(node) - fleet.device_begin(node) <= lanes;
      if (type != nullptr && few && !ask.several_shares()) {
        const std::int32_t memory_mib = (*ask.hold)[index.value()].memory_mib;
        out[at] = VectorLook(table_, ask, view, node).best(*type, memory_mib);
      } else {
        out[at] = rate_plainly(task, ask, view, node);
      }
    }
  }

  /// Where nothing is wanted, the device left fullest, as by default.
  void rate_devices(const TaskClass& task, const View& view, NodeIndex node,
                    std::span<const std::uint8_t> ordinals,
                    std::span<Permille> out) const override {
    const Ask ask(task);
    Look look(table_, ask, view, node);
    if (look.wanted() == 0) return Score::rate_devices(task, view, node, ordinals, out);
    for (std::size_t at = 0; at < ordinals.size(); ++at) {
      out[at] = look.taking(ordinals.subspan(at, 1));
    }
  }

 private:
  [[gnu::noinline]] Permille rate_plainly(const TaskClass& task, const Ask& ask, const View& view,
                                          NodeIndex node) const {
    Look look(table_, ask, view, node);
    if (look.wanted() == 0) {
      Permille full = 0;
      pack_->rate(task, view, std::span(&node, 1), std::span(&full, 1));
      return static_cast<Permille>(500 + full / 2);
    }
    if (ask.demand.count == 0) return look.taking({});
    std::vector<std::uint8_t> ordinals;
    candidates(task, view, node, 0, ordinals);
    if (!ask.chooses) {
      const auto count = static_cast<std::size_t>(ask.demand.count);
      return look.taking(std::span(ordinals).first(std::min(count, ordinals.size())));
    }
    Permille best = 0;
    for (const std::uint8_t& ordinal : ordinals) {
      best = std::max(best, look.taking(std::span(&ordinal, 1)));
    }
    return best;
  }

  UsableTable table_;
  std::unique_ptr<const Score> pack_;
};

}  // namespace

std::unique_ptr<const Score> make_usable(Arguments arguments, const State& state) {
  const std::int64_t fullness = std::clamp<std::int64_t>(arguments[0].value, 0, 1000);
  return std::make_unique<Usable>(fullness, state);
}

}  // namespace tutti
