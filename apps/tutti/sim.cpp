/// tutti sim: how policies would do on a fleet with a workload.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dialect/mentions.h"
#include "format/text.h"
#include "generated/version.h"
#include "sim/comparison_text.h"
#include "sim/fleet_view.h"
#include "sim/report_runs.h"
#include "tutti/commands.h"
#include "tutti/sim_load.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

std::string arrivals_text(const Comparison& comparison) {
  if (comparison.arrivals == Arrivals::trace) return "trace";
  if (comparison.arrivals == Arrivals::snapshot) return "snapshot";
  return fmt::format("fill:{:g}", static_cast<double>(comparison.load_permille) / 1000);
}

/// What was simulated.
std::string subject(const SimInputs& inputs, const Devices& devices) {
  const std::size_t nodes = inputs.fleet.nodes.size();
  std::string out =
      fmt::format("fleet {}: {} {}, {}; arrivals {}", inputs.fleet.name, nodes,
                  nodes == 1 ? "node" : "nodes", devices.text(), arrivals_text(inputs.comparison));
  if (!inputs.why.empty()) out += " (" + inputs.why + ")";
  return out + "\n";
}

/// Nodes that take no work count with the fleet all the same, and so do cards and their slices.
void note_devices(const FleetFile& fleet, std::string_view word, std::vector<std::string>& notes) {
  std::size_t closed = 0;
  std::size_t closed_devices = 0;
  std::size_t slices = 0;
  std::size_t cut = 0;
  for (const NodeSpec& node : fleet.nodes) {
    closed += node.cordoned ? 1 : 0;
    closed_devices += node.cordoned ? node.devices.size() : 0;
    std::set<std::uint8_t> cards;
    for (const DeviceSpec& device : node.devices) {
      if (device.device.parent == Device::no_parent) continue;
      ++slices;
      cards.insert(device.device.parent);
    }
    cut += cards.size();
  }
  if (closed_devices > 0) {
    notes.push_back(fmt::format("{} no work; {} {} {}{} with the fleet all the same",
                                closed == 1 ? "1 node takes" : fmt::format("{} nodes take", closed),
                                closed == 1 ? "its" : "their", closed_devices, word,
                                closed_devices == 1 ? " counts" : "s count"));
  }
  if (slices > 0) {
    notes.push_back(fmt::format(
        "{} of the {}s {} of {}", slices, word, slices == 1 ? "is a slice" : "are slices",
        cut == 1 ? "one card, which counts as another"
                 : fmt::format("{} cards, which count as {} more", cut, cut)));
  }
}

