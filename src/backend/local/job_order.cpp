#include "backend/local/job_order.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "backend/local/device_environment.h"
#include "backend/local/gang_environment.h"
#include "base/check.h"
#include "dialect/workload.h"

namespace tutti {
namespace {

/// What a task leaves behind when its first process ends holds its devices no longer than this.
constexpr Duration linger = Duration::seconds(10);

using Variables = std::map<std::string, std::string>;

/// An account of this machine.
struct Account {
  TaskUser user;
  std::string name;
  std::string home;
  std::string shell;
};

Result<Account> account_of(const std::string& name) {
  std::vector<char> text(16'384);
  passwd entry{};
  passwd* found = nullptr;
  if (name.empty()) {
    ::getpwuid_r(::geteuid(), &entry, text.data(), text.size(), &found);
  } else {
    ::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  }
  if (found == nullptr) {
    return fail(Code::not_found, "this machine has no user \"" + name + "\"",
                "jobs run as the user who submits them");
  }
  Account account{.user = {.uid = found->pw_uid, .gid = found->pw_gid, .groups = {}},
                  .name = found->pw_name,
                  .home = found->pw_dir,
                  .shell = found->pw_shell};
  std::array<gid_t, 256> groups{};
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) >= 0) {
    account.user.groups.assign(groups.begin(), groups.begin() + count);
  }
  return account;
}

std::string_view name_of_variable(std::string_view text) { return text.substr(0, text.find('=')); }

Result<PortRow> ports_of(Assignments& assignments, const AttemptId& id, const GangPlace& place) {
  const auto count = static_cast<std::uint16_t>(std::min<std::uint32_t>(place.tasks, UINT16_MAX));
  if (const auto ports = assignments.take_ports(id, place.first, count)) return *ports;
  return fail(Code::limit, "no " + std::to_string(place.tasks) +
                               " ports of this machine are free for its tasks to find each other");
}

/// Nothing bounds what it did not ask for.
CgroupOrder group_of(const std::string& root, const Action& action, const State& state) {
  const ShapeRow& shape = state.shape(action.shape);
  CgroupOrder out{.root = root};
  if (shape.amount(lane::memory) > 0) out.memory_bytes = shape.amount(lane::memory);
  if (shape.amount(lane::cpu) > 0) out.cpu_milli = shape.amount(lane::cpu);
  return out;
}

/// What it asked for, where that is no fraction of one; else 0.
std::size_t whole_cores(const Action& action, const State& state) {
  const std::int64_t milli = state.shape(action.shape).amount(lane::cpu);
  return milli % 1000 == 0 ? static_cast<std::size_t>(milli / 1000) : 0;
}

/// Where its devices are.
std::vector<unsigned> numa_nodes(const Action& action, const State& state) {
  const auto devices = state.fleet().devices(action.node);
  std::vector<unsigned> out;
  action.devices.each([&](unsigned ordinal) { out.push_back(devices[ordinal].numa); });
  return out;
}

}  // namespace

Result<LaunchOrder> JobOrders::operator()(const Action& action, const State& state) const {
  const TaskIndex index = state.find(action.task);
  CHECK(index.valid(), action.task);
  const Task& task = state.tasks()[index];
  const Gang& gang = state.gangs()[task.gang];
  const Job& job = state.jobs()[gang.job];
  const JobSpec& spec = *job.spec;
  const LaunchSpec& launch = role_of(spec, action.task.ordinal).launch;
  if (launch.command.empty()) {
    return fail(Code::invalid, "the job has no command", "write command: [program, argument, ...]");
  }
  const Account account = TRY(account_of(spec.user));
  LaunchOrder order = order_of(launch);
  if (launch.directory.empty()) order.directory = account.home;
  order.linger = linger;
  order.limits = settings_.limits;
  if (!settings_.cgroup.empty()) order.cgroup = group_of(settings_.cgroup, action, state);
  if (::geteuid() == 0) {
    order.user = account.user;
  } else {
    order.barred = settings_.data;  // Its own user could open all that is in there.
  }

  Variables variables{{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
                      {"HOME", account.home},
                      {"USER", account.name},
                      {"LOGNAME", account.name},
                      {"SHELL", account.shell},
                      {"LANG", "C.UTF-8"}};
  if (!launch.environment.empty()) {
    for (Variable& each : TRY(decode_environment(TRY(environment_(launch.environment))))) {
      variables[each.name] = std::move(each.value);
    }
  }
  const std::uint32_t rank = index.value() - gang.first_task.value();
  variables["TUTTI_JOB_ID"] = std::to_string(job.id.value());
  variables["TUTTI_JOB_NAME"] = spec.name;
  variables["TUTTI_QUEUE"] = spec.queue;
  variables["TUTTI_TASK"] = std::to_string(action.task.ordinal);
  variables["TUTTI_ATTEMPT"] = std::to_string(action.attempt);
  if (const auto number = array_number(spec, task.gang.value() - job.first_gang.value())) {
    variables["TUTTI_ARRAY_NUMBER"] = std::to_string(*number);
    variables["TUTTI_ARRAY_COUNT"] = std::to_string(job.gangs);
  }
  const AttemptId id{.task = action.task, .attempt = action.attempt};
  if (gang.tasks > 1) {
    const GangPlace place{
        .spec = &spec, .first = action.task.ordinal - rank, .tasks = gang.tasks, .rank = rank};
    order.ports = TRY(ports_of(assignments_, id, place));
    order.hosts = host_file(place);
    add_gang_variables(place, *order.ports, variables);
  }
  order.cpus = assignments_.take_cpus(id, whole_cores(action, state), numa_nodes(action, state));
  order.environment = device_environment(state.fleet(), action.node, action.devices);
  std::set<std::string, std::less<>> own;  // Nobody writes over what says which devices are whose.
  for (const std::string& each : order.environment) own.emplace(name_of_variable(each));
  for (const auto& [name, value] : variables) {
    if (!own.contains(name)) order.environment.push_back(name + "=" + value);
  }
  return order;
}

}  // namespace tutti
