#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "generated/version.h"
#include "tutti/commands.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Schedules AI work on mixed fleets of accelerators: all of a job, at the right time.");
  app.name("tutti");
  app.set_version_flag("--version", "tutti " + std::string(tutti::version()) + " (" +
                                        std::string(tutti::commit()) + ")");
  app.require_subcommand(1);
  tutti::Run run;
  tutti::declare_sim(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    std::fprintf(stderr, "error: %s\nhint:  tutti --help, tutti COMMAND --help\n", wrong.what());
    return 2;
  }
  return run ? run() : 0;
}
