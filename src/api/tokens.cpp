#include "api/tokens.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "format/json.h"
#include "format/reader.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::int64_t version = 1;
constexpr std::size_t tokens_most = 10'000;
constexpr std::size_t scope_most = 100;
constexpr std::size_t sha256_digits = 64;
/// How long it is listed after it expired, so that somebody may see why it is not good.
constexpr Duration remembered = Duration::seconds(std::int64_t{30} * 86'400);

std::string text_of(const std::vector<Token>& tokens) {
  std::string out;
  JsonWriter(out).begin_object().member("tokens", version).end_object();
  out += '\n';
  for (const Token& token : tokens) {
    JsonWriter json(out);
    json.begin_object().member("id", token.id).member("hash", token.hash);
    json.member("role", to_text(token.role)).key("queues").begin_list();
    for (const std::string& queue : token.queues) json.value(queue);
    json.end_list().member("user", token.user).member("created_us", token.created.us);
    json.key("expires_us");
    token.expires ? json.value(token.expires->us) : json.null();
    json.end_object();
    out += '\n';
  }
  const std::string sum = sha256(out);
  JsonWriter(out).begin_object().member("sha256", sum).end_object();
  return out += '\n';
}

Result<Token> decode_token(Reader& r) {
  Token token;
  token.id = TRY(r.required_text("id"));
  token.hash = TRY(r.required_text("hash"));
  if (token.hash.size() != sha256_digits) return fail(r.error("hash", "is not a SHA-256"));
  token.role = TRY(required_role(r));
  token.queues = TRY(r.texts("queues"));
  token.user = TRY(r.required_text("user"));
  token.created.us = TRY(r.required_integer("created_us", 0));
  if (const auto expires = TRY(r.optional_integer("expires_us", 0))) {
    token.expires = Instant{*expires};
  }
  return token;
}

/// The lines of the text but for the last, which must be the sum of them.
Result<std::string_view> content_of(std::string_view text) {
  const auto lines = static_cast<std::uint32_t>(std::ranges::count(text, '\n'));
  const std::size_t before = lines < 2 ? text.npos : text.rfind('\n', text.size() - 2);
  const Place end{.line = std::max(lines, 1U), .column = 1};
  constexpr std::string_view way_out =
      "put a copy in its place, or remove the file: then no token but admin.token is valid";
  if (before == text.npos || !text.ends_with('\n')) {
    return fail(Error{Code::invalid, "the end is missing", end.text(), std::string(way_out)});
  }
  const std::string_view content = text.substr(0, before + 1);
  const auto last = parse_json(text.substr(before + 1), end);
  const Value* const sum = last ? last->find("sha256") : nullptr;
  if (sum != nullptr && sum->is(Kind::text) && sum->text_value() == sha256(content)) return content;
  return fail(Error{Code::invalid, "these tokens are not what was written: their checksum differs",
                    end.text(), std::string(way_out)});
}

Result<void> check_queue(const std::string& queue) {
  const bool plain = std::ranges::all_of(queue, [](char c) { return c > ' ' && c != 0x7f; });
  const bool path = !queue.empty() && queue.front() != '/' && queue.back() != '/' &&
                    queue.find("//") == queue.npos;
  if (plain && path && queue.size() <= limits::name_length) return {};
  return fail(Code::invalid, quote(queue) + " is no queue",
              "a queue is called by its path: research/vision");
}

Result<void> check(const Token& wanted) {
  if (wanted.queues.size() > scope_most) {
    return fail(Code::limit, std::to_string(wanted.queues.size()) +
                                 " queues are more than a token is good for, which is " +
                                 std::to_string(scope_most));
  }
  for (const std::string& queue : wanted.queues) TRY(check_queue(queue));
  if (wanted.role == Role::admin && !wanted.queues.empty()) {
    return fail(Code::invalid, "an administrator is bound to no queue",
                "role operator changes all jobs of its queues");
  }
  if (!wanted.user.empty() && !uid_of(wanted.user)) {
    return fail(Code::not_found, "this machine has no user " + quote(wanted.user),
                "without a user a token can look, and run no jobs");
  }
  if (wanted.expired(wanted.created)) return fail(Code::invalid, "it would have expired already");
  return {};
}

}  // namespace

Result<Role> required_role(Reader& r) {
  constexpr std::array<Choice<Role>, 4> roles{{{"viewer", Role::viewer},
                                               {"user", Role::user},
                                               {"operator", Role::operator_},
                                               {"admin", Role::admin}}};
  return r.required_choice<Role>("role", roles);
}

std::string sha256(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw{};
  unsigned size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), raw.data(), &size, EVP_sha256(), nullptr) == 1);
  std::string out;
  for (unsigned at = 0; at < size; ++at) out += {digits[raw[at] >> 4U], digits[raw[at] & 15U]};
  return out;
}

Result<Tokens> Tokens::read(std::string_view text, Keep keep) {
  std::string_view rest = TRY(content_of(text));
  Tokens out(std::move(keep));
  for (std::uint32_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const Value value = TRY(parse_json(rest.substr(0, end), {.line = line, .column = 1}));
    rest.remove_prefix(end + 1);
    if (line > 1) {
      out.all_.push_back(TRY(decode(value, "token", decode_token)));
      continue;
    }
    const Value* const written = value.find("tokens");
    if (written != nullptr && *written == Value::integer(version)) continue;
    return fail(Error{Code::unsupported, "tokens of another version than 1", "1:1",
                      "it was written by a newer tutti: start that one"});
  }
  out.index();
  return out;
}

void Tokens::index() {
  by_hash_.clear();
  by_id_.clear();
  for (std::size_t at = 0; at < all_.size(); ++at) {
    by_hash_.emplace(all_[at].hash, at);
    by_id_.emplace(all_[at].id, at);
  }
}

Result<void> Tokens::replace(std::vector<Token> by) {
  TRY(keep_(text_of(by)));
  all_ = std::move(by);
  index();
  return {};
}

Result<Tokens::Made> Tokens::make(Token wanted) {
  TRY(check(wanted));
  if (all_.size() >= tokens_most) {
    return fail(Code::limit, "there are " + std::to_string(all_.size()) + " tokens already",
                "tutti token revoke removes one");
  }
  constexpr std::size_t id_digits = 8;
  std::string secret = random_token();
  wanted.hash = sha256(secret);
  do {  // Of a random word of its own, so that it tells nothing of the secret.
    wanted.id = sha256(random_token()).substr(0, id_digits);
  } while (std::ranges::find(all_, wanted.id, &Token::id) != all_.end());
  std::vector<Token> more = all_;
  std::erase_if(more, [&](const Token& each) {
    return each.expires && *each.expires + remembered <= wanted.created;
  });
  more.push_back(wanted);
  TRY(replace(std::move(more)));
  return Made{std::move(wanted), std::move(secret)};
}

Result<void> Tokens::revoke(const std::string& id) {
  std::vector<Token> fewer = all_;
  if (std::erase_if(fewer, [&](const Token& each) { return each.id == id; }) > 0) {
    return replace(std::move(fewer));
  }
  return fail(Code::not_found, "no token " + quote(id), "tutti token list shows them");
}

bool Tokens::is_good(std::string_view id, Instant now) const {
  const auto at = by_id_.find(id);
  return at != by_id_.end() && !all_[at->second].expired(now);
}

const Token* Tokens::find(std::string_view secret) const {
  const auto at = by_hash_.find(sha256(secret));
  return at == by_hash_.end() ? nullptr : &all_[at->second];
}

}  // namespace tutti
