/// tutti usage: who used how much.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
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

struct UsageOptions {
  ServerWords server;
  std::string by = "user";
  std::string since;
  std::string until;
  bool json = false;
};

std::string usage_target(const UsageOptions& options) {
  std::string out = "/api/v1/usage?by=" + net::percent_encode(options.by);
  if (!options.since.empty()) out += "&since=" + net::percent_encode(options.since);
  if (!options.until.empty()) out += "&until=" + net::percent_encode(options.until);
  return out;
}

std::string hours_text(const Value& row, std::string_view field) {
  return fmt::format("{:.2f}", std::strtod(text_of(row, field).c_str(), nullptr));
}

void add_row(Table& table, std::vector<std::string> cells, const Value& row) {
  for (const char* const field : {"device_hours", "core_hours", "memory_gib_hours"}) {
    cells.push_back(hours_text(row, field));
  }
  for (const char* const field : {"jobs", "tasks"}) cells.push_back(text_of(row, field));
  table.add(std::move(cells));
}

/// A column for each of what rows are told apart by, as the first row has it.
std::string usage_text(const Value& answer) {
  const auto rows = answer.find("rows")->items();
  const bool own = answer.find("own")->boolean_value();
  const std::string days = text_of(answer, "since") + " to " + text_of(answer, "until") +
                           (own ? ", only what is your own" : "") + "\n";
  if (rows.empty()) return "nothing was used: " + days;
  std::vector<std::string> header;
  for (const char* const field : {"job", "name", "user", "queue", "model"}) {
    if (rows.front().find(field) != nullptr) header.emplace_back(field);
  }
  const std::vector<std::string> keys = header;
  for (const char* const each : {"device-h", "core-h", "GiB-h", "jobs", "tasks"}) {
    header.emplace_back(each);
  }
  Table table(std::move(header));
  for (const Value& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(word_of(row, key));
    add_row(table, std::move(cells), row);
  }
  std::vector<std::string> total(keys.size());
  total.front() = "total";
  add_row(table, std::move(total), *answer.find("total"));
  const std::int64_t left_out = answer.find("left_out")->integer_value();
  std::string out = days + table.text();
  if (left_out > 0)
    out += fmt::format("and {} rows with less, which the total has too\n", left_out);
  return out;
}

Result<void> usage(const UsageOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.get(usage_target(options)));
  if (options.json) return print(answer + "\n");
  return print(usage_text(TRY(parse_json(answer))));
}

}  // namespace

void declare_usage(CLI::App& app, Run& run) {
  auto options = std::make_shared<UsageOptions>();
  CLI::App* command = app.add_subcommand("usage", "Print who used how much, by days in UTC");
  declare_server(*command, options->server);
  command
      ->add_option("--by", options->by,
                   "A row for each user, queue, model or job; several by comma; else user")
      ->type_name("WHAT")
      ->take_last();
  command->add_option("--since", options->since, "7d, or the first day: 2026-11-01; else 30d")
      ->type_name("DAY")
      ->take_last();
  command->add_option("--until", options->until, "The last day: 2026-11-30; else today")
      ->type_name("DAY")
      ->take_last();
  command->add_flag("--json", options->json, "Print the server's answer");
  command->footer(
      "Examples:\n"
      "  tutti usage --by user,queue --since 7d\n"
      "  tutti usage --by model --since 2026-11-01 --until 2026-11-30 --json");
  on_call(*command, run, [options] { return usage(*options); });
}

}  // namespace tutti
