#include "backend/kubernetes/credentials.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "dialect/kubernetes.h"
#include "format/base64.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

std::string without_line_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

/// A token that came from outside goes into a header, which must stay one.
Result<std::string> bearer(const std::string& token, const std::string& from) {
  const bool plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
  if (!token.empty() && plain) return "Bearer " + token;
  return fail({.code = Code::invalid,
               .what = token.empty() ? "it holds no token" : "what it holds is no token",
               .where = from,
               .hint = "a token is one line of letters, digits and \"-._~+/=\""});
}

/// A member that is text, or empty.
Result<std::string> text_member(const Value& map, std::string_view name) {
  const Value* const value = map.find(name);
  if (value == nullptr || value->is(Kind::null)) return std::string();
  if (value->is(Kind::text)) return std::string(value->text_value());
  return fail(Code::invalid, fmt::format("{} is no text", name));
}

}  // namespace

Credentials::Credentials(ClusterAccess access, Surroundings surroundings)
    : access_(std::move(access)), surroundings_(std::move(surroundings)) {}

bool Credentials::fresh(Instant now) const {
  const KubeUser& user = access_.user;
  if (!known_) return false;
  if (user.plugin) return surroundings_.time_of_day() < expires_;
  const bool in_files =
      !user.token.file.empty() || !user.certificate.file.empty() || !user.key.file.empty();
  return !in_files || now - renewed_ < read_every;
}

void Credentials::refuse(Instant now) {
  // A plugin that was asked just now would say the same again.
  if (!access_.user.plugin || now - renewed_ >= plugin_pause) known_ = false;
}

void Credentials::renew(Instant now, Done done) {
  if (access_.user.plugin) return run_plugin(now, std::move(done));
  renewed_ = now;
  done(read_files());
}

Result<void> Credentials::read_files() {
  const KubeUser& user = access_.user;
  Credential out = credential_;
  if (!user.username.empty()) {
    out.authorization = "Basic " + to_base64(user.username + ":" + user.password);
  }
  // The file goes first, as kubectl has it: the token beside it was read from it some day.
  auto token = user.token.file.empty() ? Result<std::string>(user.token.text)
                                       : surroundings_.read_file(user.token.file);
  if (!token && !user.token.text.empty() && out.authorization.empty()) token = user.token.text;
  if (!token && out.authorization.empty()) return fail(token.error());
  if (token && !user.token.empty()) {
    auto header = bearer(without_line_end(*std::move(token)),
                         user.token.file.empty() ? user.where : user.token.file);
    if (!header && out.authorization.empty()) return fail(header.error());
    if (header) out.authorization = *std::move(header);
  }
  auto certificate = read(user.certificate, surroundings_.read_file);
  auto key = read(user.key, surroundings_.read_file);
  if (certificate && key) {
    out.certificate = *std::move(certificate);
    out.key = *std::move(key);
  } else if (out.certificate.empty()) {
    return fail(certificate ? key.error() : certificate.error());
  }
  credential_ = std::move(out);
  known_ = true;
  return {};
}

// --- Plugins ------------------------------------------------------------------------------------

/// The variable KUBERNETES_EXEC_INFO.
std::string Credentials::plugin_question() const {
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("apiVersion", access_.user.plugin->api_version);
  json.member("kind", "ExecCredential").key("spec").begin_object();
  json.member("interactive", false);
  if (access_.user.plugin->wants_cluster) {
    json.key("cluster").begin_object().member("server", access_.server.text());
    if (!access_.tls_server_name.empty()) json.member("tls-server-name", access_.tls_server_name);
    if (access_.unverified) json.member("insecure-skip-tls-verify", true);
    const auto authority = read(access_.authority, surroundings_.read_file);
    if (authority && !authority->empty()) {
      json.member("certificate-authority-data", to_base64(*authority));
    }
    json.end_object();
  }
  json.end_object().end_object();
  return out;
}

