#include "tests/oracle/gang.h"

#include <algorithm>
#include <map>
#include <set>

namespace tutti::oracle {
namespace {

/// Marks which wishes are binding: the first `wishes` of them, and all that is required.
struct Binding {
  bool gang = false;
  std::vector<char> groups;
};

Binding bind(const Gang& gang, std::size_t wishes) {
  Binding out;
  const auto binds = [&](const Closeness& closeness) {
    if (closeness.level.empty()) return false;
    if (closeness.required) return true;
    if (wishes == 0) return false;
    --wishes;
    return true;
  };
  out.gang = binds(gang.closeness);
  for (const Closeness& each : gang.groups) out.groups.push_back(binds(each) ? 1 : 0);
  return out;
}

class Trial {
 public:
  Trial(const World& world, const Gang& gang, std::size_t wishes)
      : world_(world), gang_(gang), binding_(bind(gang, wishes)) {
    homes_.resize(gang.groups.size());
    for (const Role& role : gang.roles) {
      missing_.push_back(role.spec->min);
      for (const TaskShape& shape : role.spec->alternatives) {
        any_order_ = any_order_ || order_matters(shape);
      }
    }
    if (gang.minimum == 0) any_of_all_ = true;
  }

  bool run() {
    if (any_of_all_) {
      for (std::size_t role = 0; role < gang_.roles.size(); ++role) {
        missing_.assign(missing_.size(), 0);
        missing_[role] = 1;
        if (rest()) return true;
      }
      return false;
    }
    return rest();
  }

 private:
  /// Can what is missing be placed on top of what was placed so far?
  bool rest() {
    bool done = true;
    for (std::size_t role = 0; role < missing_.size(); ++role) {
      if (missing_[role] == 0) continue;
      done = false;
      if (next(role)) return true;
      if (!any_order_) return false;
    }
    return done;
  }

  bool next(std::size_t role) {
    for (const TaskShape& shape : gang_.roles[role].spec->alternatives) {
      if (!within_limit(world_, gang_.queue, shape)) continue;
      for (std::size_t node = 0; node < world_.nodes.size(); ++node) {
        if (!near(role, node) || !feasible(world_, shape, node)) continue;
        for (const auto& devices : device_choices(world_, shape, node)) {
          if (try_one(role, shape, node, devices)) return true;
        }
      }
    }
    return false;
  }

  bool try_one(std::size_t role, const TaskShape& shape, std::size_t node,
               const std::vector<unsigned>& devices) {
    const auto gang_home = gang_home_;
    const auto home = homes_[gang_.roles[role].group];
    settle(role, node);
    world_.tasks.push_back(
        {.shape = &shape, .node = node, .devices = devices, .queue = gang_.queue, .id = {}});
    --missing_[role];
    // The same tasks on the same nodes, however it came to that, need no second look.
    const bool found = known_.insert(picture()).second && rest();
    ++missing_[role];
    world_.tasks.pop_back();
    gang_home_ = gang_home;
    homes_[gang_.roles[role].group] = home;
    return found;
  }

  using Picture = std::multiset<std::tuple<const TaskShape*, std::size_t, std::vector<unsigned>>>;
  std::pair<std::vector<std::uint32_t>, Picture> picture() const {
    Picture out;
    for (const Held& task : world_.tasks) {
      if (!task.id.job.valid()) out.insert({task.shape, task.node, task.devices});
    }
    return {missing_, out};
  }

  bool near(std::size_t role, std::size_t node) const {
    const std::size_t group = gang_.roles[role].group;
    const auto agrees = [&](const Closeness& closeness, const std::optional<std::string>& home) {
      const auto domain = domain_of(world_.nodes[node], closeness.level);
      return domain && (!home || *home == *domain);
    };
    if (binding_.gang && !agrees(gang_.closeness, gang_home_)) return false;
    return binding_.groups[group] == 0 || agrees(gang_.groups[group], homes_[group]);
  }

  void settle(std::size_t role, std::size_t node) {
    const std::size_t group = gang_.roles[role].group;
    if (binding_.gang) gang_home_ = domain_of(world_.nodes[node], gang_.closeness.level);
    if (binding_.groups[group] != 0) {
      homes_[group] = domain_of(world_.nodes[node], gang_.groups[group].level);
    }
  }

