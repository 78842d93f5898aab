/// tutti token: who may come in, and what for.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "format/json.h"
#include "format/text.h"
#include "net/url.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/tables.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct TokenOptions {
  ServerWords server;
  std::string role;
  std::string user;
  std::vector<std::string> queues;
  std::string expires;
  std::string id;
  bool json = false;
};

std::string queues_of(const Value& token) {
  const auto items = token.find("queues")->items();
  std::vector<std::string_view> names;
  for (const Value& item : items) names.push_back(item.text_value());
  return names.empty() ? "all" : join_names(names, 3);
}

std::string expiry_of(const Value& token) {
  const std::string text = time_of(token, "expires");
  return text == "-" ? "never" : text;
}

Result<void> create(const TokenOptions& options) {
  const Client client = TRY(Client::find(options.server));
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("role", options.role).key("queues").begin_list();
  for (const std::string& queue : options.queues) json.value(queue);
  json.end_list();
  if (!options.user.empty()) json.member("user", options.user);
  if (!options.expires.empty()) json.member("expires", options.expires);
  json.end_object();
  const std::string answer = TRY(client.post("/api/v1/tokens", body));
  if (options.json) return print(answer + "\n");
  const Value token = TRY(parse_json(answer));
  return print(
      fmt::format("{}\nIt is not shown again. Its owner sets TUTTI_TOKEN to it.\n"
                  "id {}, role {}, user {}, queues {}, expires {}\n",
                  word_of(token, "token"), word_of(token, "id"), word_of(token, "role"),
                  word_of(token, "user"), queues_of(token), expiry_of(token)));
}

Result<void> list_tokens(const TokenOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.get("/api/v1/tokens"));
  if (options.json) return print(answer + "\n");
  const Value all = TRY(parse_json(answer));
  Table table({"id", "role", "user", "queues", "created", "expires"});
  for (const Value& token : all.find("tokens")->items()) {
    table.add({text_of(token, "id"), word_of(token, "role"), word_of(token, "user"),
               queues_of(token), time_of(token, "created"), expiry_of(token)});
  }
  return print(table.rows() == 0 ? "no tokens but the administrator's\n" : table.text());
}

Result<void> revoke(const TokenOptions& options) {
  const Client client = TRY(Client::find(options.server));
  TRY(client.remove("/api/v1/tokens/" + net::percent_encode(options.id)));
  return print(fmt::format("token {} is good for nothing any more\n", options.id));
}

using TokenVerb = Result<void> (*)(const TokenOptions& options);

CLI::App* declare_verb(CLI::App& token, Run& run, const std::shared_ptr<TokenOptions>& options,
                       const std::pair<std::string, std::string>& name_and_use,
                       const TokenVerb act) {
  CLI::App* command = token.add_subcommand(name_and_use.first, name_and_use.second);
  declare_server(*command, options->server);
  on_call(*command, run, [options, act] { return act(*options); });
  return command;
}

}  // namespace

void declare_token(CLI::App& app, Run& run) {
  CLI::App* token = app.add_subcommand("token", "Say who may come in, and what for");
  token->require_subcommand(1);
  token->footer("Examples:\n  tutti token create --user ana --role user\n  tutti token list");

  auto made = std::make_shared<TokenOptions>();
  CLI::App* command = declare_verb(*token, run, made, {"create", "Make a token"}, create);
  command->add_option("--role", made->role, "viewer, user, operator or admin")
      ->required()
      ->type_name("ROLE")
      ->take_last();
  command->add_option("--user", made->user, "Of this machine, as whom its jobs run")
      ->type_name("USER")
      ->take_last();
  command
      ->add_option("--queue", made->queues,
                   "Good for this queue and those below; may repeat; else everywhere")
      ->type_name("QUEUE")
      ->allow_extra_args(false);
  command->add_option("--expires", made->expires, "How long it is good for, or never; else 90d")
      ->type_name("TIME")
      ->take_last();
  command->add_flag("--json", made->json, "Print the server's answer");
  command->footer(
      "Examples:\n  tutti token create --user ana --role user --queue research --expires 30d\n"
      "  tutti token create --role viewer");

  auto listed = std::make_shared<TokenOptions>();
  command = declare_verb(*token, run, listed, {"list", "List the tokens"}, list_tokens);
  command->add_flag("--json", listed->json, "Print the server's answer");
  command->footer("Example:\n  tutti token list");

  auto revoked = std::make_shared<TokenOptions>();
  command = declare_verb(*token, run, revoked, {"revoke", "Take a token back"}, revoke);
  command->add_option("ID", revoked->id, "Of the token")->required()->type_name("");
  command->footer("Example:\n  tutti token revoke 5f3a9c1e");
}

}  // namespace tutti
