/// tutti sim: how policies would do on a fleet with a workload.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "format/quantity.h"
#include "format/text.h"
#include "generated/version.h"
#include "sim/comparison.h"
#include "sim/files.h"
#include "sim/fleet_view.h"
#include "sim/report_runs.h"
#include "tutti/commands.h"
#include "tutti/seeds.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

struct Options {
  std::string fleet;
  std::vector<std::string> workloads;
  std::vector<std::string> policies;
  std::vector<std::string> catalogs;
  std::vector<std::string> seeds;
  std::string arrivals;
  std::string until;
  std::string json;
  std::string report;
  std::size_t skip_bad = 0;
  unsigned threads = 0;
};

/// Everything that was read, ready to run.
struct Inputs {
  Catalog catalog;
  FleetFile fleet;
  Snapshot snapshot;  ///< Its fleet stands in `fleet`.
  Comparison comparison;
  std::string why;  ///< Why these arrivals, where they were not asked for.
};

constexpr std::int64_t load_max = 100'000;  // Per mille of the fleet's accelerators.

Result<void> read_arrivals(const std::string& text, Comparison& comparison) {
  constexpr std::string_view fill = "fill:";
  if (text == "trace") {
    comparison.arrivals = Arrivals::trace;
    return {};
  }
  if (text == "snapshot") {
    comparison.arrivals = Arrivals::snapshot;
    return {};
  }
  if (text.starts_with(fill)) {
    const auto load = parse_fixed(std::string_view(text).substr(fill.size()), 3);
    if (!load || *load <= 0 || *load > load_max) {
      return fail(Code::invalid, "--arrivals " + quote(text) + ": 0.001 to 100 are possible",
                  "fill:1.3 is work for 1.3 times the fleet's accelerators");
    }
    comparison.arrivals = Arrivals::fill;
    comparison.load_permille = *load;
    return {};
  }
  return fail(
      Code::invalid, "--arrivals " + quote(text) + " is unknown",
      "known: fill:X with X times the fleet's accelerators, such as fill:1.3; trace; snapshot");
}

/// A dump that is given as the fleet, and as the workload or without one, is placed anew.
bool alone(const Options& options) {
  return std::ranges::all_of(options.workloads,
                             [&](const std::string& path) { return path == options.fleet; });
}

/// Files and names, each once. A report tells them apart by the stems of the files, so two
/// that would be called alike are an error.
Result<std::vector<std::string>> distinct(const std::vector<std::string>& words,
                                          std::string_view option) {
  const auto name = [](const std::string& word) { return std::filesystem::path(word).stem(); };
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const auto same = [&](const std::string& other) {
      return word == other || same_file(word, other);
    };
    if (std::ranges::any_of(out, same)) continue;
    for (const std::string& other : out) {
      if (name(word) != name(other)) continue;
      return fail(Code::conflict,
                  fmt::format("{} {} and {} would both be called {}", option, quote(other),
                              quote(word), quote(name(word).string())),
                  "rename one of the files");
    }
    out.push_back(word);
  }
  return out;
}

Result<void> load_workloads(const Options& options, FileFormat format, Skipped& skipped,
                            Inputs& inputs) {
  std::vector<std::string> paths = options.workloads;
  if (paths.empty() && format == FileFormat::tutti) paths.push_back(options.fleet);
  if (paths.empty()) {
    return fail(Code::invalid, "--workload FILE is missing",
                "it takes Tutti's YAML or an openb pod list; tutti sim --help has examples");
  }
  for (const std::string& path : TRY(distinct(paths, "--workload"))) {
    Result<Workload> workload = load_workload(path, inputs.catalog, skipped);
    if (!workload && options.workloads.empty()) {
      workload.error().hint = "or give the jobs in a file of their own: --workload FILE";
    }
    inputs.comparison.workloads.push_back(TRY(std::move(workload)));
  }
  return {};
}

