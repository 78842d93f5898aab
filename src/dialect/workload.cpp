#include "dialect/workload.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "model/mix.h"

namespace tutti {
namespace {

template <class Visit>
void each_role(const JobSpec& spec, Visit visit) {
  for (const auto& gang : spec.gangs) {
    for (const GroupSpec& group : gang->groups) {
      const std::uint64_t copies = std::uint64_t{gang->copies} * group.copies;
      for (const RoleSpec& role : group.roles) visit(role, copies * role.count);
    }
  }
}

/// Tasks of one copy of the gang.
std::uint64_t tasks_of_gang(const GangSpec& gang) {
  std::uint64_t tasks = 0;
  for (const GroupSpec& group : gang.groups) {
    for (const RoleSpec& role : group.roles) tasks += std::uint64_t{group.copies} * role.count;
  }
  return tasks;
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
  bool all = false;
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
        if (selected.all || selected.keys.contains(label.key)) kept.set(label.key, label.value);
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

Result<void> Skipped::leave_out(Error error) {
  if (allowed == 0) {
    error.hint += error.hint.empty() ? "" : "; ";
    error.hint += "tutti sim --skip-bad N leaves out up to N like it";
    return fail(std::move(error));
  }
  ++lines;
  if (errors.size() < kept) errors.push_back(std::move(error));
  return {};
}

Result<void> Skipped::check() const {
  if (lines <= allowed) return {};
  constexpr std::size_t named = 3;
  std::string what = std::to_string(lines) + " bad, " + std::to_string(allowed) + " allowed: ";
  for (std::size_t at = 0; at < std::min(named, errors.size()); ++at) {
    what += (at == 0 ? "" : "; ") + errors[at].where + ": " + errors[at].what;
  }
  if (lines > named) what += " and " + std::to_string(lines - named) + " more";
  return fail(Code::limit, std::move(what), "mend them, or allow more with --skip-bad N");
}

std::string size_name(const JobSpec& spec) {
  const TaskShape& shape = spec.gangs.front()->groups.front().roles.front().alternatives.front();
  if (shape.devices.empty()) return "cpu";
  if (shape.devices.front().shared()) return "share";
  return std::to_string(shape.devices.front().count);
}

std::shared_ptr<const JobSpec> with_after(std::shared_ptr<const JobSpec> spec,
                                          std::vector<Dependency> after) {
  if (after.empty()) return spec;
  auto changed = std::make_shared<JobSpec>(*spec);
  changed->rules.after.insert(changed->rules.after.end(), after.begin(), after.end());
  return changed;
}

std::optional<std::uint32_t> array_number(const JobSpec& spec, std::uint32_t gang) {
  for (const IndexRange& range : spec.array) {
    const std::uint32_t count = (range.last - range.first) / range.step + 1;
    if (gang < count) return range.first + gang * range.step;
    gang -= count;
  }
  return std::nullopt;
}

std::uint64_t tasks_of(const JobSpec& spec) {
  std::uint64_t sum = 0;
  each_role(spec, [&sum](const RoleSpec&, std::uint64_t tasks) { sum += tasks; });
  return sum;
}

const RoleSpec& role_of(const JobSpec& spec, std::uint32_t ordinal) {
  for (const auto& gang : spec.gangs) {
    const std::uint64_t tasks = tasks_of_gang(*gang);
    if (ordinal >= tasks * gang->copies) {
      ordinal -= static_cast<std::uint32_t>(tasks * gang->copies);
      continue;
    }
    ordinal %= static_cast<std::uint32_t>(tasks);
    for (const GroupSpec& group : gang->groups) {
      for (std::uint32_t copy = 0; copy < group.copies; ++copy) {
        for (const RoleSpec& role : group.roles) {
          if (ordinal < role.count) return role;
          ordinal -= role.count;
        }
      }
    }
  }
  CHECK(false, ordinal);
  return spec.gangs.front()->groups.front().roles.front();
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
  MixCounter counter;
  for (const Submission& job : jobs) {
    each_role(*job.spec, [&](const RoleSpec& role, std::uint64_t tasks) {
      counter.add(role.alternatives.front(), tasks);
    });
  }
  return counter.ranked(std::numeric_limits<std::size_t>::max());
}

void give_labels(std::span<const std::shared_ptr<JobSpec>> jobs, TaskLabels which) {
  SelectedKeys selected = selected_keys(jobs);
  selected.all = which == TaskLabels::all;
  if (!selected.all && !selected.any_selector) return;
  // Jobs that shared a gang go on sharing it, as long as their namespaces are equal.
  std::map<std::pair<const GangSpec*, std::string>, std::shared_ptr<const GangSpec>> done;
  std::vector<std::shared_ptr<const GangSpec>> old;
  for (const auto& job : jobs) {
    for (auto& gang : job->gangs) {
      if (gang.use_count() == 1) {  // Nobody shares it: the old one goes at once.
        gang = with_labels(*gang, job->space, selected);
        continue;
      }
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
