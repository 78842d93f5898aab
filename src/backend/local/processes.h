/// The processes of this machine as /proc shows them: who is whose child, and how to signal exactly
/// those that are meant. A process is signalled through a descriptor that was opened before it was
/// looked at, so that one which takes over its number is never hit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/local/task_records.h"

namespace tutti {

/// Names this start of the machine.
std::string boot_id();

/// What /proc/PID/stat says.
struct ProcessStat {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;
  bool dead() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStat> read_process(pid_t pid);

/// Processes that the kernel has killed for want of memory since the machine started.
std::uint64_t out_of_memory_kills();

/// Sends the signal to every process below `root`, children first met, then theirs. One that is
/// born meanwhile may be missed: whoever wants to kill all repeats it until there are no more.
void signal_descendants(pid_t root, int signal);

/// Sends SIGKILL to what is left of a task whose keeper is gone: its first process, all that bear
/// its mark, and all that descend from these. Returns how many were found; to be repeated until
/// that is 0. O(processes of the machine).
std::size_t kill_remains(const TaskIdentity& identity);

}  // namespace tutti
