/// tutti submit: jobs of a file, or a command.
#include "tutti/submit.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "format/json.h"
#include "net/url.h"
#include "sim/files.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/tables.h"
#include "tutti/terminal.h"
#include "tutti/wait.h"

namespace tutti {
namespace {

struct SubmitOptions {
  ServerWords server;
  JobWords job;
  bool wait = false;
  bool follow = false;
  bool dry_run = false;
  bool json = false;
};

/// One word that is called like a file of jobs; all else is a command.
bool names_file(const std::vector<std::string>& words) {
  if (words.size() != 1) return false;
  const std::filesystem::path path(words.front());
  constexpr std::array<std::string_view, 3> endings{".yaml", ".yml", ".json"};
  return words.front() == "-" || std::ranges::find(endings, path.extension()) != endings.end();
}

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

/// "12", or "12:end": what of it is awaited.
void write_after(JsonWriter& json, const std::vector<std::string>& after) {
  if (after.empty()) return;
  json.key("after").begin_list();
  for (const std::string& each : after) {
    const std::size_t colon = std::min(each.find(':'), each.size());
    json.begin_object().member("job", each.substr(0, colon));
    if (colon < each.size()) json.member("on", each.substr(colon + 1));
    json.end_object();
  }
  json.end_list();
}

}  // namespace

Result<std::string> job_text(const JobWords& options) {
  std::string text;
  JsonWriter json(text);
  json.begin_object().key("job").begin_object();
  const std::string program = std::filesystem::path(options.command.front()).filename();
  json.member("name", options.name.empty() ? program : options.name);
  // As in a file of jobs: what looks like a number is one.
  const auto member = [&](std::string_view field, const std::string& value) {
    if (value.empty()) return;
    const auto number = Value::number(value);
    number ? json.member(field, *number) : json.member(field, value);
  };
  if (!options.queue.empty()) json.member("queue", options.queue);
  member("priority", options.priority);
  member("tasks", options.tasks);
  member("cpu", options.cpu.empty() ? "1" : options.cpu);
  member("memory", options.memory);
  member("gpus", options.gpus);
  json.key("command").begin_list();
  for (const std::string& word : options.command) json.value(word);
  json.end_list();
  json.member("directory", absolute(options.directory.empty() ? "." : options.directory));
  if (!options.output.empty()) json.member("output", absolute(options.output));
  if (options.held) json.member("held", true);
  member("time_limit", options.time);
  member("retries", options.retries);
  member("ttl", options.ttl);
  if (!options.array.empty()) json.member("array", options.array);
  write_after(json, options.after);
  if (!options.attended.empty()) {
    json.member("attended", options.attended);
    json.member("rows", options.rows).member("columns", options.columns);
  }
  if (!options.variables.empty()) json.key("environment").begin_object();
  for (const std::string& each : options.variables) {
    const std::size_t equals = each.find('=');
    if (equals == each.npos || equals == 0) {
      return fail(Code::invalid, fmt::format("--export {}: no variable", each),
                  "write: --export NAME=VALUE");
    }
    json.member(each.substr(0, equals), each.substr(equals + 1));
  }
  if (!options.variables.empty()) json.end_object();
  json.end_object().end_object();
  return text;
}

namespace {

Result<std::string> send(const SubmitOptions& options, const Client& client) {
  std::string target = "/api/v1/jobs?dry_run=" + std::string(options.dry_run ? "true" : "false");
  if (!names_file(options.job.command)) {
    return client.post_once(target, TRY(job_text(options.job)));
  }
  const std::string& path = options.job.command.front();
  target += "&source=" + net::percent_encode(path == "-" ? "standard input" : path);
  return client.post_once(target, TRY(read_file(path)), "application/yaml");
}

Result<int> show_dry_run(const SubmitOptions& options, const std::string& answer) {
  if (options.json) {
    TRY(print(answer + "\n"));
    return 0;
  }
  const Value fates = TRY(parse_json(answer));
  std::string out;
  for (const Value& job : fates.find("jobs")->items()) {
    out += std::string(job.find("name")->text_value()) + fate_text(job);
  }
  TRY(print(out + "nothing was submitted\n"));
  return 0;
}

/// Says on stderr which of the first jobs can never start as the fleet is. They are accepted: it
/// may grow.
void warn_of_never(const Client& client, std::span<const Value> ids) {
  constexpr std::size_t looked_at = 10;
  for (const Value& id : ids.first(std::min(ids.size(), looked_at))) {
    const std::string job(id.text_value());
    const auto answer = client.get("/api/v1/jobs/" + job + "/explanation");
    const auto explained = answer ? parse_json(*answer) : fail(answer.error());
    if (!explained) return;
    const std::string_view text = explained->find("text")->text_value();
    if (!text.starts_with("never fits")) continue;
    fmt::print(stderr,
               "warning: job {} can never start on this fleet, however empty; tutti explain {}\n",
               job, job);
  }
}

/// Without words the jobs come in by a pipe; from a terminal nothing would ever come.
Result<void> complete(std::vector<std::string>& words) {
  if (!words.empty()) return {};
  if (::isatty(STDIN_FILENO) != 0) {
    return fail(
        Code::invalid, "nothing to submit",
        "name a file of jobs, or a command behind --: tutti submit --gpus 1 -- python3 a.py");
  }
  words.emplace_back("-");
  return {};
}

/// The exit code: with --wait and --follow that of the first job that did not succeed.
Result<int> submit(SubmitOptions options) {
  TRY(complete(options.job.command));
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(send(options, client));
  if (options.dry_run) return show_dry_run(options, answer);
  const Value ids = TRY(parse_json(answer));
  std::string out;
  for (const Value& id : ids.find("ids")->items()) {
    out += fmt::format("job {} submitted\n", id.text_value());
  }
  if (options.json) {
    TRY(print(answer + "\n"));
  } else if (options.follow) {
    std::fputs(out.c_str(), stderr);  // Standard output is the job's.
  } else {
    TRY(print(out));
  }
  warn_of_never(client, ids.find("ids")->items());
  int code = 0;
  for (const Value& id : ids.find("ids")->items()) {
    if (!options.wait && !options.follow) break;
    const std::string job(id.text_value());
    if (options.follow) TRY(print_output(client, job));
    const int own = TRY(await_end(client, job));
    if (code == 0) code = own;
  }
  return code;
}

}  // namespace

void declare_job_words(CLI::App& app, JobWords& words) {
  const auto option = [&](const std::string& name, std::string& to, const std::string& what,
                          const std::string& type) {
    app.add_option(name, to, what)->type_name(type)->take_last();
  };
  option("--name", words.name, "Of the job; else the program's", "NAME");
  option("--queue", words.queue, "Else default", "QUEUE");
  option("--priority", words.priority, "Larger goes first", "N");
  option("--gpus", words.gpus, "2, 0.5, or 8xA100-80G: of each task", "GPUS");
  option("--cpu", words.cpu, "Cores of each task; else 1", "CORES");
  option("--memory", words.memory, "Of each task: 16Gi", "BYTES");
  option("--chdir", words.directory, "Where it starts; else here", "DIR");
  app.add_option("--export", words.variables, "A variable of its environment; may repeat")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void declare_submit(CLI::App& app, Run& run) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* submit_command =
      app.add_subcommand("submit", "Submit a command, or the jobs of a file");
  submit_command
      ->add_option("WORDS", options->job.command,
                   "A file of jobs, - for standard input, or a command behind --")
      ->type_name("...");
  declare_job_words(*submit_command, options->job);
  submit_command->add_option("--tasks", options->job.tasks, "Equal tasks that start together")
      ->type_name("N")
      ->take_last();
  submit_command
      ->add_option("--output", options->job.output,
                   "A file for what it prints; else tutti logs shows it")
      ->type_name("FILE")
      ->take_last();
  const auto option = [&](const std::string& name, std::string& to, const std::string& what,
                          const std::string& type) {
    submit_command->add_option(name, to, what)->type_name(type)->take_last();
  };
  option("--time", options->job.time, "It is stopped after so long: 90m, 2h", "DURATION");
  option("--retries", options->job.retries, "How often it starts anew when it fails", "N");
  option("--ttl", options->job.ttl, "It is shown for so long after its end: 1h, 30d", "DURATION");
  option("--array", options->job.array,
         "Once for each number: 0-99, 1,5,9, 0-99%10 for ten at once", "NUMBERS");
  submit_command
      ->add_option("--after", options->job.after,
                   "It waits for that job to succeed, or for its start, end or failure; may repeat")
      ->type_name("ID[:end]")
      ->allow_extra_args(false);
  submit_command->add_flag("--hold", options->job.held, "It waits for tutti release");
  submit_command->add_flag("--wait", options->wait, "Until it ends; its exit code is the job's");
  submit_command->add_flag("--follow", options->follow, "The same, and print what it prints");
  submit_command->add_flag("--dry-run", options->dry_run,
                           "Only say what would come of it: where it would start, or why not");
  submit_command->add_flag("--json", options->json, "Print the server's answer");
  declare_server(*submit_command, options->server);
  submit_command->footer(
      "Examples:\n"
      "  tutti submit --gpus 2 --name train -- python3 train.py\n"
      "  tutti submit jobs.yaml\n"
      "  tutti submit < jobs.yaml\n"
      "  tutti submit --dry-run --gpus 8 -- true");
  submit_command->callback([options, &run] {
    run = [options] {
      const Result<int> code = submit(*options);
      return code ? *code : complain(code.error());
    };
  });
}

}  // namespace tutti
