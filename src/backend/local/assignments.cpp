#include "backend/local/assignments.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/hash.h"

namespace tutti {
namespace {

/// What processors share, the widest first.
constexpr std::array<unsigned Cpu::*, 3> levels{&Cpu::numa, &Cpu::cache, &Cpu::core};

/// The processors that share the same of `level`.
using Groups = std::map<unsigned, std::vector<Cpu>>;

/// The smallest group that holds all of them, else the largest; preferred ones first.
const std::vector<Cpu>& best_group(const Groups& groups, std::size_t count,
                                   std::span<const unsigned> preferred) {
  const auto rank = [&](const Groups::value_type& group) {
    const bool near = std::ranges::find(preferred, group.first) != preferred.end();
    const std::size_t size = group.second.size();
    const bool holds_all = size >= count;
    return std::tuple(!near, !holds_all, holds_all ? size : SIZE_MAX - size, group.first);
  };
  return std::ranges::min_element(groups, {}, rank)->second;
}

/// REQUIRES: there are so many.
void choose(std::vector<Cpu> free, std::size_t count, std::size_t level,
            std::span<const unsigned> preferred, std::vector<unsigned>& out) {
  if (level == levels.size()) {
    for (std::size_t at = 0; at < count; ++at) out.push_back(free[at].number);
    return;
  }
  while (count > 0) {
    Groups groups;
    for (const Cpu& cpu : free) groups[cpu.*levels[level]].push_back(cpu);
    const std::vector<Cpu>& group = best_group(groups, count, preferred);
    const std::size_t here = std::min(count, group.size());
    const unsigned name = group.front().*levels[level];
    choose(group, here, level + 1, {}, out);
    std::erase_if(free, [&](const Cpu& cpu) { return cpu.*levels[level] == name; });
    count -= here;
  }
}

bool overlap(const PortRow& a, const PortRow& b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

}  // namespace

bool is_port_free(std::uint16_t port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // With this, what only ended a moment ago is no hindrance, but who listens is.
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return socket.valid() &&
         ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

void Assignments::keep(const AttemptId& id, const LaunchOrder& order) {
  if (!order.cpus.empty() || order.ports) held_[id] = {order.cpus, order.ports};
}

void Assignments::forget_old(const AttemptId& but) {
  std::erase_if(held_, [&](const auto& each) {
    return each.first != but && options_.is_over && options_.is_over(each.first);
  });
}

std::vector<unsigned> Assignments::take_cpus(const AttemptId& id, std::size_t count,
                                             std::span<const unsigned> numa_nodes) {
  forget_old(id);
  std::vector<unsigned>& cpus = held_[id].cpus;
  if (!cpus.empty()) return cpus;
  std::set<unsigned> taken;
  for (const auto& [other, held] : held_) taken.insert(held.cpus.begin(), held.cpus.end());
  std::vector<Cpu> free;
  for (const Cpu& cpu : options_.cpus) {
    if (!taken.contains(cpu.number)) free.push_back(cpu);
  }
  if (count == 0 || free.size() < count) return {};
  choose(std::move(free), count, 0, numa_nodes, cpus);
  std::ranges::sort(cpus);
  return cpus;
}

bool Assignments::are_free(std::uint16_t first, std::uint16_t count) const {
  const PortRow wanted{.gang = 0, .first = first, .count = count};
  for (const auto& [other, held] : held_) {
    if (held.ports && overlap(*held.ports, wanted)) return false;
  }
  for (std::uint16_t at = 0; at < count; ++at) {
    if (!options_.is_free(static_cast<std::uint16_t>(first + at))) return false;
  }
  return true;
}

std::optional<PortRow> Assignments::take_ports(const AttemptId& id, std::uint32_t gang,
                                               std::uint16_t count) {
  forget_old(id);
  for (const auto& [other, held] : held_) {
    const bool same = other.task.job == id.task.job && held.ports && held.ports->gang == gang;
    if (same) return held_[id].ports = held.ports;
  }
  if (count == 0 || count > options_.ports) return std::nullopt;
  // Not the ones that its last attempt had, whose connections may linger.
  Hash hash;
  hash.add(id.task.job.value()).add(gang).add(id.attempt);
  const std::size_t rows = options_.ports / count;
  for (std::size_t turn = 0; turn < rows; ++turn) {
    const std::size_t row = (hash.value() + turn) % rows;
    const auto first = static_cast<std::uint16_t>(options_.first_port + row * count);
    if (!are_free(first, count)) continue;
    return held_[id].ports = PortRow{.gang = gang, .first = first, .count = count};
  }
  return std::nullopt;
}

}  // namespace tutti
