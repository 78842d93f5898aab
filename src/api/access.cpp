#include "api/access.h"

#include <pwd.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "api/tokens.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 5> role_words{"anybody", "viewer", "user", "operator",
                                                     "admin"};

/// Takes as long for every token of that length.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t at = 0; at < a.size() && at < b.size(); ++at) {
    difference |= static_cast<unsigned char>(a[at] ^ b[at]);
  }
  return difference == 0;
}

}  // namespace

std::string_view to_text(Role role) { return role_words[static_cast<std::size_t>(role)]; }

std::optional<Role> role_of(std::string_view word) {
  const auto* const at = std::find(role_words.begin() + 1, role_words.end(), word);
  if (at == role_words.end()) return std::nullopt;
  return static_cast<Role>(at - role_words.begin());
}

bool is_within(std::string_view queue, std::string_view root) {
  return queue.starts_with(root) && (queue.size() == root.size() || queue[root.size()] == '/');
}

bool User::sees(std::string_view queue) const {
  return queues.empty() || std::ranges::any_of(queues, [&](const std::string& root) {
           return is_within(queue, root);
         });
}

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

Result<User> Access::who(const net::Request& request, Instant now) const {
  const net::Peer& peer = *request.peer;
  if (peer.local) {
    const bool admin = peer.uid == 0 || peer.uid == owner_;
    return User{
        .name = user_name(peer.uid), .uid = peer.uid, .role = admin ? Role::admin : Role::user};
  }
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view given = request.headers.find("Authorization").value_or("");
  if (given.starts_with(scheme)) {
    const std::string_view secret = given.substr(scheme.size());
    if (same_secret(secret, token_)) {
      return User{
          .name = user_name(owner_), .role = Role::admin, .token = std::string(first_token)};
    }
    if (const Token* const token = others_ == nullptr ? nullptr : others_->find(secret)) {
      if (!token->expired(now)) {
        return User{
            .name = token->user, .role = token->role, .queues = token->queues, .token = token->id};
      }
      return fail(Code::denied, "token " + token->id + " has expired",
                  "an administrator makes new ones: tutti token create");
    }
  }
  return fail(Code::denied, given.empty() ? "no token" : "this token is not known",
              "set TUTTI_TOKEN: the administrator's stands in admin.token in the server's data "
              "folder, and he makes others: tutti token create");
}

StillGood still_good(const Tokens& tokens, std::function<Instant()> clock) {
  return [&tokens, clock = std::move(clock)](const std::string& token) {
    return token.empty() || token == Access::first_token || tokens.is_good(token, clock());
  };
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
