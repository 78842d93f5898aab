/// tutti queues, queue create, queue set: who may use how much.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "format/json.h"
#include "format/text.h"
#include "net/url.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct QueuesOptions {
  ServerWords server;
  std::string name;
  std::vector<std::string> limits;
  std::uint32_t weight = 0;  ///< 0: not given.
  bool dry_run = false;
  bool json = false;
};

using Amounts = std::map<std::string, std::string>;

Amounts amounts_of(const Value& queue, std::string_view field) {
  Amounts out;
  const Value* const amounts = queue.find(field);
  if (amounts == nullptr) return out;
  for (const Value::Member& each : amounts->members()) {
    out.emplace(each.key, each.value.text_value());
  }
  return out;
}

/// "gpu 3 of 8, cpu 12": what is used or limited.
std::string use_of(const Value& queue) {
  const Amounts used = amounts_of(queue, "used");
  Amounts limits = amounts_of(queue, "limit");
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const auto& [resource, amount] : used) {
    const auto limit = limits.extract(resource);
    if (resource == "pods" && limit.empty()) continue;  // A count of tasks that nobody asked for.
    add(resource + " " + amount + (limit.empty() ? "" : " of " + limit.mapped()));
  }
  for (const auto& [resource, limit] : limits) add(resource + " 0 of " + limit);
  return out.empty() ? "nothing" : out;
}

std::string table_of(std::span<const Value> queues) {
  Table table({"queue", "weight", "running", "pending", "uses"});
  for (const Value& queue : queues) {
    const auto number = [&](std::string_view field) {
      return std::to_string(queue.find(field)->integer_value());
    };
    table.add({std::string(queue.find("name")->text_value()), number("weight"), number("running"),
               number("pending"), use_of(queue)});
  }
  return table.text();
}

Result<void> list_queues(const QueuesOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.get("/api/v1/queues"));
  if (options.json) return print(answer + "\n");
  const Value all = TRY(parse_json(answer));
  return print(table_of(all.find("queues")->items()));
}

/// "gpu=8" sets a limit, "gpu=none" takes it away.
Result<void> lay_over(Amounts& limits, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == 0 || equals == word.npos || equals + 1 == word.size()) {
      return fail(Code::invalid, "--limit is " + quote(word),
                  "--limit gpu=8, --limit memory=64Gi; gpu=none takes a limit away");
    }
    const std::string value = word.substr(equals + 1);
    limits.erase(word.substr(0, equals));
    if (value != "none") limits.emplace(word.substr(0, equals), value);
  }
  return {};
}

std::string body_of(const Value* known, const Amounts& limits, std::uint32_t weight) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("limit").begin_object();
  for (const auto& [resource, amount] : limits) json.member(resource, amount);
  json.end_object();
  if (known != nullptr) json.key("guarantee").value(*known->find("guarantee"));
  const std::int64_t before = known == nullptr ? 1 : known->find("weight")->integer_value();
  json.member("weight", weight > 0 ? weight : before).end_object();
  return body;
}

std::string trial_text(const Value& trial, const std::string& name) {
  std::string out;
  for (const Value& above : trial.find("above")->items()) {
    out += fmt::format("{} would use {} {} of {}; what runs goes on\n", name,
                       above.find("used")->text_value(), above.find("resource")->text_value(),
                       above.find("limit")->text_value());
  }
  const std::int64_t starting = trial.find("starting")->integer_value();
  const auto shown = trial.find("would_start")->items();
  for (const Value& job : shown) {
    out += fmt::format("job {} {} of {} would start\n", job.find("id")->text_value(),
                       job.find("name")->text_value(), job.find("user")->text_value());
  }
  const std::int64_t more = starting - static_cast<std::int64_t>(shown.size());
  if (more > 0) out += fmt::format("and {} more would start\n", more);
  if (starting == 0) out += "no job that waits would start\n";
  return out + "nothing was changed\n";
}

Result<void> put(const QueuesOptions& options, bool create) {
  const Client client = TRY(Client::find(options.server));
  std::string target = "/api/v1/queues/" + net::percent_encode(options.name);
  const Result<std::string> found = client.get(target);
  std::optional<Value> known;
  if (found) known = TRY(parse_json(*found));
  if (found && create) {
    return fail(Code::conflict, "there is a queue " + quote(options.name) + " already",
                "tutti queue set changes it");
  }
  if (!found && !create) return fail(found.error());
  Amounts limits = known ? amounts_of(*known, "limit") : Amounts();
  TRY(lay_over(limits, options.limits));
  if (options.dry_run) target += "?dry_run=true";
  const std::string answer =
      TRY(client.put(target, body_of(known ? &*known : nullptr, limits, options.weight)));
  if (options.json) return print(answer + "\n");
  const Value changed = TRY(parse_json(answer));
  if (options.dry_run) return print(trial_text(changed, options.name));
  return print(table_of(std::span(&changed, 1)));
}

void declare_put(CLI::App& queue, Run& run, bool create) {
  auto options = std::make_shared<QueuesOptions>();
  const std::string name = create ? "create" : "set";
  CLI::App* command = queue.add_subcommand(
      name, create ? "Make a queue" : "Give a queue other limits, or another weight");
  declare_server(*command, options->server);
  command->add_option("NAME", options->name, "Its path: research/vision")
      ->required()
      ->type_name("");
  command
      ->add_option("--limit", options->limits,
                   "What it may use at most: gpu=8, memory=64Gi; gpu=none: no limit; may repeat")
      ->type_name("RESOURCE=AMOUNT")
      ->allow_extra_args(false);
  command
      ->add_option("--weight", options->weight,
                   "Its share beside others, once there are fair shares: without effect until then")
      ->type_name("N")
      ->take_last();
  command->add_flag("--dry-run", options->dry_run, "Say what would change for whom");
  command->add_flag("--json", options->json, "Print the server's answer");
  command->footer(create ? "Example:\n  tutti queue create research --limit gpu=8"
                         : "Examples:\n  tutti queue set research --limit gpu=16 --dry-run\n"
                           "  tutti queue set research --limit gpu=none");
  on_call(*command, run, [options, create] { return put(*options, create); });
}

}  // namespace

void declare_queues(CLI::App& app, Run& run) {
  auto options = std::make_shared<QueuesOptions>();
  CLI::App* queues = app.add_subcommand("queues", "List queues, and what they use");
  declare_server(*queues, options->server);
  queues->add_flag("--json", options->json, "Print the server's answer");
  queues->footer("Example:\n  tutti queues");
  on_call(*queues, run, [options] { return list_queues(*options); });
  CLI::App* queue = app.add_subcommand("queue", "Make and change queues");
  queue->require_subcommand(1);
  queue->footer("Example:\n  tutti queue create research --limit gpu=8");
  declare_put(*queue, run, true);
  declare_put(*queue, run, false);
}

}  // namespace tutti
