/// tutti sim generate: synthetic fleets and workloads.
#include "sim/generate.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "sim/files.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// The jobs by default keep the fleet by default busy for half a day.
struct GenerateOptions {
  std::uint64_t seed = 42;
  std::uint32_t nodes = 100;
  std::uint32_t rack = 16;
  std::vector<std::string> kinds{"8xA100-80G:5", "8xH100-80G:3", "4xL4:2"};
  std::uint32_t jobs = 4000;
  std::vector<std::string> gpus{"0.25:20", "0.5:20", "1:40", "2:10", "8:10"};
  std::vector<std::string> tasks{"1:95", "2:3", "4:2"};
  std::string every = "exponential:9s";
  std::string length = "lognormal:1h:1";
  std::string output = "-";
};

Result<std::vector<WeightedWord>> weighted(const std::vector<std::string>& texts) {
  std::vector<WeightedWord> out;
  for (const std::string& text : texts) out.push_back(TRY(parse_weighted(text)));
  return out;
}

Result<Distribution> distribution(std::string_view option, const std::string& text) {
  Result<Distribution> read = Distribution::parse(text);
  if (!read) return fail(std::move(read).error().at(option));
  return read;
}

Result<void> deliver(const GenerateOptions& options, const std::string& text) {
  return options.output == "-" ? print(text) : write_file(options.output, text);
}

Result<void> make_fleet(const GenerateOptions& options) {
  FleetPlan plan{.seed = options.seed, .nodes = options.nodes, .kinds = {}, .rack = options.rack};
  plan.kinds = TRY(weighted(options.kinds));
  return deliver(options, TRY(generate_fleet(plan)));
}

Result<void> make_workload(const GenerateOptions& options) {
  WorkloadPlan plan{.seed = options.seed, .jobs = options.jobs};
  plan.gpus = TRY(weighted(options.gpus));
  plan.tasks = TRY(weighted(options.tasks));
  plan.every = TRY(distribution("--every", options.every));
  plan.length = TRY(distribution("--length", options.length));
  return deliver(options, TRY(generate_workload(plan)));
}

void declare_shared(CLI::App& command, GenerateOptions& options) {
  command.add_option("--seed", options.seed, "The same seed gives the same text")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-o,--output", options.output, "Write to FILE; - is stdout")
      ->type_name("FILE")
      ->capture_default_str();
}

void declare_fleet(CLI::App& generate, const std::shared_ptr<GenerateOptions>& options, Run& run) {
  CLI::App* fleet = generate.add_subcommand("fleet", "Nodes");
  fleet->add_option("--nodes", options->nodes, "How many")->type_name("N")->capture_default_str();
  fleet
      ->add_option("--kinds", options->kinds,
                   "What nodes have, with weights; cpu is a node without accelerators")
      ->delimiter(',')
      ->type_name("KIND:WEIGHT")
      ->capture_default_str();
  fleet->add_option("--rack", options->rack, "Nodes of a kind in one rack")
      ->check(CLI::Range(1U, 1'000'000U))
      ->type_name("N")
      ->capture_default_str();
  declare_shared(*fleet, *options);
  fleet->footer("Example:\n  tutti sim generate fleet --nodes 1000 --kinds 8xH100-80G:3,cpu:1");
  on_call(*fleet, run, [options] { return make_fleet(*options); });
}

void declare_workload(CLI::App& generate, const std::shared_ptr<GenerateOptions>& options,
                      Run& run) {
  CLI::App* workload = generate.add_subcommand("workload", "Jobs");
  workload->add_option("--jobs", options->jobs, "How many")->type_name("N")->capture_default_str();
  workload->add_option("--gpus", options->gpus, "Accelerators of a task, with weights")
      ->delimiter(',')
      ->type_name("GPUS:WEIGHT")
      ->capture_default_str();
  workload->add_option("--tasks", options->tasks, "Tasks that start together, with weights")
      ->delimiter(',')
      ->type_name("N:WEIGHT")
      ->capture_default_str();
  workload->add_option("--every", options->every, "Time between arrivals")
      ->type_name("TIMES")
      ->capture_default_str();
  workload->add_option("--length", options->length, "How long a job runs")
      ->type_name("TIMES")
      ->capture_default_str();
  declare_shared(*workload, *options);
  workload->footer(
      "TIMES is 30s, uniform:1m..2h, lognormal:MEDIAN:DOUBLINGS or exponential:MEAN.\n"
      "Example:\n  tutti sim generate workload --jobs 10000 --gpus 0.5:3,1:6,8xH100-80G:1");
  on_call(*workload, run, [options] { return make_workload(*options); });
}

}  // namespace

void declare_generate(CLI::App& sim, Run& run) {
  CLI::App* generate = sim.add_subcommand("generate", "Make up a fleet or a workload");
  generate->require_subcommand(1);
  generate->footer(
      "By default the jobs keep the fleet busy; for other fleets change --jobs and --every alike.\n"
      "Examples:\n"
      "  tutti sim generate fleet -o fleet.yaml && tutti sim generate workload -o jobs.yaml\n"
      "  tutti sim --fleet fleet.yaml --workload jobs.yaml --policy default --policy spread");
  auto options = std::make_shared<GenerateOptions>();
  declare_fleet(*generate, options, run);
  declare_workload(*generate, options, run);
}

}  // namespace tutti