  World world_;
  const Gang& gang_;
  Binding binding_;
  std::vector<std::uint32_t> missing_;  ///< By role.
  std::optional<std::string> gang_home_;
  std::vector<std::optional<std::string>> homes_;  ///< By group.
  std::set<std::pair<std::vector<std::uint32_t>, Picture>> known_;
  bool any_order_ = false;
  bool any_of_all_ = false;
};

/// Is there an order in which each of these was allowed when its turn came? On success `world` has
/// them all.
bool some_order(World& world, const Gang& gang, const std::vector<Placed>& placed,
                std::vector<char>& done) {
  if (std::ranges::count(done, 0) == 0) return true;
  for (std::size_t at = 0; at < placed.size(); ++at) {
    const Placed& task = placed[at];
    if (done[at] != 0 || !feasible(world, *task.shape, task.node)) continue;
    if (!within_limit(world, gang.queue, *task.shape)) continue;
    if (!devices_valid(world, *task.shape, task.node, task.devices)) continue;
    done[at] = 1;
    world.tasks.push_back({.shape = task.shape,
                           .node = task.node,
                           .devices = task.devices,
                           .queue = gang.queue,
                           .id = {}});
    if (some_order(world, gang, placed, done)) return true;
    world.tasks.pop_back();
    done[at] = 0;
  }
  return false;
}

/// Do all of these stand in one domain of the level?
bool in_one_domain(const World& world, const Closeness& closeness,
                   const std::vector<std::size_t>& nodes) {
  std::set<std::string> domains;
  for (const std::size_t node : nodes) {
    const auto domain = domain_of(world.nodes[node], closeness.level);
    if (!domain) return false;
    domains.insert(*domain);
  }
  return domains.size() <= 1;
}

}  // namespace

std::size_t Gang::wishes() const {
  const auto wished = [](const Closeness& each) { return !each.level.empty() && !each.required; };
  return static_cast<std::size_t>(std::ranges::count_if(groups, wished)) +
         (wished(closeness) ? 1 : 0);
}

Gang gang_of(const JobSpec& job) {
  const GangSpec& spec = *job.gangs.front();
  Gang out{.queue = job.queue, .closeness = spec.closeness, .groups = {}, .roles = {}};
  std::size_t next = 0;
  for (const GroupSpec& group : spec.groups) {
    for (std::uint32_t copy = 0; copy < group.copies; ++copy) {
      for (const RoleSpec& role : group.roles) {
        out.roles.push_back({&role, out.groups.size(), next});
        next += role.count;
        out.minimum += role.min;
      }
      out.groups.push_back(group.closeness);
    }
  }
  return out;
}

bool can_start(const World& world, const Gang& gang, std::size_t wishes) {
  return Trial(world, gang, wishes).run();
}

std::string wrong_with(const World& world, const Gang& gang, const std::vector<Placed>& placed,
                       std::size_t wishes) {
  std::map<std::size_t, std::uint32_t> of_role;
  std::vector<std::vector<std::size_t>> of_group(gang.groups.size());
  std::vector<std::size_t> all;
  for (const Placed& task : placed) {
    ++of_role[task.role];
    of_group[gang.roles[task.role].group].push_back(task.node);
    all.push_back(task.node);
    const auto& known = gang.roles[task.role].spec->alternatives;
    if (task.shape < known.data() || task.shape >= known.data() + known.size()) {
      return "a shape that is none of the role's alternatives";
    }
  }
  for (std::size_t role = 0; role < gang.roles.size(); ++role) {
    const RoleSpec& spec = *gang.roles[role].spec;
    if (of_role[role] < spec.min) return "role " + std::to_string(role) + " lacks tasks";
    if (of_role[role] > spec.count) return "role " + std::to_string(role) + " has too many tasks";
  }
  const Binding binding = bind(gang, wishes);
  if (binding.gang && !in_one_domain(world, gang.closeness, all)) return "the gang is torn apart";
  for (std::size_t group = 0; group < gang.groups.size(); ++group) {
    if (binding.groups[group] != 0 && !in_one_domain(world, gang.groups[group], of_group[group])) {
      return "group " + std::to_string(group) + " is torn apart";
    }
  }
  World after = world;
  std::vector<char> done(placed.size());
  if (!some_order(after, gang, placed, done)) return "some task may not be where it is";
  return {};
}

bool can_grow(const World& world, const Gang& gang, const std::vector<Placed>& placed) {
  World after = world;
  std::vector<char> done(placed.size());
  if (!some_order(after, gang, placed, done)) return false;
  for (std::size_t role = 0; role < gang.roles.size(); ++role) {
    const RoleSpec& spec = *gang.roles[role].spec;
    const auto there = std::ranges::count(placed, role, &Placed::role);
    if (there >= spec.count) continue;
    for (const TaskShape& shape : spec.alternatives) {
      if (!within_limit(after, gang.queue, shape)) continue;
      for (std::size_t node = 0; node < world.nodes.size(); ++node) {
        if (feasible(after, shape, node)) return true;
      }
    }
  }
  return false;
}

}  // namespace tutti::oracle
