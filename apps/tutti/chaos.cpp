/// tutti sim chaos: random fleets, jobs and faults; every invariant after every event.
#include "sim/chaos.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "generated/version.h"
#include "tutti/commands.h"
#include "tutti/seeds.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct Options {
  std::vector<std::string> seeds;
  std::uint64_t until = UINT64_MAX;
  bool trace = false;
};

struct Totals {
  std::uint64_t events = 0;
  std::uint64_t jobs = 0;
  std::uint64_t placements = 0;
  std::uint64_t evictions = 0;
  std::uint64_t never_fit = 0;
  std::uint64_t failures = 0;
  std::array<std::uint64_t, fault_names.size()> fired{};

  void add(const ChaosResult& result) {
    events += result.events;
    jobs += result.jobs;
    placements += result.placements;
    evictions += result.evictions;
    never_fit += result.never_fit;
    for (std::size_t at = 0; at < fired.size(); ++at) fired[at] += result.fired[at];
  }
};

std::string failure_text(std::uint64_t seed, const ChaosResult& result) {
  return fmt::format(
      "FAIL seed {} at event {}: {}\nreplay: tutti sim chaos --seeds {} --until {} "
      "--trace   (commit {})\n",
      seed, result.events, result.violation, seed, result.events, commit());
}

std::string totals_text(std::size_t seeds, const Totals& totals) {
  std::string out = fmt::format(
      "{} seeds: {} events, {} jobs, {} placements, {} evictions, {} jobs that could never fit\n",
      seeds, totals.events, totals.jobs, totals.placements, totals.evictions, totals.never_fit);
  out += "faults fired:";
  for (std::size_t at = 0; at < fault_names.size(); ++at) {
    out += fmt::format(" {} {}", fault_names[at], totals.fired[at]);
  }
  return out + "\n";
}

/// With this many seeds, a fault that never fired is a hole in the test.
constexpr std::size_t seeds_that_see_everything = 200;

Result<int> run_chaos(const Options& options) {
  const std::vector<std::uint64_t> seeds = TRY(parse_seeds(options.seeds));
  Totals totals;
  for (const std::uint64_t seed : seeds) {
    const ChaosResult result =
        chaos({.seed = seed, .until = options.until, .trace = options.trace});
    totals.add(result);
    if (result.violation.empty()) continue;
    ++totals.failures;
    TRY(print(failure_text(seed, result)));
  }
  TRY(print(totals_text(seeds.size(), totals)));
  for (std::size_t at = 0; at < totals.fired.size(); ++at) {
    if (seeds.size() < seeds_that_see_everything || totals.fired[at] > 0) continue;
    ++totals.failures;
    TRY(print(fmt::format("FAIL fault {} never fired\n", fault_names[at])));
  }
  const std::size_t passed = seeds.size() - std::min<std::size_t>(totals.failures, seeds.size());
  TRY(print(fmt::format("{} passed, {} failed\n", passed, totals.failures)));
  return totals.failures == 0 ? 0 : 1;
}

}  // namespace

void declare_chaos(CLI::App& sim, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* chaos =
      sim.add_subcommand("chaos", "Random faults, and every invariant after each event");
  chaos->add_option("--seeds", options->seeds, "1 or 1..200; may repeat")
      ->default_val(std::vector<std::string>{"1..20"})
      ->type_name("SEEDS");
  chaos->add_option("--until", options->until, "Stop after N events")->type_name("N");
  chaos->add_flag("--trace", options->trace, "Print every event");
  chaos->footer("Example:\n  tutti sim chaos --seeds 1..200");
  chaos->callback([options, &run] {
    run = [options] {
      const Result<int> code = run_chaos(*options);
      return code ? *code : complain(code.error());
    };
  });
}

}  // namespace tutti
