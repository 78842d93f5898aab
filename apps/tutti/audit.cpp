/// tutti audit: who changed what.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "format/json.h"
#include "format/text.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/tables.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct AuditOptions {
  ServerWords server;
  std::size_t limit = 50;
  bool json = false;
};

Result<void> audit(const AuditOptions& options) {
  const Client client = TRY(Client::find(options.server));
  Table table({"time", "user", "by", "from", "what", "where", "answer", "jobs"});
  std::string cursor;
  for (std::size_t left = options.limit; left > 0;) {
    std::string target = fmt::format("/api/v1/audit?limit={}", std::min<std::size_t>(left, 1000));
    if (!cursor.empty()) target += "&cursor=" + cursor;
    const Value page = TRY(parse_json(TRY(client.get(target))));
    const auto entries = page.find("entries")->items();
    for (const Value& entry : entries) {
      if (options.json) TRY(print(to_json(entry) + "\n"));
      table.add({time_of(entry, "at"), word_of(entry, "user"), word_of(entry, "by"),
                 word_of(entry, "from"), word_of(entry, "method"), word_of(entry, "path"),
                 word_of(entry, "status") + (entry.find("dry_run") == nullptr ? "" : ", dry run"),
                 word_of(entry, "jobs")});
    }
    left -= std::min(left, entries.size());
    const Value* const next = page.find("next");
    if (!next->is(Kind::text)) break;
    cursor = next->text_value();
  }
  if (options.json) return {};
  return print(table.rows() == 0 ? "nobody has changed anything yet\n" : table.text());
}

}  // namespace

void declare_audit(CLI::App& app, Run& run) {
  auto options = std::make_shared<AuditOptions>();
  CLI::App* command = app.add_subcommand("audit", "Print who changed what, the newest first");
  declare_server(*command, options->server);
  command->add_option("--limit", options->limit, "At most so many; else 50")
      ->type_name("N")
      ->take_last();
  command->add_flag("--json", options->json, "One JSON object a line");
  command->footer("Example:\n  tutti audit --limit 200");
  on_call(*command, run, [options] { return audit(*options); });
}

}  // namespace tutti
