#include <fcntl.h>
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "backend/local/keeper.h"
#include "generated/version.h"
#include "tutti/checkpoint.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace {

void declare(CLI::App& app, tutti::Run& run) {
  app.name("tutti");
  app.set_version_flag("--version", "tutti " + std::string(tutti::version()) + " (" +
                                        std::string(tutti::commit()) + ")");
  app.set_help_flag("-h,--help", "Explain");
  app.require_subcommand(1);
  tutti::declare_serve(app, run);
  tutti::declare_submit(app, run);
  tutti::declare_run(app, run);
  tutti::declare_jobs(app, run);
  tutti::declare_nodes(app, run);
  tutti::declare_top(app, run);
  tutti::declare_events(app, run);
  tutti::declare_queues(app, run);
  tutti::declare_usage(app, run);
  tutti::declare_token(app, run);
  tutti::declare_audit(app, run);
  tutti::declare_replay(app, run);
  tutti::declare_backup(app, run);
  tutti::declare_support_bundle(app, run);
  tutti::declare_sim(app, run);
  tutti::declare_config(app, run);
  tutti::declare_catalog(app, run);
  tutti::declare_completion(app, run);
  app.footer(
      "Examples:\n"
      "  tutti sim --fleet fleet.yaml --workload jobs.yaml --report report.html\n"
      "  tutti sim --fleet cluster.json       place a Kubernetes cluster anew\n"
      "  tutti catalog H100                   what is known of a device\n"
      "\n"
      "tutti COMMAND --help explains a command.\n"
      "Exit codes: 0 done; 1 a scenario or a chaos seed failed; 2 bad input, or the system "
      "refused.");
  tutti::check_values(app);
}

/// Where a standard stream is closed, the next file that is opened would take its place: an error
/// message would end up in a report. What is opened here instead cannot be written, and says so.
void hold_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream) {
    if (::fcntl(stream, F_GETFD) < 0) ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
  }
}

int print_asked(const CLI::App& app, const CLI::Success& asked) {
  std::ostringstream text;
  app.exit(asked, text, text);
  const tutti::Result<void> done = tutti::print(text.str());
  return done ? 0 : tutti::complain(done.error());
}

int run_caught(const tutti::Run& run) {
  try {
    return run ? run() : 0;
  } catch (const std::bad_alloc&) {
    return tutti::complain({tutti::Code::limit, "out of memory", {}, "give it less at once"});
  } catch (const std::exception& thrown) {
    return tutti::complain({tutti::Code::io, thrown.what(), {}, {}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  // A write that cannot succeed is an error with a message, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // Hidden: what a server starts beside each task, which needs nothing of what follows.
  if (argc == 3 && std::string_view(argv[1]) == "keeper") return tutti::keep(argv[2]);
  // Hidden, too: what a server starts beside itself now and then.
  if (argc == 6 && std::string_view(argv[1]) == "checkpoint") {
    return tutti::run_checkpoint(argc, argv);
  }
  CLI::App app(
      "Schedules AI work on mixed fleets of accelerators: all of a job, at the right time.");
  tutti::Run run;
  declare(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    // A word that is no command would get the help of what stands before it.
    if (!app.remaining(true).empty()) return tutti::complain_usage(app, "not understood");
    return print_asked(app, asked);
  } catch (const CLI::ConversionError& wrong) {
    return tutti::complain_usage(app, fmt::format("this number is too large: {}", wrong.what()));
  } catch (const CLI::ParseError& wrong) {
    return tutti::complain_usage(app, wrong.what());
  }
  return run_caught(run);
}