std::unexpected<Error> Credentials::plugin_error(std::string what, std::string hint) const {
  const CredentialPlugin& plugin = *access_.user.plugin;
  return fail({.code = Code::denied,
               .what = fmt::format("the plugin {} {}", plugin.command, what),
               .where = access_.user.where,
               .hint = hint.empty() ? "run it by hand as this user" : std::move(hint)});
}

void Credentials::run_plugin(Instant now, Done done) {
  if (failed_ && now - renewed_ < plugin_pause) return done(fail(*failed_));
  const CredentialPlugin& plugin = *access_.user.plugin;
  PluginOrder order{.command = plugin.command,
                    .arguments = plugin.arguments,
                    .environment = {},
                    .time_max = plugin_time_max};
  for (const auto& [name, value] : plugin.environment) {
    order.environment.push_back(name + "=" + value);
  }
  order.environment.push_back("KUBERNETES_EXEC_INFO=" + plugin_question());
  renewed_ = now;
  running_ = surroundings_.run(
      order, [this, done = std::move(done)](const Result<PluginEnd>& end) mutable {
        const Ticket over = std::move(running_);
        const auto taken = take_plugin(end);
        failed_ = taken ? std::nullopt : std::optional(taken.error());
        auto tell = std::move(done);
        tell(taken);
      });
}

Result<void> Credentials::take_plugin(const Result<PluginEnd>& end) {
  const CredentialPlugin& plugin = *access_.user.plugin;
  if (!end) return plugin_error("did not run: " + end.error().what, plugin.install_hint);
  if (end->timed_out) {
    return plugin_error(fmt::format("took more than {} s", plugin_time_max.in_seconds()));
  }
  if (end->status != 0) {
    const std::string said = without_line_end(end->errors);
    return plugin_error(fmt::format("ended with {}: {}", end->status,
                                    said.empty() ? "it says not why" : said.substr(0, 1000)));
  }
  auto answer = parse_plugin_answer(end->output, plugin.api_version);
  if (!answer) return plugin_error("gave no credentials: " + answer.error().what);
  Credential out;
  if (!answer->token.empty()) {
    auto header = bearer(answer->token, access_.user.where);
    if (!header) return plugin_error("gave no credentials: the token is none");
    out.authorization = *std::move(header);
  }
  out.certificate = std::move(answer->certificate);
  out.key = std::move(answer->key);
  credential_ = std::move(out);
  // One that has expired already would be asked for again at once, and for ever.
  expires_ = std::max(answer->expires, surroundings_.time_of_day() + plugin_pause);
  known_ = true;
  return {};
}

Result<PluginAnswer> parse_plugin_answer(std::string_view text, std::string_view api_version) {
  const auto document = parse_json(text);
  if (!document) return fail(Code::invalid, "what it printed is no JSON");
  if (TRY(text_member(*document, "kind")) != "ExecCredential") {
    return fail(Code::invalid, "what it printed is no ExecCredential");
  }
  if (const std::string version = TRY(text_member(*document, "apiVersion"));
      version != api_version) {
    return fail(Code::invalid, fmt::format("it speaks {}, the kubeconfig says {}", quote(version),
                                           quote(api_version)));
  }
  const Value* const status = document->find("status");
  if (status == nullptr) return fail(Code::invalid, "it has no status");
  PluginAnswer out;
  out.token = TRY(text_member(*status, "token"));
  out.certificate = TRY(text_member(*status, "clientCertificateData"));
  out.key = TRY(text_member(*status, "clientKeyData"));
  if (out.certificate.empty() != out.key.empty()) {
    return fail(Code::invalid, "a certificate and its key go together");
  }
  if (out.token.empty() && out.certificate.empty()) {
    return fail(Code::invalid, "it holds neither a token nor a certificate");
  }
  const std::string expires = TRY(text_member(*status, "expirationTimestamp"));
  if (!expires.empty()) out.expires = TRY(parse_timestamp(expires));
  return out;
}

}  // namespace tutti
