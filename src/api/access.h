/// Who asks, and what they may do.
///
/// Over a unix socket the kernel says who it is: the uid is the user. Over TCP a token does; the
/// first one, admin.token, is made when the server starts for the first time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/message.h"

namespace tutti {

enum class Role : std::uint8_t { user, admin };

struct User {
  std::string name;
  uid_t uid = 0;
  Role role = Role::user;
};

class Access {
 public:
  /// `token` is the administrator's; `owner` the uid that the server runs as.
  Access(std::string token, uid_t owner) : token_(std::move(token)), owner_(owner) {}

  /// Refused without a word about whether the token was nearly right.
  Result<User> who(const net::Request& request) const;

 private:
  std::string token_;
  uid_t owner_;
};

/// A new token, which nobody can guess.
std::string random_token();

/// "ana", or "uid 1234" where nobody is called so.
std::string user_name(uid_t uid);
/// None where nobody is called so.
std::optional<uid_t> uid_of(const std::string& name);

}  // namespace tutti
