#include "api/access.h"

#include <pwd.h>
#include <sys/random.h>

#include <array>
#include <vector>

namespace tutti {
namespace {

/// Takes as long for every token of that length.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t at = 0; at < a.size() && at < b.size(); ++at) {
    difference |= static_cast<unsigned char>(a[at] ^ b[at]);
  }
  return difference == 0;
}

}  // namespace

std::string random_token() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, 32> bytes{};
  for (std::size_t have = 0; have < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  std::string token = "tutti_";
  for (const unsigned char byte : bytes) token += {digits[byte >> 4U], digits[byte & 15U]};
  return token;
}

Result<User> Access::who(const net::Request& request) const {
  const net::Peer& peer = *request.peer;
  if (peer.local) {
    const bool admin = peer.uid == 0 || peer.uid == owner_;
    return User{user_name(peer.uid), peer.uid, admin ? Role::admin : Role::user};
  }
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view given = request.headers.find("Authorization").value_or("");
  if (given.starts_with(scheme) && same_secret(given.substr(scheme.size()), token_)) {
    return User{user_name(owner_), owner_, Role::admin};
  }
  return fail(Code::denied, given.empty() ? "no token" : "this token is not known",
              "set TUTTI_TOKEN to what stands in admin.token in the server's data folder");
}

std::string user_name(uid_t uid) {
  std::vector<char> text(4096);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, text.data(), text.size(), &found);
  return found != nullptr ? found->pw_name : "uid " + std::to_string(uid);
}

std::optional<uid_t> uid_of(const std::string& name) {
  std::vector<char> text(4096);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  return found != nullptr ? std::optional(found->pw_uid) : std::nullopt;
}

}  // namespace tutti
