/// Who asks, and what he may do.
///
/// Over a unix socket the kernel says who it is. Over TCP a token does: the administrator's, which
/// is made when the server starts for the first time, or one that an administrator gave away
/// (tokens.h). Whoever may act in a queue may so in all below it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/message.h"

namespace tutti {

class Tokens;

/// Each may do what those before it may.
enum class Role : std::uint8_t {
  anybody,    ///< Did not say who he is.
  viewer,     ///< Sees what there is.
  user,       ///< Also submits jobs, and changes his own.
  operator_,  ///< Also changes those of others, and queues; and nodes, unless bound to queues.
  admin,
};
/// "operator"
std::string_view to_text(Role role);
/// A role that somebody may be given.
std::optional<Role> role_of(std::string_view word);

/// Is it this queue, or below it?
bool is_within(std::string_view queue, std::string_view root);

struct User {
  std::string name;  ///< Of whom his jobs are; empty: he has none, and no account here.
  std::optional<uid_t> uid{};
  Role role = Role::anybody;
  std::vector<std::string> queues{};  ///< To which he is bound; none: to no one.
  std::string token{};                ///< The id of the one that he has shown.

  bool sees(std::string_view queue) const;
  bool is_bound() const { return !queues.empty(); }
  bool owns(std::string_view owner) const { return !name.empty() && name == owner; }
  /// "ana", or "token 5f3a9c1e".
  std::string who() const { return name.empty() ? "token " + token : name; }
};

class Access {
 public:
  /// `token` is the administrator's; `owner` the uid that the server runs as. The others must
  /// outlive it, if there are any.
  Access(std::string token, uid_t owner, const Tokens* others = nullptr)
      : token_(std::move(token)), owner_(owner), others_(others) {}

  /// Refused without a word about whether the token was nearly right.
  Result<User> who(const net::Request& request, Instant now) const;
  /// The id of the administrator's.
  static constexpr std::string_view first_token = "admin.token";

 private:
  std::string token_;
  uid_t owner_;
  const Tokens* others_;
};

/// Is whoever showed this token, some time ago, still let in? Empty: he showed none.
using StillGood = std::function<bool(const std::string& token)>;
StillGood still_good(const Tokens& tokens, std::function<Instant()> clock);

/// A new token, which nobody can guess.
std::string random_token();

/// "ana", or "uid 1234" where nobody is called so.
std::string user_name(uid_t uid);
/// None where nobody is called so.
std::optional<uid_t> uid_of(const std::string& name);

}  // namespace tutti