/// What to know of the figures.
std::vector<std::string> notes_of(const SimInputs& inputs, const Skipped& skipped,
                                  const std::vector<RunSummary>& runs,
                                  const std::vector<NeverStarts>& never) {
  const Comparison& comparison = inputs.comparison;
  const std::int64_t gpu_milli = gpu_milli_of(inputs.fleet);
  const std::string_view device = device_word(inputs.fleet);
  std::vector<std::string> notes = inputs.notes;
  note_devices(inputs.fleet, device, notes);
  for (std::size_t at = 0; at < comparison.workloads.size(); ++at) {
    const Workload& workload = comparison.workloads[at];
    const std::int64_t peak = peak_demand_milli(workload);
    const bool all_started =
        std::ranges::all_of(runs, [](const RunSummary& run) { return run.not_started == 0; });
    if (comparison.arrivals != Arrivals::trace || peak * 5 >= gpu_milli || !all_started) continue;
    if (never[at].jobs > 0) continue;
    notes.push_back(fmt::format(
        "{} never asks for more than {:.1f} % of the fleet's {}s, so policies hardly differ; "
        "--arrivals fill:1.3 fills it",
        workload.name, 100 * static_cast<double>(peak) / static_cast<double>(gpu_milli), device));
  }
  if (skipped.lines > 0) {
    notes.push_back(fmt::format("{} bad {} skipped", skipped.lines,
                                skipped.lines == 1 ? "entry was" : "entries were"));
  }
  return notes;
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
std::string command_of(const SimOptions& options, const Comparison& comparison) {
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
Result<void> check_outputs(const SimOptions& options) {
  std::vector<std::string> taken{options.fleet};
  taken.insert(taken.end(), options.workloads.begin(), options.workloads.end());
  taken.insert(taken.end(), options.policies.begin(), options.policies.end());
  taken.insert(taken.end(), options.catalogs.begin(), options.catalogs.end());
  if (options.report == "-") {
    return fail(Code::invalid, "--report -: the page is a file of its own",
                "name a file, or give --json - for the figures on standard output");
  }
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

Result<std::vector<NeverStarts>> never_starting(const SimInputs& inputs) {
  std::vector<NeverStarts> out;
  if (inputs.comparison.arrivals == Arrivals::snapshot) {
    out.push_back(TRY(never_start(inputs.snapshot.fleet, inputs.snapshot.workload)));
  }
  for (const Workload& workload : inputs.comparison.workloads) {
    out.push_back(TRY(never_start(inputs.fleet, workload)));
  }
  return out;
}

/// The only fleet that was given.
Result<std::string> fleet_of(const std::vector<std::string>& fleets) {
  if (fleets.size() == 1) return fleets.front();
  if (fleets.empty()) {
    return fail(Code::invalid, "--fleet FILE is missing",
                "it takes Tutti's YAML, an openb node list, or kubectl get nodes,pods -A -o json");
  }
  return fail(Code::invalid,
              fmt::format("--fleet stands twice: {} and {}", quote(fleets[0]), quote(fleets[1])),
              "a simulation has one fleet: run it for each, or put their nodes into one file");
}

/// What is odd about the files; an error where they do not belong together.
Result<std::vector<Error>> odd_words_of(const SimInputs& inputs) {
  std::vector<Error> out = odd_words(inputs.fleet, inputs.catalog);
  for (const Workload& workload : inputs.comparison.workloads) {
    TRY(check_names(inputs.fleet, workload));
    std::ranges::move(odd_words(workload, &inputs.fleet, inputs.catalog), std::back_inserter(out));
  }
  return out;
}

Result<void> simulate(SimOptions options) {
  options.fleet = TRY(fleet_of(options.fleets));
  TRY(check_outputs(options));
  std::string_view page;
  if (!options.report.empty()) {
    page = TRY(report_page());
    TRY(check_writable(options.report));
  }
  const bool to_stdout = options.json == "-";
  if (!options.json.empty() && !to_stdout) TRY(check_writable(options.json));
  Skipped skipped{.allowed = options.skip_bad};
  SimInputs inputs = TRY(load_sim(options, skipped));
  tell_skipped(skipped);
  tell_odd(TRY(odd_words_of(inputs)));
  Comparison& comparison = inputs.comparison;
  comparison.snapshot = &inputs.snapshot;
  comparison.maps = !options.report.empty();
  comparison.threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  const std::vector<RunSummary> runs = TRY(compare(inputs.fleet, comparison, progress_line()));
  Findings findings{.never = TRY(never_starting(inputs)), .waiting = {}, .notes = {}};
  findings.waiting = TRY(explain_waiting(comparison, runs, findings.never));
  findings.notes = notes_of(inputs, skipped, runs, findings.never);
  if (!options.report.empty()) {
    Report report = report_of(inputs.fleet, runs, findings);
    report.version = fmt::format("{} ({})", version(), commit());
    report.command = command_of(options, comparison);
    TRY(write_file(options.report, to_html(report, page)));
  }
  if (to_stdout) return print(to_json(runs, findings));
  if (!options.json.empty()) TRY(write_file(options.json, to_json(runs, findings)));
  const Devices devices = devices_of(inputs.fleet);
  std::string text = headline(runs, devices, findings.never) + "\n\n" +
                     to_table(runs, devices.word) + "\n" + subject(inputs, devices);
  for (const std::string& note : findings.notes) text += "note: " + note + "\n";
  for (const Waiting& each : findings.waiting) text += to_text(each);
  for (const NeverStarts& each : findings.never) text += to_text(each);
  if (!options.report.empty()) text += "report: " + options.report + "\n";
  if (!options.json.empty()) text += "json: " + options.json + "\n";
  return print(text);
}

void declare_options(CLI::App& sim, SimOptions& options) {
  sim.add_option("--fleet", options.fleets,
                 "Nodes: Tutti's YAML, an openb node list, or a Kubernetes dump; - is stdin")
      ->type_name("FILE")
      ->allow_extra_args(false);
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
  sim.add_option("--until", options.until, "End a trace this long after its first job, such as 12h")
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
  auto options = std::make_shared<SimOptions>();
  CLI::App* sim = app.add_subcommand("sim", "Simulate policies on a fleet with a workload");
  declare_options(*sim, *options);
  sim->footer(
      "Arrivals:\n"
      "  fill:X    jobs of X times the fleet's accelerators arrive and stay: how full can it get?\n"
      "  trace     jobs arrive and end as the workload says: how long do they wait?\n"
      "  snapshot  what a Kubernetes dump runs and what waits there is placed anew;\n"
      "            with --workload what runs stays, and its jobs come last: do they start now?\n"
      "docs/sim.md explains them, and every figure.\n"
      "\n"
      "Examples:\n"
      "  tutti sim --fleet fleet.yaml --workload jobs.yaml --policy default --policy bestfit\n"
      "  tutti sim --fleet fleet.yaml --workload jobs.yaml --arrivals fill:1.3 --seeds 1..10 \\\n"
      "    --report report.html\n"
      "  kubectl get nodes,pods -A -o json | tutti sim --fleet -\n"
      "  tutti sim --fleet cluster.json --workload jobs.yaml --arrivals snapshot\n");
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