/// What jobs do where it was not said.
void choose_arrivals(FileFormat format, Inputs& inputs) {
  Comparison& comparison = inputs.comparison;
  const bool timed = std::ranges::all_of(comparison.workloads, has_lengths);
  if (format == FileFormat::openb_nodes || !timed) {
    comparison.arrivals = Arrivals::fill;
    inputs.why = timed ? "the default for openb fleets" : "jobs have no lengths";
    return;
  }
  comparison.arrivals = Arrivals::trace;
  inputs.why = "jobs have lengths; --arrivals fill:1.3 asks how full the fleet can get";
}

Result<void> load_policies(const Options& options, Comparison& comparison) {
  const bool snapshot = comparison.arrivals == Arrivals::snapshot;
  if (snapshot) comparison.policies.push_back({.name = std::string(present_policy), .scores = {}});
  for (const std::string& name : TRY(distinct(options.policies, "--policy"))) {
    if (name == present_policy) {
      if (snapshot) continue;
      return fail(Code::invalid, "the policy present keeps what a Kubernetes dump records",
                  "it needs --arrivals snapshot");
    }
    comparison.policies.push_back(TRY(load_policy(name)));
  }
  return {};
}

Result<Inputs> load(const Options& options, Skipped& skipped) {
  if (options.fleet.empty()) {
    return fail(Code::invalid, "--fleet FILE is missing",
                "it takes Tutti's YAML, an openb node list, or kubectl get nodes,pods -A -o json");
  }
  Inputs inputs;
  Comparison& comparison = inputs.comparison;
  if (!options.arrivals.empty()) TRY(read_arrivals(options.arrivals, comparison));
  const FileFormat format = TRY(find_format(options.fleet));
  inputs.catalog = TRY(load_catalog(options.catalogs));
  const bool snapshot = options.arrivals.empty()
                            ? format == FileFormat::kubernetes && alone(options)
                            : comparison.arrivals == Arrivals::snapshot;
  if (snapshot) {
    if (!alone(options)) {
      return fail(Code::invalid, "--arrivals snapshot places the pods of --fleet anew",
                  "leave out --workload, or choose --arrivals fill:1.3");
    }
    inputs.snapshot = TRY(load_snapshot(options.fleet, inputs.catalog, skipped));
    inputs.fleet = inputs.snapshot.fleet;
    if (options.arrivals.empty()) inputs.why = "the default for a Kubernetes dump";
    comparison.arrivals = Arrivals::snapshot;
  } else {
    inputs.fleet = TRY(load_fleet(options.fleet, inputs.catalog, skipped));
    TRY(load_workloads(options, format, skipped, inputs));
    if (options.arrivals.empty()) choose_arrivals(format, inputs);
  }
  TRY(load_policies(options, comparison));
  comparison.seeds = TRY(parse_seeds(options.seeds));
  if (options.until.empty()) return inputs;
  if (comparison.arrivals != Arrivals::trace) {
    return fail(Code::invalid, "--until ends a replayed trace", "add --arrivals trace");
  }
  Result<Duration> until = parse_duration(options.until);
  if (!until) return fail(std::move(until).error().at("--until"));
  comparison.until = *until;
  return inputs;
}

std::string arrivals_text(const Comparison& comparison) {
  if (comparison.arrivals == Arrivals::trace) return "trace";
  if (comparison.arrivals == Arrivals::snapshot) return "snapshot";
  return fmt::format("fill:{:g}", static_cast<double>(comparison.load_permille) / 1000);
}

/// Which pods were left out, for they run on nodes that the dump lacks.
std::string elsewhere(const Snapshot::Elsewhere& gone) {
  if (gone.pods == 0) return {};
  constexpr std::size_t named = 3;
  std::string nodes;
  std::size_t at = 0;
  for (const std::string& node : gone.nodes) {
    if (at++ < named) nodes += (nodes.empty() ? "" : ", ") + node;
  }
  if (gone.nodes.size() > named) nodes += fmt::format(" and {} more", gone.nodes.size() - named);
  return fmt::format("note: {} left out, bound to {} that the dump lacks: {}\n",
                     gone.pods == 1 ? "1 pod is" : fmt::format("{} pods are", gone.pods),
                     gone.nodes.size() == 1 ? "a node" : fmt::format("{} nodes", gone.nodes.size()),
                     nodes);
}

