/// What is to run, and how: all that a keeper must know of a task before it starts it.
///
/// A plain value. The checks find out before any process is made what can be known by then; what
/// only shows inside the new process (a limit, a mount, the interpreter of a script) comes back
/// from there, with the step that failed. As text it is JSON, which holds the environment and so
/// belongs in files of mode 0600 only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/local/cgroup.h"
#include "base/result.h"
#include "base/time.h"
#include "model/launch.h"

namespace tutti {

class Reader;

/// Whose rights a task has. Only a server that is root can give another one's than its own.
struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< Further ones.
  friend bool operator==(const TaskUser&, const TaskUser&) = default;
};

/// One of setrlimit(2): {"nofile", 1024, 4096}; -1 is no limit.
struct ProcessLimit {
  std::string name;
  std::int64_t soft = -1;
  std::int64_t hard = -1;
  friend bool operator==(const ProcessLimit&, const ProcessLimit&) = default;
};

/// How a task is ended: the checkpoint signal to its first process alone, if there is such a
/// signal, and time to heed it; SIGTERM to every process; time again; SIGKILL until none is left.
struct StopSteps {
  int checkpoint_signal = 0;
  Duration checkpoint_grace = Duration::seconds(30);
  Duration term_grace = Duration::seconds(10);
  friend bool operator==(const StopSteps&, const StopSteps&) = default;
};

/// Where the task's output goes. Each file is kept below half of `bytes_max`, and the one before it
/// beside it as NAME.1, so that the last half at least is always there.
struct OutputOrder {
  std::string output;  ///< Absolute; empty: "output" in the task folder; or "/dev/null".
  std::string errors;  ///< The same for standard error; empty: wherever the output goes.
  std::int64_t bytes_max = std::int64_t{64} << 20U;
  friend bool operator==(const OutputOrder&, const OutputOrder&) = default;
};

/// A terminal and its size, in characters; or only pipes to and from whoever looks.
struct TerminalOrder {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  bool pipes = false;
  friend bool operator==(const TerminalOrder&, const TerminalOrder&) = default;
};

/// Ports of this machine that are a gang's, one for each of its tasks.
struct PortRow {
  std::uint32_t gang = 0;  ///< The ordinal of its first task.
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  friend bool operator==(const PortRow&, const PortRow&) = default;
};

struct LaunchOrder {
  std::vector<std::string> arguments;    ///< The first is a path, or looked for in PATH.
  std::vector<std::string> environment;  ///< "NAME=value", and nothing besides these.
  std::string directory = "/";           ///< Where it starts.
  OutputOrder output;
  std::optional<TerminalOrder> terminal;  ///< It has one for all of its streams (terminal.h).
  StopSteps stop;
  std::optional<Duration> time_max;  ///< Then it is stopped.
  /// How long the processes that the first one leaves behind may go on; none: as long as they like.
  std::optional<Duration> linger;

  std::optional<TaskUser> user;  ///< None: the server's own.
  mode_t umask = 022;
  std::vector<ProcessLimit> limits;
  int nice = 0;
  std::vector<unsigned> cpus;  ///< On these alone; empty: wherever the server may run.
  /// What a file holds that it finds by TUTTI_HOSTFILE, while it runs; empty: there is none.
  std::string hosts;
  std::optional<PortRow> ports;  ///< For who keeps the books; the task has them as variables.
  std::optional<CgroupOrder> cgroup;
  std::string barred;  ///< A folder that is none of its concern (shield.h); empty: none.
  friend bool operator==(const LaunchOrder&, const LaunchOrder&) = default;
};

/// What the job itself says: command, directory, output, and how to stop it. A stop signal other
/// than TERM is one for a checkpoint, and SIGTERM follows it. Who, with which variables, on which
/// cards and within which limits is left to say.
LaunchOrder order_of(const LaunchSpec& spec);

/// What is wrong with it in itself.
Result<void> check_values(const LaunchOrder& order);
/// What is wrong with the folders and the program that it names, as far as our rights show. A
/// server that is root must ask with those of the user (as_user.h), or its answers tell what is
/// where.
Result<void> check_files(const LaunchOrder& order);

/// The file that is to be executed: the first argument, or what PATH of the task finds for it.
Result<std::string> program_of(const LaunchOrder& order);

/// The number of the limit "nofile" for setrlimit(2), or nothing.
std::optional<int> limit_number(std::string_view name);

std::string encode(const LaunchOrder& order);
Result<LaunchOrder> decode_launch_order(Reader& r);

}  // namespace tutti
