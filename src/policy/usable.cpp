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

  explicit Ask(const TaskClass& task) : demand(demand_of(*task.row)) {
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
/// device, whole devices, or one share: as vectors, whose sums all stay within 32 bits. What does
/// not depend on the task is computed once.
class VectorLook {
 public:
  VectorLook(const UsableTable& table, const UsableTable::Type& type, const View& view,
             NodeIndex node)
      : table_(table), type_(type), cpu_(view.usage.free(node, lane::cpu)) {
    const std::uint32_t begin = view.fleet().device_begin(node);
    devices_ = view.fleet().device_end(node) - begin;
    load(view.usage.open_permille().data() + begin, devices_, open_);
    load(view.usage.open_mib().data() + begin, devices_, mib_);
    wide_ = __builtin_convertvector(open_, WideLanes);
    // Whole devices are counted above the sum of what is open, which stays below 2^16.
    const std::int64_t both = sum(wide_ + ((wide_ == DeviceRequest::whole) & (1 << 16)));
    whole_ = both >> 16;
    sum_open_ = both & 0xffff;
    const std::size_t step = table_.cpu_step(cpu_);
    WideLanes value;
    value_of(open_, step, value);
    now_ = table_.gangs(type_, step, whole_) + sum(value) +
           as_value(table_.node_terms(cpu_, sum_open_, devices_));
  }

  /// The rating with the devices that suit the task best; of a shared one it takes so much memory.
  Permille best(const Ask& ask, std::int32_t memory_mib) const {
    const std::int64_t cpu = cpu_ - ask.demand.cpu;
    const std::size_t step = table_.cpu_step(cpu);
    const std::int64_t taken = ask.demand.total();
    WideLanes kept;
    value_of(open_, step, kept);
    const std::int64_t gain =
        as_value(taken + table_.node_terms(cpu, sum_open_ - taken, devices_)) + sum(kept) - now_;
    if (ask.chooses) return level(gain + best_change(ask, step, kept, memory_mib));
    // Whole devices, or none at all.
    const std::int64_t lost = ask.demand.count * table_.value(type_, step, DeviceRequest::whole);
    return level(gain - lost + table_.gangs(type_, step, whole_ - ask.demand.count));
  }

 private:
  /// What each device adds to V with so much open.
  void value_of(const Lanes& open, std::size_t cpu_step, WideLanes& out) const {
    Lanes mass{};
    for (std::size_t at = 0; at < UsableTable::sizes_max; ++at) {
      mass += (open >= table_.sizes()[at]) & type_.rows[cpu_step].rise[at];
    }
    out = __builtin_convertvector(mass, WideLanes) * __builtin_convertvector(open, WideLanes);
  }

  /// What the gangs have after the share was taken, and the best change of a device.
  std::int64_t best_change(const Ask& ask, std::size_t step, const WideLanes& kept,
                           std::int32_t memory_mib) const {
    const std::int64_t gangs = table_.gangs(type_, step, whole_);
    const bool breaks = whole_ > 0 && ask.demand.share > 0;
    const std::int64_t broken = breaks ? table_.gangs(type_, step, whole_ - 1) - gangs : 0;
    const auto share = static_cast<std::int16_t>(ask.demand.share);  // Or 0: memory only.
    const Lanes left = open_ - share;
    WideLanes change;
    value_of(left, step, change);
    change += ((wide_ == DeviceRequest::whole) & static_cast<std::int32_t>(broken)) - kept;
    WideLanes fits = wide_ >= share;
    if (memory_mib > 0) fits &= mib_ >= memory_mib;
    return gangs + largest((change & fits) | (~fits & INT32_MIN));
  }

  const UsableTable& table_;
  const UsableTable::Type& type_;
  std::int64_t cpu_;
  std::int64_t devices_;
  std::int64_t whole_;     ///< Devices that nobody shares.
  std::int64_t sum_open_;  ///< ‰ of all devices.
  std::int64_t now_;       ///< V and H before the placement.
  Lanes open_;             ///< ‰ of each device.
  WideLanes wide_;         ///< The same.
  WideLanes mib_;          ///< Memory that is open.
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
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      const UsableTable::Type* type = ask.several_shares() ? nullptr : vector_type(view, nodes[at]);
      out[at] = type == nullptr ? rate_plainly(task, ask, view, nodes[at])
                                : VectorLook(table_, *type, view, nodes[at])
                                      .best(ask, memory_of(task, view, nodes[at]));
    }
  }

  void rate_node(std::span<const TaskClass* const> tasks, const View& view, NodeIndex node,
                 std::span<Permille> out) const override {
    const UsableTable::Type* type = vector_type(view, node);
    if (type == nullptr) return Score::rate_node(tasks, view, node, out);
    const VectorLook look(table_, *type, view, node);
    for (std::size_t at = 0; at < tasks.size(); ++at) {
      const Ask ask(*tasks[at]);
      out[at] = ask.several_shares() ? rate_plainly(*tasks[at], ask, view, node)
                                     : look.best(ask, memory_of(*tasks[at], view, node));
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
    const TypeIndex only = view.fleet().uniform_type(node);
    if (only.valid() && table_.type(only) == nullptr) return rate_unwanted(task, view, node);
    Look look(table_, ask, view, node);
    if (look.wanted() == 0) return rate_unwanted(task, view, node);
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

  /// Where no class of the mix can use any device: as by `pack`.
  Permille rate_unwanted(const TaskClass& task, const View& view, NodeIndex node) const {
    Permille full = 0;
    pack_->rate(task, view, std::span(&node, 1), std::span(&full, 1));
    return static_cast<Permille>(500 + full / 2);
  }

  /// The type of a node that the vector path can take, or null.
  const UsableTable::Type* vector_type(const View& view, NodeIndex node) const {
    const Fleet& fleet = view.fleet();
    const TypeIndex index = fleet.uniform_type(node);
    const bool few = fleet.device_end(node) - fleet.device_begin(node) <= lanes;
    return index.valid() && few ? table_.type(index) : nullptr;
  }

  /// What the task holds of the memory of each device there. REQUIRES: vector_type.
  static std::int32_t memory_of(const TaskClass& task, const View& view, NodeIndex node) {
    return task.row->hold[view.fleet().uniform_type(node).value()].memory_mib;
  }

  UsableTable table_;
  std::unique_ptr<const Score> pack_;
};

}  // namespace

std::unique_ptr<const Score> make_usable(Arguments arguments, const State& state) {
  return std::make_unique<Usable>(arguments[0].value, state);
}

}  // namespace tutti
