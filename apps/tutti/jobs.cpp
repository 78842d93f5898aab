/// tutti jobs, job, explain, logs, cancel, hold, release: what a server knows, and what
/// becomes of a job.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
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

struct JobsOptions {
  ServerWords server;
  std::string id;
  std::vector<std::string> ids;  ///< Where several may be named.
  std::string state;
  std::string user;
  std::string queue;
  std::string name;
  std::string fields;
  std::string limit;
  std::string task;
  bool all = false;
  bool follow = false;
  bool json = false;
};

/// A cell of any field: the first of a list, and how many more there are.
std::string cell_of(const Value& job, const std::string& field) {
  const Value* const value = job.find(field);
  if (value == nullptr || !value->is(Kind::list)) {
    const bool time = field == "submitted" || field == "started" || field == "finished";
    return time ? time_of(job, field) : text_of(job, field);
  }
  const auto items = value->items();
  if (items.empty()) return "-";
  std::string out(items.front().text_value());
  if (items.size() > 1) out += fmt::format(" and {} more", items.size() - 1);
  return out;
}

std::size_t limit_of(const JobsOptions& options) {
  return std::strtoull(options.limit.c_str(), nullptr, 10);
}

std::string list_target(const JobsOptions& options, const std::string& cursor, std::size_t have) {
  std::string target = "/api/v1/jobs?limit=" + options.limit;
  if (options.all || have > 0) {
    const std::size_t rest = options.all ? 1000 : limit_of(options) - have;
    target = fmt::format("/api/v1/jobs?limit={}", rest);
  }
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) target += fmt::format("&{}={}", name, net::percent_encode(value));
  };
  add("state", options.state);
  add("user", options.user);
  add("queue", options.queue);
  add("name", options.name);
  add("fields", options.fields);
  add("cursor", cursor);
  return target;
}

/// All pages that were asked for as one.
std::string joined(const std::vector<Value>& pages) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("jobs").begin_list();
  for (const Value& page : pages) {
    for (const Value& job : page.find("jobs")->items()) json.value(job);
  }
  json.end_list().key("next").value(*pages.back().find("next")).end_object();
  return out + "\n";
}

Result<void> list_jobs(const JobsOptions& options) {
  const Client client = TRY(Client::find(options.server));
  std::vector<Value> pages;
  std::string cursor;
  std::size_t have = 0;
  do {
    pages.push_back(TRY(parse_json(TRY(client.get(list_target(options, cursor, have))))));
    have += pages.back().find("jobs")->items().size();
    const Value* const next = pages.back().find("next");
    cursor = next->is(Kind::text) ? std::string(next->text_value()) : std::string();
    // A page is short where the server would have had to look for long.
  } while (!cursor.empty() && (options.all || have < limit_of(options)));
  if (options.json) return print(joined(pages));
  constexpr std::string_view usual = "id,name,user,state,tasks,submitted,started,nodes,reason";
  TRY(print(table_of_jobs(pages, options.fields.empty() ? usual : options.fields)));
  if (!cursor.empty()) TRY(print("there are more; --all shows them\n"));
  return {};
}

std::string path_of(const JobsOptions& options, std::string_view rest) {
  return "/api/v1/jobs/" + net::percent_encode(options.id) + std::string(rest);
}

/// Every field of an object on a line of its own.
std::string fields_of(const Value& object) {
  std::string out;
  for (const Value::Member& member : object.members()) {
    const std::string value = member.value.is(Kind::text) ? std::string(member.value.text_value())
                                                          : to_json(member.value);
    if (!value.empty()) out += fmt::format("{:12}{}\n", member.key, value);
  }
  return out;
}

Result<void> show_job(const JobsOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.get(path_of(options, "")));
  if (options.json) return print(answer + "\n");
  return print(fields_of(TRY(parse_json(answer))));
}

Result<void> explain_job(const JobsOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.get(path_of(options, "/explanation")));
  if (options.json) return print(answer + "\n");
  const Value explanation = TRY(parse_json(answer));
  return print(explanation.find("text")->text_value());
}

Result<void> change_one(const Client& client, const JobsOptions& options, std::string_view verb) {
  const std::string answer = TRY(client.post(path_of(options, fmt::format(":{}", verb))));
  if (options.json) return print(answer + "\n");
  const Value job = TRY(parse_json(answer));
  return print(fmt::format("job {} is {}{}\n", options.id, text_of(job, "state"),
                           text_of(job, "reason").empty() ? "" : ": " + text_of(job, "reason")));
}

/// Each for itself: one that cannot be changed keeps no other from it.
Result<void> change(JobsOptions options, std::string_view verb) {
  const Client client = TRY(Client::find(options.server));
  std::optional<Error> failed;
  for (const std::string& id : options.ids) {
    options.id = id;
    const Result<void> done = change_one(client, options, verb);
    if (done) continue;
    if (failed) complain(*failed);
    failed = done.error();
  }
  if (failed) return fail(*failed);
  return {};
}

Result<void> logs(const JobsOptions& options) {
  const Client client = TRY(Client::find(options.server));
  std::string target = path_of(options, "/output?task=" + options.task);
  if (options.follow) target += "&follow=true";
  return client.follow({.target = target}, [](std::string_view piece) -> Result<bool> {
    TRY(print(piece));
    return true;
  });
}

