#include "api/token_routes.h"

#include <string>
#include <utility>

#include "api/json_text.h"
#include "base/limits.h"
#include "format/json.h"
#include "format/reader.h"

namespace tutti {
namespace {

/// How long a token is good for of which nobody said so.
constexpr Duration usual_life = Duration::seconds(std::int64_t{90} * 86'400);

Result<std::optional<Instant>> expiry_of(Reader& r, Instant now) {
  const Value* const value = TRY(r.optional_value("expires"));
  if (value == nullptr) return now + usual_life;
  if (value->is(Kind::text) && value->text_value() == "never") return std::nullopt;
  const Duration life = *TRY(r.optional_duration("expires"));
  if (life.us > 0 && life <= Duration::seconds(limits::longest_seconds)) return now + life;
  return fail(r.error("expires", "is " + duration_text(life), "30d, up to 10 years, or never"));
}

void write_token(JsonWriter& json, const Token& token) {
  json.member("id", token.id).member("role", to_text(token.role)).key("queues").begin_list();
  for (const std::string& queue : token.queues) json.value(queue);
  json.end_list().member("user", token.user).member("created", rfc3339(token.created));
  json.key("expires");
  token.expires ? json.value(rfc3339(*token.expires)) : json.null();
}

}  // namespace

void TokenRoutes::declare(Router& router) {
  router.add("GET", "/api/v1/tokens", Role::admin, [this](Call call) { list(std::move(call)); });
  router.add("POST", "/api/v1/tokens", Role::admin, [this](Call call) { make(std::move(call)); });
  router.add("DELETE", "/api/v1/tokens/{}", Role::admin,
             [this](Call call) { revoke(std::move(call)); });
}

void TokenRoutes::list(Call call) const {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("tokens").begin_list();
  for (const Token& token : tokens_.all()) {
    json.begin_object();
    write_token(json, token);
    json.end_object();
  }
  json.end_list().end_object();
  call.send(200, std::move(out));
}

void TokenRoutes::make(Call call) {
  const Instant now = clock_();
  const auto made = [&]() -> Result<Tokens::Made> {
    const Value body = TRY(parse_json(call.request.body));
    return tokens_.make(TRY(decode(body, "token", [&](Reader& r) -> Result<Token> {
      Token token;
      token.role = TRY(required_role(r));
      token.queues = TRY(r.texts("queues"));
      token.user = TRY(r.optional_text("user")).value_or("");
      token.created = now;
      token.expires = TRY(expiry_of(r, now));
      return token;
    })));
  }();
  if (!made) return call.refuse(made.error());
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  write_token(json, made->token);
  json.member("token", made->secret).end_object();
  call.send(201, std::move(out));
}

void TokenRoutes::revoke(Call call) {
  const Result<void> done = tokens_.revoke(call.parts[0]);
  done ? call.send(200, "{}") : call.refuse(done.error());
}

}  // namespace tutti