/// The facts under the table: what was simulated, and what to know of it.
std::string notes(const Inputs& inputs, const Skipped& skipped) {
  const Comparison& comparison = inputs.comparison;
  const std::int64_t gpu_milli = gpu_milli_of(inputs.fleet);
  const std::string_view device = device_word(inputs.fleet);
  std::string out = fmt::format("fleet {}: {} nodes, {} {}s; arrivals {}", inputs.fleet.name,
                                inputs.fleet.nodes.size(), gpu_milli / DeviceRequest::whole, device,
                                arrivals_text(comparison));
  if (!inputs.why.empty()) out += " (" + inputs.why + ")";
  out += "\n";
  if (comparison.arrivals == Arrivals::trace) {
    for (const Workload& workload : comparison.workloads) {
      const std::int64_t peak = peak_demand_milli(workload);
      if (peak * 5 >= gpu_milli) continue;
      out += fmt::format(
          "note: {} never asks for more than {:.1f} % of the fleet's {}s, so policies hardly "
          "differ; --arrivals fill:1.3 fills it\n",
          workload.name, 100 * static_cast<double>(peak) / static_cast<double>(gpu_milli), device);
    }
  }
  out += elsewhere(inputs.snapshot.elsewhere);
  if (skipped.lines > 0) {
    out += fmt::format("note: {} bad {} skipped\n", skipped.lines,
                       skipped.lines == 1 ? "entry was" : "entries were");
  }
  return out;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=+@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The command that makes the same report again.
std::string command_of(const Options& options, const Comparison& comparison) {
  std::string out = "tutti sim --fleet " + shell_word(options.fleet);
  for (const std::string& path : options.workloads) out += " --workload " + shell_word(path);
  for (const std::string& name : options.policies) out += " --policy " + shell_word(name);
  for (const std::string& seeds : options.seeds) out += " --seeds " + shell_word(seeds);
  out += " --arrivals " + arrivals_text(comparison);
  if (!options.until.empty()) out += " --until " + shell_word(options.until);
  for (const std::string& path : options.catalogs) out += " --catalog " + shell_word(path);
  if (options.skip_bad > 0) out += fmt::format(" --skip-bad {}", options.skip_bad);
  return out + " --report " + shell_word(options.report);
}

/// What is written must be neither what is read nor what was just written.
Result<void> check_outputs(const Options& options) {
  std::vector<std::string> taken{options.fleet};
  taken.insert(taken.end(), options.workloads.begin(), options.workloads.end());
  taken.insert(taken.end(), options.policies.begin(), options.policies.end());
  taken.insert(taken.end(), options.catalogs.begin(), options.catalogs.end());
  const std::string json = options.json == "-" ? "" : options.json;
  for (const auto& [option, path] : {std::pair("--report", options.report), {"--json", json}}) {
    if (path.empty()) continue;
    for (const std::string& other : taken) {
      if (!same_file(path, other)) continue;
      return fail(Code::invalid,
                  fmt::format("{} {} would overwrite {}", option, quote(path), quote(other)),
                  "name another file");
    }
    taken.push_back(path);
  }
  return {};
}

Result<std::vector<NeverStarts>> never_starting(const Inputs& inputs) {
  std::vector<NeverStarts> out;
  if (inputs.comparison.arrivals == Arrivals::snapshot) {
    out.push_back(TRY(never_start(inputs.snapshot.fleet, inputs.snapshot.workload)));
  }
  for (const Workload& workload : inputs.comparison.workloads) {
    out.push_back(TRY(never_start(inputs.fleet, workload)));
  }
  return out;
}

Result<void> simulate(const Options& options) {
  TRY(check_outputs(options));
  std::string_view page;
  if (!options.report.empty()) {
    page = TRY(report_page());
    TRY(check_writable(options.report));
  }
  const bool to_stdout = options.json == "-";
  if (!options.json.empty() && !to_stdout) TRY(check_writable(options.json));
  Skipped skipped{.allowed = options.skip_bad};
  Inputs inputs = TRY(load(options, skipped));
  tell_skipped(skipped);
  Comparison& comparison = inputs.comparison;
  comparison.snapshot = &inputs.snapshot;
  comparison.maps = !options.report.empty();
  comparison.threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  const std::vector<RunSummary> runs = TRY(compare(inputs.fleet, comparison, progress_line()));
  const std::vector<NeverStarts> never = TRY(never_starting(inputs));
  const std::string known = notes(inputs, skipped);
  if (!options.report.empty()) {
    Report report = report_of(inputs.fleet, runs);
    report.version = fmt::format("{} ({})", version(), commit());
    report.command = command_of(options, comparison);
    TRY(write_file(options.report, to_html(report, page)));
  }
  if (to_stdout) return print(to_json(runs, never));
  if (!options.json.empty()) TRY(write_file(options.json, to_json(runs, never)));
  const std::string_view device = device_word(inputs.fleet);
  const auto devices =
      static_cast<std::uint64_t>(gpu_milli_of(inputs.fleet) / DeviceRequest::whole);
  std::string text =
      headline(runs, devices, device) + "\n\n" + to_table(runs, device) + "\n" + known;
  for (const NeverStarts& each : never) text += to_text(each);
  if (!options.report.empty()) text += "report: " + options.report + "\n";
  return print(text);
}

void declare_options(CLI::App& sim, Options& options) {
  sim.add_option("--fleet", options.fleet,
                 "Nodes: Tutti's YAML, an openb node list, or a Kubernetes dump")
      ->type_name("FILE")
      ->take_last();
  sim.add_option("--workload", options.workloads,
                 "Jobs: Tutti's YAML, an openb pod list, or a Kubernetes dump; may repeat")
      ->type_name("FILE");
  sim.add_option("--policy", options.policies, "A built-in policy or a policy file; may repeat")
      ->type_name("NAME|FILE")
      ->default_val(std::vector<std::string>{"default"});
  declare_own_devices(sim, options.catalogs);
  sim.add_option("--seeds", options.seeds, "42 or 42..51; may repeat")
      ->type_name("SEEDS")
      ->default_val(std::vector<std::string>{"42"});
  sim.add_option("--arrivals", options.arrivals,
                 "fill:X, trace or snapshot, as explained below; else what suits the files")
      ->type_name("KIND")
      ->take_last();
  sim.add_option("--until", options.until, "End a trace this long after its first job (12h)")
      ->type_name("TIME")
      ->take_last();
  sim.add_option("--report", options.report, "Write a page with charts and a fleet map to FILE")
      ->type_name("FILE")
      ->take_last();
  sim.add_option("--json", options.json, "Write the figures to FILE, or to - for stdout")
      ->type_name("FILE")
      ->take_last();
  sim.add_option("--skip-bad", options.skip_bad, "Leave out at most N broken lines or objects")
      ->type_name("N")
      ->take_last();
  sim.add_option("-j,--threads", options.threads, "Threads; 0: one per core")
      ->type_name("N")
      ->take_last();
}

}  // namespace

void declare_sim(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* sim = app.add_subcommand("sim", "Simulate policies on a fleet with a workload");
  declare_options(*sim, *options);
  sim->footer(
      "Arrivals:\n"
      "  fill:X    jobs of X times the fleet's accelerators arrive and stay: how full can it get?\n"
      "  trace     jobs arrive and end as the workload says: how long do they wait?\n"
      "  snapshot  what a Kubernetes dump runs and what waits there is placed anew\n"
      "\n"
      "Examples:\n"
      "  tutti sim --fleet fleet.yaml --workload jobs.yaml --policy default --policy bestfit\n"
      "  tutti sim --fleet fleet.yaml --workload jobs.yaml --arrivals fill:1.3 --seeds 1..10 \\\n"
      "    --report report.html\n"
      "  kubectl get nodes,pods -A -o json > cluster.json; tutti sim --fleet cluster.json\n");
  declare_generate(*sim, run);
  declare_chaos(*sim, run);
  declare_scenario(*sim, run);
  sim->callback([sim, options, &run] {
    if (!sim->get_subcommands().empty()) return;
    run = [options] {
      const Result<void> done = simulate(*options);
      return done ? 0 : complain(done.error());
    };
  });
}

}  // namespace tutti
