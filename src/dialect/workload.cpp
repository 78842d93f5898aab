#include "dialect/workload.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "model/resources.h"

namespace tutti {
namespace {

/// Of one request: share, count, models, memory. Mixes are ranked by it, so its order is fixed.
using RequestKey = std::tuple<std::uint16_t, std::uint16_t, std::string, std::int64_t>;
/// What makes two tasks equal in a mix: cpu, then devices.
using MixKey = std::pair<std::int64_t, std::vector<RequestKey>>;

std::int64_t cpu_of(const TaskShape& shape) {
  const auto cpu = std::ranges::find(shape.resources, "cpu", &NamedAmount::name);
  return cpu == shape.resources.end() ? 0 : cpu->amount;
}

MixKey key_of(const TaskShape& shape) {
  MixKey key{cpu_of(shape), {}};
  for (const DeviceRequest& request : shape.devices) {
    key.second.emplace_back(request.compute_permille, request.count, request.where.text(),
                            request.memory_mib);
  }
  return key;
}

TaskShape bare(const TaskShape& shape) {
  TaskShape out;
  if (const std::int64_t cpu = cpu_of(shape); cpu > 0) out.resources.push_back({"cpu", cpu});
  out.devices = shape.devices;
  for (DeviceRequest& request : out.devices) request.closeness = {};
  return out;
}

struct MixCount {
  std::uint64_t count = 0;
  const TaskShape* shape = nullptr;
};

template <class Visit>
void each_role(const JobSpec& spec, Visit visit) {
  for (const auto& gang : spec.gangs) {
    for (const GroupSpec& group : gang->groups) {
      const std::uint64_t copies = std::uint64_t{gang->copies} * group.copies;
      for (const RoleSpec& role : group.roles) visit(role, copies * role.count);
    }
  }
}

/// Every selector of tasks that a shape has.
template <class Visit>
void each_task_selector(const TaskShape& shape, Visit visit) {
  for (const TaskAffinity& term : shape.affinities) visit(term.tasks);
  for (const Spread& spread : shape.spreads) visit(spread.tasks);
}

struct SelectedKeys {
  std::set<std::string, std::less<>> keys;
  bool any_selector = false;
};

SelectedKeys selected_keys(std::span<const std::shared_ptr<JobSpec>> jobs) {
  SelectedKeys selected;
  for (const auto& job : jobs) {
    each_role(*job, [&](const RoleSpec& role, std::uint64_t) {
      for (const TaskShape& shape : role.alternatives) {
        each_task_selector(shape, [&](const Selector& selector) {
          selected.any_selector = true;
          for (const Requirement& part : selector.requirements) selected.keys.insert(part.key);
        });
      }
    });
  }
  return selected;
}

std::shared_ptr<const GangSpec> with_labels(const GangSpec& gang, const std::string& space,
                                            const SelectedKeys& selected) {
  GangSpec out = gang;
  for (GroupSpec& group : out.groups) {
    for (RoleSpec& role : group.roles) {
      Labels kept;
      for (const Label& label : role.labels.all()) {
        if (selected.keys.contains(label.key)) kept.set(label.key, label.value);
      }
      for (TaskShape& shape : role.alternatives) {
        shape.labels = kept;
        shape.space = space;
      }
    }
  }
  return std::make_shared<const GangSpec>(std::move(out));
}

}  // namespace

std::string size_name(const JobSpec& spec) {
  const TaskShape& shape = spec.gangs.front()->groups.front().roles.front().alternatives.front();
  if (shape.devices.empty()) return "cpu";
  if (shape.devices.front().shared()) return "share";
  return std::to_string(shape.devices.front().count);
}

std::int64_t gpu_milli_of(const JobSpec& spec) {
  std::int64_t sum = 0;
  each_role(spec, [&](const RoleSpec& role, std::uint64_t tasks) {
    for (const DeviceRequest& request : role.alternatives.front().devices) {
      // At most 2^17 tasks of 2^7 devices of 2^10 ‰, by the limits.
      sum += static_cast<std::int64_t>(tasks) * request.count * request.compute_permille;
    }
  });
  return sum;
}

std::vector<MixSet::Entry> mix_of(std::span<const Submission> jobs) {
  std::map<MixKey, MixCount> counts;
  for (const Submission& job : jobs) {
    each_role(*job.spec, [&](const RoleSpec& role, std::uint64_t tasks) {
      const TaskShape& shape = role.alternatives.front();
      MixCount& entry = counts[key_of(shape)];
      entry.count += tasks;
      if (entry.shape == nullptr) entry.shape = &shape;
    });
  }
  std::vector<std::pair<MixKey, MixCount>> ranked(counts.begin(), counts.end());
  std::ranges::sort(ranked, [](const auto& a, const auto& b) {
    return std::tie(a.second.count, a.first) > std::tie(b.second.count, b.first);
  });
  std::vector<MixSet::Entry> mix;
  for (const auto& [key, entry] : ranked) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    mix.push_back({bare(*entry.shape), static_cast<std::uint32_t>(std::min(entry.count, most))});
  }
  return mix;
}

void keep_selected_labels(std::span<const std::shared_ptr<JobSpec>> jobs) {
  const SelectedKeys selected = selected_keys(jobs);
  if (!selected.any_selector) return;
  // Jobs that shared a gang go on sharing it, as long as their namespaces are equal.
  std::map<std::pair<const GangSpec*, std::string>, std::shared_ptr<const GangSpec>> done;
  std::vector<std::shared_ptr<const GangSpec>> old;
  for (const auto& job : jobs) {
    for (auto& gang : job->gangs) {
      auto& fresh = done[{gang.get(), job->space}];
      if (!fresh) {
        old.push_back(gang);  // Its address is a key until the end.
        fresh = with_labels(*gang, job->space, selected);
      }
      gang = fresh;
    }
  }
}

}  // namespace tutti
