/// tutti nodes, node cordon, uncordon and drain, whatif: the fleet as it is, and as it could be.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
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

struct NodesOptions {
  ServerWords server;
  std::string name;
  bool json = false;
};

std::string word_for(const Value& node) {
  if (!node.find("present")->boolean_value()) return "lost";
  if (node.find("draining")->boolean_value()) return "draining";
  return node.find("cordoned")->boolean_value() ? "cordoned" : "ready";
}

Result<void> list_nodes(const NodesOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.get("/api/v1/nodes"));
  if (options.json) return print(answer + "\n");
  return print(table_of_nodes(TRY(parse_json(answer))));
}

Result<void> set(const NodesOptions& options, const std::string& word) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer =
      TRY(client.post("/api/v1/nodes/" + net::percent_encode(options.name) + ":" + word));
  if (options.json) return print(answer + "\n");
  if (word == "uncordon") return print(options.name + " takes new work again\n");
  TRY(print(options.name + " takes no new work\n"));
  if (word == "cordon") return {};
  return print(
      "what runs there is stopped, and starts elsewhere; tutti node uncordon takes it back\n");
}

struct WhatIfOptions {
  ServerWords server;
  std::string job;
  std::uint32_t add_nodes = 0;
  std::string like;
  std::vector<std::string> uncordon;
  std::vector<std::string> drain;
  std::vector<std::string> cancel;
  bool json = false;
};

std::string question_of(const WhatIfOptions& options) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("add_nodes", options.add_nodes).member("like", options.like);
  const auto words = [&](std::string_view name, const std::vector<std::string>& given) {
    json.key(name).begin_list();
    for (const std::string& each : given) json.value(each);
    json.end_list();
  };
  words("uncordon", options.uncordon);
  words("drain", options.drain);
  words("cancel", options.cancel);
  if (!options.job.empty()) json.member("job", options.job);
  json.end_object();
  return body;
}

/// " on n0 x 4, n1": equal names that follow each other are counted.
std::string places_of(const Value& start) {
  std::string out;
  const auto nodes = start.find("nodes")->items();
  for (std::size_t at = 0; at < nodes.size();) {
    std::size_t end = at + 1;
    while (end < nodes.size() && nodes[end].text_value() == nodes[at].text_value()) ++end;
    out += fmt::format("{} {}", out.empty() ? " on" : ",", nodes[at].text_value());
    if (end - at > 1) out += fmt::format(" x {}", end - at);
    at = end;
  }
  return out;
}

std::string answer_text(const Value& answer) {
  std::string out;
  std::string mine;
  if (const Value* const job = answer.find("job"); job != nullptr) {
    mine = job->find("id")->text_value();
    out += "job " + mine + fate_text(*job);
  }
  std::int64_t others = answer.find("starting")->integer_value();
  for (const Value& each : answer.find("would_start")->items()) {
    --others;
    if (each.find("id")->text_value() == mine) continue;
    out += fmt::format("job {} {} of {} would start{}\n", each.find("id")->text_value(),
                       each.find("name")->text_value(), each.find("user")->text_value(),
                       places_of(each));
  }
  if (others > 0) out += fmt::format("and {} more would start\n", others);
  if (out.empty()) out = "no job that waits would start\n";
  return out + "nothing was changed\n";
}

Result<void> ask(const WhatIfOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const std::string answer = TRY(client.post("/api/v1/whatif", question_of(options)));
  if (options.json) return print(answer + "\n");
  return print(answer_text(TRY(parse_json(answer))));
}

void declare_what_if(CLI::App& app, Run& run) {
  auto options = std::make_shared<WhatIfOptions>();
  CLI::App* command =
      app.add_subcommand("whatif", "Say what would start if the fleet were another one");
  declare_server(*command, options->server);
  command->add_option("ID", options->job, "A job, to hear of it above all")->type_name("");
  command->add_option("--add-nodes", options->add_nodes, "So many nodes more, up to 1000")
      ->type_name("N")
      ->take_last();
  command->add_option("--like", options->like, "Which are as this one; else as the first")
      ->type_name("NODE")
      ->take_last();
  const auto words = [&](const std::string& name, std::vector<std::string>& to,
                         const std::string& what, const std::string& type) {
    command->add_option(name, to, what)->type_name(type)->allow_extra_args(false);
  };
  words("--uncordon", options->uncordon, "This node takes new work; may repeat", "NODE");
  words("--drain", options->drain, "This node is empty and takes none; may repeat", "NODE");
  words("--cancel", options->cancel, "This job is gone; may repeat", "JOB");
  command->add_flag("--json", options->json, "Print the server's answer");
  command->footer("Examples:\n  tutti whatif --add-nodes 4 17\n  tutti whatif --drain gpu-3");
  on_call(*command, run, [options] { return ask(*options); });
}

}  // namespace

std::string fate_text(const Value& job) {
  if (job.find("starts")->boolean_value()) return " would start" + places_of(job) + "\n";
  if (const Value* const runs = job.find("runs"); runs != nullptr) {
    return runs->boolean_value() ? " would run" + places_of(job) + "\n" : " would be over\n";
  }
  return " would not start\n" + std::string(job.find("text")->text_value());
}

std::string table_of_nodes(const Value& all) {
  Table table({"node", "state", "cores free", "of", "devices free", "of"});
  for (const Value& node : all.find("nodes")->items()) {
    const Value* const cpu = node.find("resources")->find("cpu");
    const auto cores = [&](std::string_view field) {
      if (cpu == nullptr) return std::string("-");
      return fmt::format("{:g}", static_cast<double>(cpu->find(field)->integer_value()) / 1000);
    };
    std::size_t unused = 0;
    const auto devices = node.find("devices")->items();
    for (const Value& device : devices) {
      const bool well = device.find("health")->text_value() == "online";
      unused += well && device.find("used_permille")->integer_value() == 0 ? 1 : 0;
    }
    table.add({std::string(node.find("name")->text_value()), word_for(node), cores("free"),
               cores("capacity"), std::to_string(unused), std::to_string(devices.size())});
  }
  return table.text();
}

void declare_nodes(CLI::App& app, Run& run) {
  auto fleet = std::make_shared<NodesOptions>();
  CLI::App* nodes = app.add_subcommand("nodes", "List nodes, and what is free");
  declare_server(*nodes, fleet->server);
  nodes->add_flag("--json", fleet->json, "Print the server's answer");
  nodes->footer("Example:\n  tutti nodes");
  on_call(*nodes, run, [fleet] { return list_nodes(*fleet); });
  CLI::App* node = app.add_subcommand("node", "Close a node, empty it, or open it again");
  node->require_subcommand(1);
  node->footer("Example:\n  tutti node drain gpu-3");
  const auto verb = [&](const std::string& word, const std::string& what) {
    auto options = std::make_shared<NodesOptions>();
    CLI::App* command = node->add_subcommand(word, what);
    declare_server(*command, options->server);
    command->add_option("NAME", options->name, "Of the node")->required()->type_name("");
    command->add_flag("--json", options->json, "Print the server's answer");
    command->footer("Example:\n  tutti node " + word + " gpu-3");
    on_call(*command, run, [options, word] { return set(*options, word); });
  };
  verb("cordon", "Let nothing new start there; what runs goes on");
  verb("drain", "The same, and stop what runs there, so that it starts elsewhere");
  verb("uncordon", "Take that back");
  declare_what_if(app, run);
}

}  // namespace tutti
