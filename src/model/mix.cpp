#include "model/mix.h"

#include <algorithm>
#include <limits>

namespace tutti {
namespace {

__extension__ using Wide = unsigned __int128;

std::int64_t cpu_of(const TaskShape& shape) {
  const auto cpu = std::ranges::find(shape.resources, "cpu", &NamedAmount::name);
  return cpu == shape.resources.end() ? 0 : cpu->amount;
}

/// A shape without what does not count.
TaskShape bare(const TaskShape& shape) {
  TaskShape out;
  if (const std::int64_t cpu = cpu_of(shape); cpu > 0) out.resources.push_back({"cpu", cpu});
  out.devices = shape.devices;
  for (DeviceRequest& request : out.devices) request.closeness = {};
  return out;
}

}  // namespace

MixCounter::Key MixCounter::key_of(const TaskShape& shape) {
  Key key{cpu_of(shape), {}};
  for (const DeviceRequest& request : shape.devices) {
    key.second.emplace_back(request.compute_permille, request.count, request.where.text(),
                            request.memory_mib);
  }
  return key;
}

void MixCounter::add(const TaskShape& shape, std::uint64_t tasks) {
  if (tasks == 0) return;
  Count& count = counts_[key_of(shape)];
  count.tasks += tasks;
  if (count.shape == nullptr) count.shape = &shape;
}

std::vector<MixSet::Entry> MixCounter::ranked(std::size_t most) const {
  std::vector<std::pair<const Key*, Count>> ranked;
  ranked.reserve(counts_.size());
  for (const auto& [key, count] : counts_) ranked.emplace_back(&key, count);
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return std::tie(a.second.tasks, *a.first) > std::tie(b.second.tasks, *b.first);
  });
  ranked.resize(std::min(ranked.size(), most));
  std::vector<MixSet::Entry> mix;
  mix.reserve(ranked.size());
  for (const auto& [key, count] : ranked) {
    constexpr std::uint64_t most_tasks = std::numeric_limits<std::uint32_t>::max();
    mix.push_back(
        {bare(*count.shape), static_cast<std::uint32_t>(std::min(count.tasks, most_tasks))});
  }
  return mix;
}

std::uint64_t MixCounter::total() const {
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counts_) sum += count.tasks;
  return sum;
}

std::uint32_t MixCounter::distance_permille(const MixCounter& other) const {
  const Wide ours = total();
  const Wide theirs = other.total();
  if (ours == 0 || theirs == 0) return ours == theirs ? 0 : 1000;
  Wide missing = 0;  // Of theirs, in 1 / (ours * theirs).
  for (const auto& [key, count] : counts_) {
    const auto found = other.counts_.find(key);
    const Wide here = count.tasks * theirs;
    const Wide there = found == other.counts_.end() ? 0 : found->second.tasks * ours;
    missing += here > there ? here - there : 0;
  }
  return static_cast<std::uint32_t>(missing * 1000 / (ours * theirs));
}

}  // namespace tutti
