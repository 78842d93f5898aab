/// What a server asks of its system for itself, rather than for tasks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "backend/local/launch_order.h"
#include "base/result.h"

namespace tutti {

/// As many files as this process may have open; returns how many it was meant to have, which is
/// what tasks are to have: programs that use select(2) fail with more.
ProcessLimit raise_file_limit();

/// Tells the service manager that started us, if one did: "READY=1" (sd_notify(3)).
void notify_service(std::string_view text);

/// The process that listens at this TCP port, as far as we may look; 0 for none that we see.
pid_t listener_of(std::uint16_t port, const std::string& proc = "/proc");

/// Where control groups are; elsewhere in tests.
struct CgroupFiles {
  std::string proc = "/proc";
  std::string root = "/sys/fs/cgroup";
  /// Was this group handed to us by who made it? By the mark that systemd leaves.
  std::function<bool(const std::string& folder)> is_delegated;
};

/// The control group in which tasks can have theirs: the one around that in which this process was
/// started, where it was handed to us (systemd 254: Delegate=yes, DelegateSubgroup=server).
/// Never our own, though we could move aside: the kernel lets no process into a group that is
/// divided, so no server could be started there again while tasks run.
Result<std::string> take_cgroup(const CgroupFiles& files = {});

}  // namespace tutti
