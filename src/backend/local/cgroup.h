/// A control group (version 2) of one task, below a folder of /sys/fs/cgroup that was delegated to
/// the server: limits that its processes share, and a kill that none of them can escape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/local/system.h"

namespace tutti {

/// What a task may use in all; none: no limit.
struct CgroupOrder {
  std::string root;  ///< The delegated folder. Each task has a folder in it.
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> cpu_milli;
  std::optional<std::int64_t> processes;
  friend bool operator==(const CgroupOrder&, const CgroupOrder&) = default;
};

class Cgroup {
 public:
  /// Can tasks be limited below this folder, or why not? Turns the controllers on where they can
  /// be.
  static Result<void> prepare(const std::string& root);

  /// Makes the group `name` with its limits, or finds it.
  static Result<Cgroup> make(const CgroupOrder& order, const std::string& name);

  Result<void> add(pid_t pid) const;
  /// Kills all that are in it. They are gone soon, not at once.
  void kill() const;
  std::vector<pid_t> processes() const;
  /// Whether the kernel has killed one of them for want of memory.
  bool ran_out_of_memory() const;
  /// REQUIRES: nobody is in it.
  void remove() const;

 private:
  Cgroup(OpenFolder root, std::string name, OpenFolder files)
      : root_(std::move(root)), name_(std::move(name)), files_(std::move(files)) {}
  Result<void> set(const char* file, const std::string& text) const;

  OpenFolder root_;
  std::string name_;
  OpenFolder files_;
};

}  // namespace tutti
