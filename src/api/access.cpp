#include "api/access.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
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

Error refused_file(const std::string& path, std::string_view verb) {
  return {Code::io, "cannot " + std::string(verb) + " it: " + std::strerror(errno), path,
          "the folder given by --data must belong to the server's user"};
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

}  // namespace

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

Result<std::string> admin_token(const std::string& folder) {
  const std::string path = folder + "/admin.token";
  if (const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); file >= 0) {
    std::array<char, 256> text{};
    const ssize_t size = ::read(file, text.data(), text.size());
    ::close(file);
    std::string token(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    token.erase(token.find_last_not_of(" \n\r\t") + 1);
    if (token.size() >= 32) return token;
    return fail(Error{Code::invalid, "there is no token in it", path, "remove it for a new one"});
  }
  if (errno != ENOENT) return fail(refused_file(path, "read"));
  std::string token = random_token();
  const std::string fresh = path + ".new";
  ::unlink(fresh.c_str());
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return fail(refused_file(path, "make"));
  const std::string line = token + "\n";
  const bool whole = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
                     ::fsync(file) == 0;
  const Error why = refused_file(path, "write");
  ::close(file);
  if (!whole) return fail(why);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return fail(refused_file(path, "make"));
  return token;
}

std::string user_name(uid_t uid) {
  std::vector<char> text(4096);
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(uid, &entry, text.data(), text.size(), &found);
  return found != nullptr ? found->pw_name : "uid " + std::to_string(uid);
}

}  // namespace tutti
