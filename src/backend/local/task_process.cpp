#include "backend/local/task_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <vector>

#include "backend/local/as_user.h"
#include "backend/local/shield.h"

namespace tutti {
namespace {

/// What the new process does on its way to the program, in this order.
enum class Step : std::uint8_t {
  session,
  streams,
  limits,
  nice,
  cpus,
  groups,
  group,
  user,
  privileges,
  shield,
  parent,
  directory,
  execute,
};
constexpr std::array<std::string_view, 13> step_texts{"begin a session",
                                                      "take its streams",
                                                      "set its limits",
                                                      "set its nice value",
                                                      "set its cpus",
                                                      "take the groups of its user",
                                                      "take the group of its user",
                                                      "become its user",
                                                      "give up new privileges",
                                                      "bar what is barred to it",
                                                      "be tied to its keeper",
                                                      "enter its directory",
                                                      "execute the program"};

struct Failure {
  Step step = Step::session;
  int error = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& each : texts) out.push_back(const_cast<char*>(each.c_str()));
  out.push_back(nullptr);
  return out;
}

/// The process that is to become the task. It never returns to the code of the keeper.
class Child {
 public:
  Child(const LaunchOrder& order, const TaskProcess::Streams& streams)
      : order_(order), streams_(streams) {}

  std::string program;
  std::vector<std::string> environment;
  Shield shield;
  pid_t keeper = 0;

  [[noreturn]] void run(int go, int outcome) {
    char byte = 0;
    // The end of the pipe without a byte: the keeper is gone, or has changed its mind.
    if (uninterrupted([&] { return ::read(go, &byte, 1); }) != 1) ::_exit(0);
    const Failure failure{become_program(), errno};
    write_all(outcome, {reinterpret_cast<const char*>(&failure), sizeof failure});
    ::_exit(127);
  }

 private:
  /// Returns only where a step failed, and which one, with errno.
  Step become_program() {
    const std::vector<char*> arguments = pointers(order_.arguments);
    const std::vector<char*> variables = pointers(environment);
    if (::setsid() < 0) return Step::session;
    if (!take_streams()) return Step::streams;
    ::umask(order_.umask);
    if (!set_limits()) return Step::limits;
    errno = 0;
    if (order_.nice != 0 && ::nice(order_.nice) == -1 && errno != 0) return Step::nice;
    if (!set_cpus()) return Step::cpus;
    if (const std::optional<Step> failed = take_user()) return *failed;
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Step::privileges;
    if (!shield.raise()) return Step::shield;
    // After the change of the user, which takes this back. It may have come too late already.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return Step::parent;
    if (::getppid() != keeper) ::_exit(0);
    if (::chdir(order_.directory.c_str()) != 0) return Step::directory;
    reset_signals();
    ::execve(program.c_str(), arguments.data(), variables.data());
    return Step::execute;
  }

  bool take_streams() {
    const bool taken = ::dup2(streams_.input, 0) == 0 && ::dup2(streams_.output, 1) == 1 &&
                       ::dup2(streams_.errors, 2) == 2;
    if (!taken || (order_.terminal && !order_.terminal->pipes && ::ioctl(0, TIOCSCTTY, 0) != 0))
      return false;
    return ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
  }

  bool set_limits() {
    // A server that is to be spared when memory is short does not hand that on.
    const Descriptor spared(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
    if (spared.valid()) write_all(spared.get(), "0");
    for (const ProcessLimit& each : order_.limits) {
      const rlimit limit{
          .rlim_cur = each.soft < 0 ? RLIM_INFINITY : static_cast<rlim_t>(each.soft),
          .rlim_max = each.hard < 0 ? RLIM_INFINITY : static_cast<rlim_t>(each.hard)};
      if (::setrlimit(static_cast<__rlimit_resource>(*limit_number(each.name)), &limit) != 0) {
        return false;
      }
    }
    return true;
  }

  bool set_cpus() {
    if (order_.cpus.empty()) return true;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (const unsigned cpu : order_.cpus) CPU_SET(cpu, &cpus);
    return ::sched_setaffinity(0, sizeof cpus, &cpus) == 0;
  }

  std::optional<Step> take_user() {
    if (!order_.user || ::geteuid() != 0) return std::nullopt;
    const TaskUser& user = *order_.user;
    if (::setgroups(user.groups.size(), user.groups.data()) != 0) return Step::groups;
    if (::setresgid(user.gid, user.gid, user.gid) != 0) return Step::group;
    if (::setresuid(user.uid, user.uid, user.uid) != 0) return Step::user;
    return std::nullopt;
  }

  /// A program may count on signals that nobody has touched.
  static void reset_signals() {
    // The system's own call, because the library keeps two of the signals to itself. All zero, its
    // argument is SIG_DFL without flags; a set of signals has 8 bytes.
    constexpr std::array<unsigned long, 4> usual{};
    for (int signal = 1; signal <= 64; ++signal) {
      ::syscall(SYS_rt_sigaction, signal, usual.data(), nullptr, 8);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  const LaunchOrder& order_;
  const TaskProcess::Streams& streams_;
};

}  // namespace

Result<TaskProcess> TaskProcess::make(const LaunchOrder& order, const std::string& mark,
                                      const Streams& streams) {
  Child child(order, streams);
  child.environment = order.environment;
  child.environment.push_back("TUTTI_MARK=" + mark);
  {
    const AsUser rights(order.user);  // What it finds, and what can be barred, depends on them.
    if (!rights.valid()) return fail(system_error({}, "take the rights of its user", errno));
    child.program = TRY(program_of(order));
    if (!order.barred.empty()) child.shield = TRY(Shield::make(order.barred));
  }
  child.keeper = ::getpid();
  Pipe go = TRY(make_pipe());
  Pipe outcome = TRY(make_pipe());
  const pid_t pid = ::fork();
  if (pid < 0) return fail(system_error({}, "make a process", errno));
  if (pid == 0) {
    go.write.close();
    child.run(go.read.get(), outcome.write.get());
  }
  TaskProcess made;
  made.pid_ = pid;
  made.go_ = std::move(go.write);
  made.outcome_ = std::move(outcome.read);
  return made;
}

bool TaskProcess::release() {
  const bool released = write_all(go_.get(), "g");
  go_.close();
  return released;
}

std::optional<Error> TaskProcess::outcome() {
  Failure failure;
  const ssize_t got =
      uninterrupted([&] { return ::read(outcome_.get(), &failure, sizeof failure); });
  outcome_.close();
  if (got != sizeof failure) return std::nullopt;
  return system_error({}, step_texts[static_cast<std::size_t>(failure.step)], failure.error);
}

}  // namespace tutti
