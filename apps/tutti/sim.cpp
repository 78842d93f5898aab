/// tutti sim: how policies would do on a fleet with a workload.
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "sim/comparison.h"
#include "sim/files.h"
#include "tutti/commands.h"

namespace tutti {
namespace {

struct Options {
  std::string fleet;
  std::vector<std::string> workloads;
  std::vector<std::string> policies;
  std::vector<std::string> seeds;
  std::string arrivals = "fill:1.3";
  std::string json;
  std::size_t skip_bad = 0;
  unsigned threads = 0;
};

int complain(const Error& error) {
  std::fputs(error.text().c_str(), stderr);
  return error.code == Code::io || error.code == Code::conflict ? 1 : 2;
}

/// "42", "42..51".
Result<void> add_seeds(const std::string& text, std::vector<std::uint64_t>& seeds) {
  constexpr std::uint64_t most = 100'000;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  char rest = 0;
  const int range = std::sscanf(text.c_str(), "%lu..%lu%c", &first, &last, &rest);
  if (range != 2) {
    if (std::sscanf(text.c_str(), "%lu%c", &first, &rest) != 1) {
      return fail(Code::invalid, "--seeds " + text + " is no seed", "write 42 or 42..51");
    }
    last = first;
  }
  if (last < first || last - first >= most) {
    return fail(Code::invalid, "--seeds " + text + " is no range of at most 100000 seeds");
  }
  for (std::uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
  return {};
}

Result<std::int64_t> load_permille(const std::string& arrivals) {
  double factor = 0;
  char rest = 0;
  if (std::sscanf(arrivals.c_str(), "fill:%lf%c", &factor, &rest) == 1 && factor > 0 &&
      factor <= 100) {
    return static_cast<std::int64_t>(factor * 1000 + 0.5);
  }
  return fail(Code::invalid, "--arrivals " + arrivals + " is unknown", "write fill:1.3");
}

/// "  37 of 720 runs, about 12 s left", on a terminal only, rewritten in place.
Progress progress_line() {
  if (::isatty(STDERR_FILENO) == 0) return {};
  const auto begin = std::chrono::steady_clock::now();
  return [begin](std::size_t done, std::size_t all) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const double left = took.count() / static_cast<double>(done) * static_cast<double>(all - done);
    std::fputs(fmt::format("\r{} of {} runs, about {:.0f} s left ", done, all, left).c_str(),
               stderr);
    if (done == all) std::fputs("\r\x1b[K", stderr);
  };
}

Result<void> simulate(const Options& options) {
  Skipped skipped{.allowed = options.skip_bad};
  const FleetFile fleet = TRY(load_fleet(options.fleet, skipped));
  Comparison comparison;
  for (const std::string& path : options.workloads) {
    comparison.workloads.push_back(TRY(load_workload(path, skipped)));
  }
  for (const std::string& name : options.policies) {
    comparison.policies.push_back(TRY(load_policy(name)));
  }
  for (const std::string& text : options.seeds) TRY(add_seeds(text, comparison.seeds));
  comparison.load_permille = TRY(load_permille(options.arrivals));
  comparison.threads = options.threads != 0 ? options.threads : std::thread::hardware_concurrency();
  if (skipped.lines > 0) {
    std::fputs(
        fmt::format("skipped {} bad lines; the first: {}", skipped.lines, skipped.first).c_str(),
        stderr);
  }
  const std::vector<RunSummary> runs = TRY(compare(fleet, comparison, progress_line()));
  if (options.json == "-") {
    std::fputs(to_json(runs).c_str(), stdout);
    return {};
  }
  if (!options.json.empty()) TRY(write_file(options.json, to_json(runs)));
  std::fputs(to_table(runs).c_str(), stdout);
  return {};
}

}  // namespace

void declare_sim(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* sim = app.add_subcommand("sim", "Simulate policies on a fleet with a workload");
  sim->add_option("--fleet", options->fleet, "Nodes: an openb node list")->required();
  sim->add_option("--workload", options->workloads, "Jobs: an openb pod list; may repeat")
      ->required();
  sim->add_option("--policy", options->policies, "A built-in policy; may repeat")
      ->default_val(std::vector<std::string>{"default"});
  sim->add_option("--seeds", options->seeds, "42 or 42..51; may repeat")
      ->default_val(std::vector<std::string>{"42"});
  sim->add_option("--arrivals", options->arrivals, "fill:X fills to X times the fleet's GPUs")
      ->capture_default_str();
  sim->add_option("--json", options->json, "Write the figures to FILE, or to - for stdout");
  sim->add_option("--skip-bad", options->skip_bad, "Leave out at most N broken lines");
  sim->add_option("-j", options->threads, "Threads; 0: one per core");
  sim->callback([options, &run] {
    run = [options] {
      const Result<void> done = simulate(*options);
      return done ? 0 : complain(done.error());
    };
  });
}

}  // namespace tutti
