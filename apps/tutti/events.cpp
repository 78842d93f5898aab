/// tutti events: what happens, as it happens.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "format/json.h"
#include "net/url.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/event_reader.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct EventsOptions {
  ServerWords server;
  std::string job;
  std::string queue;
  std::string from;
  bool follow = false;
  bool json = false;
};

std::string_view word_in(const Value& object, std::string_view field) {
  const Value* const value = object.find(field);
  return value != nullptr && value->is(Kind::text) ? value->text_value() : std::string_view();
}

/// "job 7 train failed: task 0 exited with code 3".
std::string job_line(const Value& event) {
  const std::string_view what = word_in(event, "what");
  const std::string_view reason = word_in(event, "reason");
  std::string out = fmt::format("job {} {} ", word_in(event, "job"), word_in(event, "name"));
  if (what == "submitted") {
    return out +
           fmt::format("submitted by {} to {}", word_in(event, "user"), word_in(event, "queue"));
  }
  if (what == "ended") {
    out += word_in(event, "state");
  } else if (what == "cancelled") {
    out += "is to stop";
  } else {
    out += what;
  }
  if (what == "started") return out + fmt::format(" on {}", word_in(event, "node"));
  return reason.empty() || what == "cancelled" ? out : out + fmt::format(": {}", reason);
}

std::string node_line(const Value& event) {
  std::string out = fmt::format("node {} ", word_in(event, "node"));
  if (word_in(event, "what") != "device") return out + std::string(word_in(event, "what"));
  return out + fmt::format("device {} is {}", event.find("device")->integer_value(),
                           word_in(event, "health"));
}

Result<void> show_event(const net::SseReader::Message& message, bool as_json) {
  if (as_json) return print(message.data + "\n");
  const Value event = TRY(parse_json(message.data));
  if (message.event == "reset") {
    std::fputs("note: some events are missing here: the server does not keep them any more\n",
               stderr);
    return {};
  }
  std::string time(word_in(event, "at").substr(0, 19));
  if (time.size() == 19) time[10] = ' ';
  return print(time + "  " + (message.event == "job" ? job_line(event) : node_line(event)) + "\n");
}

Result<void> events(const EventsOptions& options) {
  const Client client = TRY(Client::find(options.server));
  std::string query = options.follow ? "follow=true" : "follow=false";
  const std::string from = !options.from.empty() ? options.from : options.follow ? "now" : "oldest";
  query += "&from=" + net::percent_encode(from);
  if (!options.job.empty()) query += "&job=" + net::percent_encode(options.job);
  if (!options.queue.empty()) query += "&queue=" + net::percent_encode(options.queue);
  const EventTaker taker{.began = [] { return true; },
                         .take = [&](const net::SseReader::Message& message) -> Result<bool> {
                           TRY(show_event(message, options.json));
                           return true;
                         }};
  return read_events(client, query, taker);
}

}  // namespace

void declare_events(CLI::App& app, Run& run) {
  auto options = std::make_shared<EventsOptions>();
  CLI::App* command = app.add_subcommand("events", "Print what happened lately, or happens");
  declare_server(*command, options->server);
  command->add_option("--job", options->job, "Of this job")->type_name("ID")->take_last();
  command->add_option("--queue", options->queue, "Of jobs in it")->type_name("QUEUE")->take_last();
  command
      ->add_option("--from", options->from,
                   "Behind this event, now, or oldest; else oldest, with -f now")
      ->type_name("ID")
      ->take_last();
  command->add_flag("-f,--follow", options->follow, "Go on as it happens");
  command->add_flag("--json", options->json, "One JSON object a line");
  command->footer("Examples:\n  tutti events --job 17\n  tutti events -f --json");
  on_call(*command, run, [options] { return events(*options); });
}

}  // namespace tutti
