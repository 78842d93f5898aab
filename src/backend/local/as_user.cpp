#include "backend/local/as_user.h"

#include <grp.h>
#include <unistd.h>

#include <algorithm>

#include "base/check.h"

namespace tutti {

AsUser::AsUser(const std::optional<TaskUser>& user) {
  if (!user || ::geteuid() != 0) return;
  own_groups_.resize(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  const int count = ::getgroups(static_cast<int>(own_groups_.size()), own_groups_.data());
  own_groups_.resize(static_cast<std::size_t>(std::max(0, count)));
  switched_ = true;
  valid_ = ::setgroups(user->groups.size(), user->groups.data()) == 0 &&
           ::setegid(user->gid) == 0 && ::seteuid(user->uid) == 0;
}

AsUser::~AsUser() {
  if (!switched_) return;
  const bool back = ::seteuid(0) == 0 && ::setegid(::getgid()) == 0 &&
                    ::setgroups(own_groups_.size(), own_groups_.data()) == 0;
  CHECK(back);
}

}  // namespace tutti
