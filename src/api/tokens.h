/// The tokens that an administrator gave away: what each is good for, and a hash of it.
///
/// Kept as text, a line for each, with a checksum at its end: what was damaged is refused with its
/// place, for a guess might give somebody more than he had. Nobody else writes it. Belongs to the
/// readers' thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/access.h"
#include "base/result.h"
#include "base/time.h"

namespace tutti {

class Reader;

struct Token {
  std::string id;                   ///< Eight digits, never given twice.
  std::string hash;                 ///< SHA-256 of the token, which is random enough for no salt.
  Role role = Role::viewer;         ///< Of who shows it ...
  std::vector<std::string> queues;  ///< ... in these, and below them; none: everywhere.
  std::string user;                 ///< Of this machine, as whom jobs run; empty: none do.
  Instant created;
  std::optional<Instant> expires;

  bool expired(Instant now) const { return expires && *expires <= now; }
};

class Tokens {
 public:
  /// Makes the text durable, in the place of the one before.
  using Keep = std::function<Result<void>(std::string_view text)>;

  /// None of them yet, and nothing was kept.
  explicit Tokens(Keep keep) : keep_(std::move(keep)) {}
  /// Those of a text that was kept.
  static Result<Tokens> read(std::string_view text, Keep keep);

  struct Made {
    Token token;
    std::string secret;  ///< What its owner shows; nobody knows it but who reads this.
  };
  /// REQUIRES of `wanted`: all but its id and hash.
  Result<Made> make(Token wanted);
  /// Nobody comes in with it any more.
  Result<void> revoke(const std::string& id);

  const Token* find(std::string_view secret) const;
  /// Was it neither taken back, nor has it expired?
  bool is_good(std::string_view id, Instant now) const;
  /// The oldest first.
  const std::vector<Token>& all() const { return all_; }

 private:
  Result<void> replace(std::vector<Token> by);
  void index();

  Keep keep_;
  std::vector<Token> all_;
  std::map<std::string, std::size_t, std::less<>> by_hash_;
  std::map<std::string, std::size_t, std::less<>> by_id_;
};

/// One that somebody may be given, from the field `role`.
Result<Role> required_role(Reader& r);

/// In hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace tutti
