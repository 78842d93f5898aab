#include "backend/local/job_order.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

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

int signal_number(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, int>, 9> signals{{{"TERM", SIGTERM},
                                                                     {"INT", SIGINT},
                                                                     {"HUP", SIGHUP},
                                                                     {"QUIT", SIGQUIT},
                                                                     {"USR1", SIGUSR1},
                                                                     {"USR2", SIGUSR2},
                                                                     {"CONT", SIGCONT},
                                                                     {"WINCH", SIGWINCH},
                                                                     {"ALRM", SIGALRM}}};
  const auto at = std::ranges::find(signals, name, &std::pair<std::string_view, int>::first);
  return at == signals.end() ? SIGTERM : at->second;
}

/// Which devices are its own, in the words of each vendor.
void add_devices(const State& state, const Action& action, Variables& to) {
  const Fleet& fleet = state.fleet();
  std::map<std::string, std::vector<unsigned>> by_vendor;
  const auto devices = fleet.devices(action.node);
  action.devices.each([&](unsigned ordinal) {
    by_vendor[fleet.types()[devices[ordinal].type.value()].vendor].push_back(ordinal);
  });
  if (by_vendor.empty()) by_vendor["nvidia"] = {};  // None: it must not find those of others.
  for (const auto& [vendor, ordinals] : by_vendor) {
    const std::string list = fmt::format("{}", fmt::join(ordinals, ","));
    if (vendor == "amd") {
      to["ROCR_VISIBLE_DEVICES"] = list;
      to["HIP_VISIBLE_DEVICES"] = list;
    } else if (vendor == "huawei") {
      to["ASCEND_RT_VISIBLE_DEVICES"] = list;
    } else {
      to["CUDA_VISIBLE_DEVICES"] = list;
      to["NVIDIA_VISIBLE_DEVICES"] = list.empty() ? "void" : list;
    }
  }
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
  LaunchOrder order;
  order.arguments = launch.command;
  order.directory = launch.directory.empty() ? account.home : launch.directory;
  order.output.output = launch.output;
  if (launch.stop_signal == "TERM") {
    order.stop.term_grace = launch.grace;
  } else {
    order.stop.checkpoint_signal = signal_number(launch.stop_signal);
    order.stop.checkpoint_grace = launch.grace;
  }
  order.linger = linger;
  order.barred = data_;
  if (::geteuid() == 0) order.user = account.user;

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
  if (gang.tasks > 1) {
    variables["RANK"] = variables["LOCAL_RANK"] = std::to_string(rank);
    variables["WORLD_SIZE"] = std::to_string(gang.tasks);
  }
  add_devices(state, action, variables);
  for (const auto& [name, value] : variables) order.environment.push_back(name + "=" + value);
  return order;
}

}  // namespace tutti
