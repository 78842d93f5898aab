/// The rights of a task's user for a while, so that what it may not open is not opened for it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "backend/local/launch_order.h"

namespace tutti {

/// While it lives, files are looked for and made with the rights of this user. No effect without
/// one, or where we are not root. REQUIRES: a process with one thread.
class AsUser {
 public:
  explicit AsUser(const std::optional<TaskUser>& user);
  ~AsUser();
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

  /// Whether the system let us.
  bool valid() const { return valid_; }

 private:
  bool switched_ = false;
  bool valid_ = true;
  std::vector<gid_t> own_groups_;
};

}  // namespace tutti