using Do = Result<void> (*)(const JobsOptions& options);

/// A command: its name and what it is for.
struct JobVerb {
  std::string name;
  std::string what;
};

CLI::App* declare_one(CLI::App& app, Run& run, const JobVerb& verb,
                      const std::shared_ptr<JobsOptions>& options, const Do act) {
  CLI::App* command = app.add_subcommand(verb.name, verb.what);
  declare_server(*command, options->server);
  on_call(*command, run, [options, act] { return act(*options); });
  return command;
}

/// A command about one job.
void declare_job(CLI::App& app, Run& run, const JobVerb& verb, const Do act) {
  auto options = std::make_shared<JobsOptions>();
  CLI::App* command = declare_one(app, run, verb, options, act);
  command->add_option("ID", options->id, "Of the job")->required()->type_name("");
  command->add_flag("--json", options->json, "Print the server's answer");
  command->footer("Example:\n  tutti " + verb.name + " 17");
}

/// A command that changes jobs.
void declare_change(CLI::App& app, Run& run, const JobVerb& verb, const Do act) {
  auto options = std::make_shared<JobsOptions>();
  CLI::App* command = declare_one(app, run, verb, options, act);
  command->add_option("ID", options->ids, "Of the job; of several, one after the other")
      ->required()
      ->type_name("...");
  command->add_flag("--json", options->json, "Print the server's answer, a line for each job");
  command->footer("Examples:\n  tutti " + verb.name + " 17\n  tutti " + verb.name + " 17 18 19");
}

void declare_list(CLI::App& app, Run& run) {
  auto options = std::make_shared<JobsOptions>();
  options->limit = "100";
  CLI::App* jobs =
      declare_one(app, run, {"jobs", "List jobs, the newest first"}, options, list_jobs);
  const auto option = [&](const std::string& name, std::string& to, const std::string& what,
                          const std::string& type) {
    jobs->add_option(name, to, what)->type_name(type)->take_last();
  };
  option("--state", options->state,
         "pending running succeeded failed cancelled held; several by comma", "STATE");
  option("--user", options->user, "Of this user", "USER");
  option("--queue", options->queue, "In this queue", "QUEUE");
  option("--name", options->name, "Called so; * stands for any letters", "NAME");
  option("--fields", options->fields, "Only these: id,state,nodes", "FIELDS");
  option("--limit", options->limit, "At most so many, up to 1000", "N");
  jobs->add_flag("--all", options->all, "All of them");
  jobs->add_flag("--json", options->json, "Print the server's answer");
  jobs->footer("Examples:\n  tutti jobs\n  tutti jobs --state pending --all");
}

void declare_logs(CLI::App& app, Run& run) {
  auto options = std::make_shared<JobsOptions>();
  options->task = "0";
  CLI::App* output = declare_one(app, run, {"logs", "Print what a job printed"}, options, logs);
  output->add_option("ID", options->id, "Of the job")->required()->type_name("");
  output->add_option("--task", options->task, "Which of its tasks; else the first")
      ->type_name("N")
      ->take_last();
  output->add_flag("-f,--follow", options->follow, "Go on until it ends");
  output->footer("Examples:\n  tutti logs 17\n  tutti logs -f 17");
}

}  // namespace

std::string text_of(const Value& object, std::string_view field) {
  const Value* const value = object.find(field);
  if (value == nullptr || value->is(Kind::null)) return "-";
  if (value->is(Kind::integer)) return std::to_string(value->integer_value());
  return std::string(value->text_value());
}

std::string word_of(const Value& object, std::string_view field) {
  std::string text = text_of(object, field);
  return text.empty() ? "-" : text;
}

std::string time_of(const Value& object, std::string_view field) {
  std::string text = text_of(object, field);
  if (text.size() < 19) return text;
  text.resize(19);
  text[10] = ' ';
  return text;
}

std::string table_of_jobs(const std::vector<Value>& pages, std::string_view fields) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= fields.size();) {
    const std::size_t comma = std::min(fields.find(',', at), fields.size());
    names.emplace_back(fields.substr(at, comma - at));
    at = comma + 1;
  }
  std::vector<std::string> header = names;
  std::ranges::replace(header, "nodes", "where");
  Table table(std::move(header));
  for (const Value& page : pages) {
    for (const Value& job : page.find("jobs")->items()) {
      std::vector<std::string> cells;
      for (const std::string& name : names) cells.push_back(cell_of(job, name));
      table.add(std::move(cells));
    }
  }
  return table.rows() == 0 ? "no jobs\n" : table.text();
}

void declare_jobs(CLI::App& app, Run& run) {
  declare_list(app, run);
  declare_job(app, run, {"job", "Show one job"}, show_job);
  declare_job(app, run, {"explain", "Say why a job waits, and what would make it start"},
              explain_job);
  declare_change(app, run, {"cancel", "Give a job up; what runs of it is stopped"},
                 [](const JobsOptions& given) { return change(given, "cancel"); });
  declare_change(app, run, {"hold", "Let nothing more of a job start"},
                 [](const JobsOptions& given) { return change(given, "hold"); });
  declare_change(app, run, {"release", "Let a held job start"},
                 [](const JobsOptions& given) { return change(given, "release"); });
  declare_logs(app, run);
}

}  // namespace tutti
