/// tutti sim scenario: tests of placement, as text.
#include "sim/scenario.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "format/json.h"
#include "sim/files.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct ScenarioOptions {
  std::vector<std::string> files;
  std::vector<std::string> catalogs;
  bool update = false;
  bool json = false;
  bool verbose = false;
};

/// What became of one file.
struct Outcome {
  std::string file;
  std::optional<Error> error;  ///< It could not be read.
  ScenarioResult result;
  std::size_t updated = 0;
  bool passed() const { return !error && result.failures.empty(); }
};

/// The scenarios of a folder, by name; a file is itself.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    std::error_code trouble;
    if (!fs::is_directory(path, trouble)) {
      out.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (auto at = fs::recursive_directory_iterator(path, trouble);
         !trouble && at != fs::recursive_directory_iterator(); at.increment(trouble)) {
      if (at->path().extension() == ".scn") inside.push_back(at->path().string());
    }
    if (trouble) return fail({Code::io, "cannot read: " + trouble.message(), path, {}});
    if (inside.empty()) return fail(Code::not_found, path + " has no scenario, no *.scn");
    std::ranges::sort(inside);
    out.insert(out.end(), inside.begin(), inside.end());
  }
  return out;
}

/// Rewrites what can be; the outcome keeps the rest.
Result<void> update(const std::string& text, Outcome& outcome) {
  std::vector<ScenarioFailure>& failures = outcome.result.failures;
  outcome.updated = static_cast<std::size_t>(
      std::ranges::count_if(failures, [](const auto& each) { return each.rewrite.has_value(); }));
  if (outcome.updated == 0) return {};
  TRY(write_file(outcome.file, rewritten(text, failures)));
  std::erase_if(failures, [](const auto& each) { return each.rewrite.has_value(); });
  return {};
}

Result<void> run_file(const ScenarioOptions& options, const Catalog& catalog, Outcome& outcome) {
  const std::string text = TRY(read_file(outcome.file));
  Result<Scenario> scenario = parse_scenario(text, &catalog);
  if (!scenario) return fail(std::move(scenario).error().at(outcome.file));
  outcome.result = run_scenario(*scenario, options.verbose ? Trace::on : Trace::off);
  return options.update ? update(text, outcome) : Result<void>{};
}

/// "expected  a" and "actual    b" below each other, however many lines they have.
std::string beside(std::string_view title, const std::string& text) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size() || begin == 0;) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += fmt::format("  {:10}{}\n", begin == 0 ? title : "",
                       std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string report(const Outcome& outcome) {
  std::string out = outcome.result.trace;
  for (const ScenarioFailure& failure : outcome.result.failures) {
    out += fmt::format("FAIL {}:{}: {}\n", outcome.file, failure.line, failure.statement);
    out += beside("expected", failure.expected) + beside("actual", failure.actual);
    if (!failure.why.empty()) out += beside("why", failure.why);
  }
  if (outcome.updated > 0) {
    out += fmt::format("{}: {} expectation{} rewritten\n", outcome.file, outcome.updated,
                       outcome.updated == 1 ? "" : "s");
  }
  return out;
}

std::string to_json(const std::vector<Outcome>& outcomes) {
  std::string out;
  JsonWriter json(out, JsonStyle::indented);
  const auto passed = std::ranges::count_if(outcomes, &Outcome::passed);
  json.begin_object().member("passed", passed);
  json.member("failed", std::ssize(outcomes) - passed).key("files").begin_list();
  for (const Outcome& outcome : outcomes) {
    json.begin_object().member("file", outcome.file).member("passed", outcome.passed());
    if (outcome.error) {
      json.member("error", outcome.error->what).member("where", outcome.error->where);
      json.member("hint", outcome.error->hint).end_object();
      continue;
    }
    json.member("expectations", outcome.result.expectations);
    json.member("steps", outcome.result.steps).member("rewritten", outcome.updated);
    json.member("state_hash", fmt::format("{:016x}", outcome.result.state_hash));
    json.key("failures").begin_list();
    for (const ScenarioFailure& failure : outcome.result.failures) {
      json.begin_object().member("line", failure.line).member("statement", failure.statement);
      json.member("expected", failure.expected).member("actual", failure.actual);
      if (!failure.why.empty()) json.member("why", failure.why);
      json.end_object();
    }
    json.end_list().end_object();
  }
  json.end_list().end_object();
  return out + "\n";
}

Result<int> run_scenarios(const ScenarioOptions& options) {
  const Catalog catalog = TRY(load_catalog(options.catalogs));
  std::vector<Outcome> outcomes;
  int code = 0;
  for (const std::string& file : TRY(files_of(options.files))) {
    Outcome outcome;
    outcome.file = file;
    if (Result<void> done = run_file(options, catalog, outcome); !done) {
      outcome.error = std::move(done).error();
      code = options.json ? 2 : complain(*outcome.error);
    }
    if (!outcome.passed()) code = std::max(code, 1);
    if (!options.json && !outcome.error) TRY(print(report(outcome)));
    outcome.result.trace.clear();
    outcomes.push_back(std::move(outcome));
  }
  const auto passed = std::ranges::count_if(outcomes, &Outcome::passed);
  TRY(print(options.json
                ? to_json(outcomes)
                : fmt::format("{} passed, {} failed\n", passed, std::ssize(outcomes) - passed)));
  return code;
}

}  // namespace

void declare_scenario(CLI::App& sim, Run& run) {
  auto options = std::make_shared<ScenarioOptions>();
  CLI::App* scenario =
      sim.add_subcommand("scenario", "Run tests of placement that are written as text");
  scenario->add_option("FILE", options->files, "Scenarios, or folders of *.scn")
      ->required()
      ->type_name("FILE");
  scenario->add_flag("--update", options->update, "Rewrite what is expected to what is true");
  scenario->add_flag("--json", options->json, "Print what became of each file as JSON");
  scenario->add_flag("-v,--verbose", options->verbose, "Print every step and what it led to");
  declare_own_devices(*scenario, options->catalogs);
  scenario->footer(
      "0: all that is expected is true, 1: something is not, 2: a file cannot be read.\n"
      "docs/scenarios.md explains how to write one.\n"
      "Examples:\n"
      "  tutti sim scenario tests/scenarios/gangs\n"
      "  tutti sim scenario -v what-if.scn\n"
      "  tutti sim scenario --update what-if.scn   rewrite what is expected, then read the diff");
  scenario->callback([options, &run] {
    run = [options] {
      const Result<int> code = run_scenarios(*options);
      return code ? *code : complain(code.error());
    };
  });
}

}  // namespace tutti
