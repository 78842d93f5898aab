/// tutti top: the fleet and the newest jobs that run or wait, again and again.
#include <fmt/chrono.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "format/json.h"
#include "tutti/client.h"
#include "tutti/commands.h"
#include "tutti/tables.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct TopOptions {
  ServerWords server;
  std::uint32_t seconds = 2;
  bool json = false;
};

constexpr int usual_rows = 24;

int rows_of_terminal() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row
                                                                           : usual_rows;
}

/// The first so many lines, so that what is above stays in sight.
std::string first_lines(const std::string& text, int most) {
  std::size_t end = 0;
  for (int line = 0; line < most && end != text.npos; ++line) {
    end = text.find('\n', end == 0 ? 0 : end + 1);
  }
  return end == text.npos ? text : text.substr(0, end + 1);
}

Result<void> show_top(const Client& client, const TopOptions& options, bool again) {
  const std::string nodes = TRY(client.get("/api/v1/nodes"));
  const std::string jobs = TRY(client.get("/api/v1/jobs?state=running,pending&limit=100"));
  if (options.json) {
    std::string out;
    JsonWriter json(out);
    const Value fleet = TRY(parse_json(nodes));
    const Value page = TRY(parse_json(jobs));
    json.begin_object().key("nodes").value(*fleet.find("nodes"));
    json.key("jobs").value(*page.find("jobs")).end_object();
    return print(out + "\n");
  }
  std::vector<Value> pages;
  pages.push_back(TRY(parse_json(jobs)));
  const std::string text = table_of_nodes(TRY(parse_json(nodes))) + "\n" +
                           table_of_jobs(pages, "id,name,user,queue,state,tasks,started,nodes");
  if (!again) return print(text);
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  constexpr std::string_view home_and_clear = "\033[H\033[J";
  return print(fmt::format("{}{:%H:%M:%S}, every {} s; Ctrl-C ends it\n\n{}", home_and_clear,
                           fmt::localtime(now), options.seconds,
                           first_lines(text, rows_of_terminal() - 3)));
}

Result<void> top(const TopOptions& options) {
  const Client client = TRY(Client::find(options.server));
  const bool again = !options.json && ::isatty(STDOUT_FILENO) != 0;
  TRY(show_top(client, options, again));
  while (again) {
    std::this_thread::sleep_for(std::chrono::seconds(options.seconds));
    TRY(show_top(client, options, again));
  }
  return {};
}

}  // namespace

void declare_top(CLI::App& app, Run& run) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand(
      "top", "Show nodes, and jobs that run or wait; on a terminal again and again");
  declare_server(*command, options->server);
  command->add_option("--every", options->seconds, "Seconds, 1 to 3600; else 2")
      ->type_name("N")
      ->check(CLI::Range(1, 3600))
      ->take_last();
  command->add_flag("--json", options->json, "Print the server's answers, once");
  command->footer("Example:\n  tutti top --every 5");
  on_call(*command, run, [options] { return top(*options); });
}

}  // namespace tutti
