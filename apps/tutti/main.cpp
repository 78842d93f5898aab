#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "generated/version.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace {

void declare(CLI::App& app, tutti::Run& run) {
  app.name("tutti");
  app.set_version_flag("--version", "tutti " + std::string(tutti::version()) + " (" +
                                        std::string(tutti::commit()) + ")");
  app.set_help_flag("-h,--help", "Explain");
  app.require_subcommand(1);
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
      "tutti COMMAND --help explains a command.");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Schedules AI work on mixed fleets of accelerators: all of a job, at the right time.");
  tutti::Run run;
  declare(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    return tutti::complain_usage(app, wrong.what());
  }
  return run ? run() : 0;
}
