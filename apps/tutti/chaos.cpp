/// tutti sim chaos: random fleets, jobs and faults; every invariant after every event.
#include "sim/chaos.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "format/json.h"
#include "generated/version.h"
#include "tutti/commands.h"
#include "tutti/seeds.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// With this many seeds, a fault that never fired is a hole in the test, and so is a rare path that
/// was never taken.
constexpr std::size_t seeds_that_see_everything = 200;

struct ChaosRequest {
  std::vector<std::string> seeds;
  std::uint64_t until = UINT64_MAX;
  bool trace = false;
  bool json = false;
};

struct Failure {
  std::uint64_t seed = 0;
  std::uint64_t event = 0;
  std::string violation;
};

/// What became of all seeds together.
struct Totals {
  std::size_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t jobs = 0;
  std::uint64_t placements = 0;
  std::uint64_t evictions = 0;
  std::uint64_t never_fit = 0;
  FaultCounts faults;
  RarePaths rare_paths;
  std::vector<Failure> failures;
  std::vector<std::string> unseen;  ///< "fault node_lost", where it counts.

  void add(std::uint64_t seed, const ChaosResult& result) {
    ++seeds;
    events += result.events;
    jobs += result.jobs;
    placements += result.placements;
    evictions += result.evictions;
    never_fit += result.never_fit;
    faults.add(result.faults);
    rare_paths.add(result.rare_paths);
    if (!result.violation.empty()) failures.push_back({seed, result.events, result.violation});
  }
  std::size_t failed() const { return failures.size() + unseen.size(); }
  std::size_t passed() const { return seeds - failures.size(); }
};

using Names = std::span<const std::string_view>;
using Times = std::span<const std::uint64_t>;

void note_unseen(std::string_view kind, Names names, Times times, Totals& totals) {
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (times[at] == 0) totals.unseen.push_back(fmt::format("{} {}", kind, names[at]));
  }
}

std::string failure_text(const Failure& failure) {
  return fmt::format(
      "FAIL seed {} at event {}: {}\nreplay: tutti sim chaos "
      "--seeds {} --until {} "
      "--trace   (commit {})\n",
      failure.seed, failure.event, failure.violation, failure.seed, failure.event, commit());
}

std::string counts_text(std::string_view title, Names names, Times times) {
  std::string out = fmt::format("{}:\n", title);
  for (std::size_t at = 0; at < names.size(); ++at) {
    out += fmt::format("  {:<24}{:>10}\n", names[at], times[at]);
  }
  return out;
}

std::string to_text(const Totals& totals) {
  std::string out = fmt::format(
      "{}: {} events, {} jobs, {} placements, {} evictions, "
      "{} jobs that could never fit\n",
      counted(totals.seeds, "seed"), totals.events, totals.jobs, totals.placements,
      totals.evictions, totals.never_fit);
  out += counts_text("faults fired", fault_names, totals.faults.all());
  out += counts_text("rare paths taken", rare_path_names, totals.rare_paths.all());
  for (const std::string& each : totals.unseen) {
    out += fmt::format("FAIL {} was never seen\n", each);
  }
  return out + fmt::format("{} passed, {} failed\n", totals.passed(), totals.failed());
}

void write_counts(JsonWriter& json, std::string_view title, Names names, Times times) {
  json.key(title).begin_object();
  for (std::size_t at = 0; at < names.size(); ++at) json.member(names[at], times[at]);
  json.end_object();
}

std::string to_json(const Totals& totals) {
  std::string out;
  JsonWriter json(out, JsonStyle::indented);
  json.begin_object().member("passed", totals.passed()).member("failed", totals.failed());
  json.member("seeds", totals.seeds).member("events", totals.events);
  json.member("jobs", totals.jobs).member("placements", totals.placements);
  json.member("evictions", totals.evictions).member("never_fit", totals.never_fit);
  write_counts(json, "faults", fault_names, totals.faults.all());
  write_counts(json, "rare_paths", rare_path_names, totals.rare_paths.all());
  json.key("failures").begin_list();
  for (const Failure& failure : totals.failures) {
    json.begin_object().member("seed", failure.seed).member("event", failure.event);
    json.member("violation", failure.violation).end_object();
  }
  json.end_list().key("never_seen").begin_list();
  for (const std::string& each : totals.unseen) json.value(each);
  json.end_list().end_object();
  return out + "\n";
}

Result<int> run_chaos(const ChaosRequest& options) {
  Totals totals;
  for (const std::uint64_t seed : TRY(parse_seeds(options.seeds))) {
    const ChaosResult result =
        chaos({.seed = seed, .until = options.until, .trace = options.trace});
    totals.add(seed, result);
    if (result.violation.empty() || options.json) continue;
    TRY(print(failure_text(totals.failures.back())));
  }
  if (totals.seeds >= seeds_that_see_everything) {
    note_unseen("fault", fault_names, totals.faults.all(), totals);
    note_unseen("rare path", rare_path_names, totals.rare_paths.all(), totals);
  }
  TRY(print(options.json ? to_json(totals) : to_text(totals)));
  return totals.failed() == 0 ? 0 : 1;
}

}  // namespace

void declare_chaos(CLI::App& sim, Run& run) {
  auto options = std::make_shared<ChaosRequest>();
  CLI::App* chaos =
      sim.add_subcommand("chaos", "Random faults, and every invariant after each event");
  chaos->add_option("--seeds", options->seeds, "1 or 1..200; may repeat")
      ->default_val(std::vector<std::string>{"1..20"})
      ->type_name("SEEDS");
  chaos->add_option("--until", options->until, "Stop after N events")->type_name("N");
  CLI::Option* trace = chaos->add_flag("--trace", options->trace, "Print every event");
  chaos->add_flag("--json", options->json, "Print the counts as JSON")->excludes(trace);
  chaos->footer(
      "0: all held, 1: something did not. With 200 seeds or more, a fault that "
      "never fired and a\n"
      "rare path of the engine that was never taken count as failures.\n"
      "Example:\n  tutti sim chaos --seeds 1..200");
  chaos->callback([options, &run] {
    run = [options] {
      const Result<int> code = run_chaos(*options);
      return code ? *code : complain(code.error());
    };
  });
}

}  // namespace tutti
