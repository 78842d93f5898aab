/// Jobs of Tutti's YAML: the short form of one role, and gangs ▸ groups ▸ roles.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <span>

#include "base/limits.h"
#include "dialect/names.h"
#include "dialect/tutti.h"
#include "dialect/tutti_read.h"
#include "format/text.h"
#include "model/resources.h"

namespace tutti {
namespace {

/// What all roles of a job take from it.
struct Inherited {
  Labels labels;
  const Catalog* catalog = nullptr;
};

Result<std::uint32_t> read_count(Reader& reader, std::string_view field, std::int64_t least) {
  const auto count = TRY(reader.optional_integer(field, least, limits::tasks_per_job));
  return static_cast<std::uint32_t>(count.value_or(1));
}

Result<RoleSpec> read_role_body(Reader& reader, const Inherited& from) {
  RoleSpec role{.name = "task"};
  role.count = TRY(read_count(reader, "tasks", 1));
  const auto min = TRY(reader.optional_integer("min", 0, role.count));
  role.min = static_cast<std::uint32_t>(min.value_or(role.count));
  role.labels = from.labels;
  const TaskShape base = TRY(read_shape(reader, {}, from.catalog));
  const auto read = [&](Reader& inner) { return read_shape(inner, base, from.catalog); };
  role.alternatives = TRY(reader.list("alternatives", read));
  if (role.alternatives.empty()) role.alternatives.push_back(base);
  role.launch = TRY(read_launch(reader));
  return role;
}

Result<RoleSpec> read_role(Reader& reader, const Inherited& from) {
  std::string name = TRY(read_name(reader, "name"));
  const Labels own = TRY(read_labels(reader, "labels"));
  RoleSpec role = TRY(read_role_body(reader, from));
  role.name = std::move(name);
  for (const Label& label : own.all()) role.labels.set(label.key, label.value);
  return role;
}

/// Refuses what belongs to each of the inner ones: `cpu` beside `roles`.
Result<void> check_outer(Reader& reader, std::string_view inner) {
  constexpr std::array<std::string_view, 30> outer{
      "command",     "directory", "output",       "stop_signal",  "grace",
      "tasks",       "min",       "alternatives", "cpu",          "memory",
      "storage",     "resources", "gpus",         "gpu",          "npus",
      "npu",         "devices",   "nodes",        "nodes_any_of", "nodes_preferred",
      "tolerations", "stack",     "ports",        "affinity",     "anti_affinity",
      "spread",      "roles",     "groups",       "together",     "near"};
  // "together" and "near" are fields of groups, too, and "roles" and "groups" of what is above.
  const std::size_t own = inner == "roles" ? 4 : inner == "groups" ? 3 : 0;
  for (const std::string_view field : std::span(outer).first(outer.size() - own)) {
    if (reader.value().find(field) == nullptr) continue;
    return fail(reader.error(field,
                             fmt::format("stands beside {}: for which of them?", quote(inner)),
                             fmt::format("write it in each of the {}", inner)));
  }
  return {};
}

/// Several roles under "roles", or the fields of one.
Result<std::vector<RoleSpec>> read_roles(Reader& reader, const Inherited& from) {
  if (TRY(reader.optional_value("roles")) == nullptr) {
    std::vector<RoleSpec> one;
    one.push_back(TRY(read_role_body(reader, from)));
    return one;
  }
  auto roles = TRY(reader.list("roles", [&](Reader& inner) { return read_role(inner, from); }));
  if (roles.empty()) return fail(reader.error("roles", "the list is empty"));
  TRY(check_outer(reader, "roles"));
  std::set<std::string_view> names;
  for (const RoleSpec& role : roles) {
    if (names.insert(role.name).second) continue;
    return fail(reader.error("roles", fmt::format("two roles are called \"{}\"", role.name)));
  }
  return roles;
}

Result<GroupSpec> read_group(Reader& reader, const Inherited& from) {
  GroupSpec group;
  group.copies = TRY(read_count(reader, "copies", 1));
  group.closeness = TRY(read_closeness(reader));
  group.roles = TRY(read_roles(reader, from));
  return group;
}

/// Everything of a gang but its copies: those of a job are jobs.
Result<GangSpec> read_gang_body(Reader& reader, const Inherited& from) {
  GangSpec gang;
  gang.closeness = TRY(read_closeness(reader));
  if (TRY(reader.optional_value("groups")) == nullptr) {
    gang.groups.push_back({.closeness = {}, .copies = 1, .roles = TRY(read_roles(reader, from))});
    return gang;
  }
  gang.groups = TRY(reader.list("groups", [&](Reader& inner) { return read_group(inner, from); }));
  if (gang.groups.empty()) return fail(reader.error("groups", "the list is empty"));
  TRY(check_outer(reader, "groups"));
  return gang;
}

Result<GangSpec> read_gang(Reader& reader, const Inherited& from) {
  const std::uint32_t copies = TRY(read_count(reader, "copies", 1));
  GangSpec gang = TRY(read_gang_body(reader, from));
  gang.copies = copies;
  return gang;
}

/// Tasks of a job; saturates beyond what a job may have.
std::uint64_t tasks_of(const std::vector<GangSpec>& gangs) {
  constexpr std::uint64_t most = std::uint64_t{limits::tasks_per_job} + 1;
  std::uint64_t tasks = 0;
  for (const GangSpec& gang : gangs) {
    for (const GroupSpec& group : gang.groups) {
      // Each factor is at most 10^5, so three of them stay below 2^50.
      for (const RoleSpec& role : group.roles) {
        tasks = std::min(most, tasks + std::uint64_t{gang.copies} * group.copies * role.count);
      }
    }
  }
  return tasks;
}

/// Roles of the gang with the most, copies of its groups included.
std::uint64_t roles_of(const std::vector<GangSpec>& gangs) {
  std::uint64_t most = 0;
  for (const GangSpec& gang : gangs) {
    std::uint64_t roles = 0;
    for (const GroupSpec& group : gang.groups) {
      roles += std::uint64_t{group.copies} * group.roles.size();
    }
    most = std::max(most, roles);
  }
  return most;
}

Result<std::vector<std::string>> names_of(Reader& reader, std::size_t room) {
  const std::string pattern = TRY(reader.required_text("name"));
  if (room == 0) {
    return fail(reader.error("name", fmt::format("a file has at most {} jobs", jobs_per_file)));
  }
  Result<std::vector<std::string>> names = expand_names(pattern, room);
  if (!names) return fail(reader.error("name", names.error().what, names.error().hint));
  const auto copies = TRY(reader.optional_integer("copies", 1));
  if (!copies) return names;
  if (*copies > static_cast<std::int64_t>(room / names->size())) {
    return fail(reader.error(
        "copies", fmt::format("{} jobs; the file has room for {}", *copies, room / names->size())));
  }
  std::vector<std::string> out;
  for (const std::string& name : *names) {
    for (std::int64_t copy = 0; copy < *copies; ++copy) {
      out.push_back(fmt::format("{}-{}", name, copy));
    }
  }
  for (const std::string& name : out) {
    if (Result<void> good = check_name(name); !good) {
      return fail(reader.error("name", good.error().what, good.error().hint));
    }
  }
  return out;
}

Result<void> read_times(Reader& reader, JobEntry& job) {
  job.at = TRY(reader.optional_duration("at")).value_or(Duration{});
  job.every = TRY(reader.optional_duration("every")).value_or(Duration{});
  const auto length = TRY(reader.optional_duration("length"));
  if (length && *length == Duration{}) {
    return fail(reader.error("length", "a job takes some time",
                             "leave it out for a job that runs until it is stopped"));
  }
  job.length = length.value_or(Duration{});
  const auto copies = static_cast<std::int64_t>(job.names.size());
  const auto spread = checked_multiply(job.every.us, copies);
  const auto last = spread ? checked_add(job.at.us, *spread) : std::nullopt;
  if (last && *last <= limits::amount && job.length.us <= limits::amount) return {};
  return fail(reader.error("at", "the times of this job lie beyond the year 30000"));
}

}  // namespace

Result<JobEntry> read_job(Reader& reader, std::size_t room, const Catalog* catalog) {
  JobEntry job;
  job.names = TRY(names_of(reader, room));
  job.spec.queue = TRY(reader.optional_text("queue")).value_or("default");
  job.spec.user = TRY(reader.optional_text("user")).value_or("");
  job.spec.space = TRY(reader.optional_text("space")).value_or("");
  job.spec.priority = static_cast<std::int32_t>(
      TRY(reader.optional_integer("priority", std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max()))
          .value_or(0));
  job.spec.labels = TRY(read_labels(reader, "labels"));
  job.spec.held = TRY(reader.optional_boolean("held")).value_or(false);
  job.environment = TRY(read_environment(reader));
  TRY(read_rules(reader, job));
  TRY(read_times(reader, job));
  const Inherited from{job.spec.labels, catalog};
  std::vector<GangSpec> gangs;
  if (TRY(reader.optional_value("gangs")) == nullptr) {
    gangs.push_back(TRY(read_gang_body(reader, from)));
  } else {
    gangs = TRY(reader.list("gangs", [&](Reader& inner) { return read_gang(inner, from); }));
    if (gangs.empty()) return fail(reader.error("gangs", "the list is empty"));
    TRY(check_outer(reader, "gangs"));
  }
  if (job.array_count > 0) {
    const bool one = gangs.size() == 1 && gangs.front().copies == 1;
    if (!one) return fail(reader.error("array", "an array repeats one gang, and here are several"));
    gangs.front().copies = job.array_count;
  }
  if (tasks_of(gangs) > limits::tasks_per_job) {
    return fail(reader.error("name",
                             fmt::format("the job has more than {} tasks", limits::tasks_per_job),
                             "split it into several jobs"));
  }
  if (roles_of(gangs) > limits::roles_per_gang) {
    return fail(reader.error(
        "name", fmt::format("a gang of the job has more than {} roles", limits::roles_per_gang),
        "groups of equal tasks need one role with more tasks, not more copies"));
  }
  for (GangSpec& gang : gangs) {
    job.spec.gangs.push_back(std::make_shared<const GangSpec>(std::move(gang)));
  }
  return job;
}

}  // namespace tutti
