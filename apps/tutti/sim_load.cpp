#include "tutti/sim_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "format/quantity.h"
#include "format/text.h"
#include "tutti/seeds.h"

namespace tutti {
namespace {

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
bool alone(const SimOptions& options) {
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

Result<void> load_workloads(const SimOptions& options, FileFormat format, Skipped& skipped,
                            SimInputs& inputs) {
  std::vector<std::string> paths = options.workloads;
  if (paths.empty() && format == FileFormat::tutti) paths.push_back(options.fleet);
  if (paths.empty()) {
    return fail(Code::invalid, "--workload FILE is missing",
                "it takes Tutti's YAML, an openb pod list, or kubectl get nodes,pods -A -o json");
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
void choose_arrivals(FileFormat format, SimInputs& inputs) {
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

Result<void> load_policies(const SimOptions& options, Comparison& comparison) {
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

std::string pods_text(std::size_t pods) {
  return fmt::format("{} {}", pods, pods == 1 ? "pod" : "pods");
}

std::size_t running_pods(const Snapshot& snapshot) {
  std::size_t pods = snapshot.elsewhere.pods;
  for (const Snapshot::Standing& standing : snapshot.standing) {
    pods += standing.nodes.size() -
            static_cast<std::size_t>(std::ranges::count(standing.nodes, std::string()));
  }
  return pods;
}

/// Which pods were left out, for they run on nodes that the dump lacks.
std::string elsewhere(const Snapshot::Elsewhere& gone) {
  constexpr std::size_t named = 3;
  std::string nodes;
  std::size_t at = 0;
  for (const std::string& node : gone.nodes) {
    if (at++ < named) nodes += (nodes.empty() ? "" : ", ") + node;
  }
  if (gone.nodes.size() > named) nodes += fmt::format(" and {} more", gone.nodes.size() - named);
  return fmt::format("{} {} left out, bound to {} that the dump lacks: {}", pods_text(gone.pods),
                     gone.pods == 1 ? "is" : "are",
                     gone.nodes.size() == 1 ? "a node" : fmt::format("{} nodes", gone.nodes.size()),
                     nodes);
}

/// The cluster as it is, and jobs that come to it.
Result<void> load_cluster(const SimOptions& options, Skipped& skipped, SimInputs& inputs) {
  Snapshot& snapshot = inputs.snapshot;
  Comparison& comparison = inputs.comparison;
  comparison.arrivals = Arrivals::snapshot;
  if (alone(options)) {
    snapshot = TRY(load_snapshot(options.fleet, inputs.catalog, skipped));
    if (options.arrivals.empty()) inputs.why = "the default for a Kubernetes dump";
  } else {
    snapshot = TRY(load_dump(options.fleet, inputs.catalog, skipped));
    TRY(load_workloads(options, FileFormat::kubernetes, skipped, inputs));
    for (const Workload& workload : std::exchange(comparison.workloads, {})) {
      const std::size_t first = add_jobs(snapshot, workload);
      comparison.given = std::min(comparison.given.value_or(first), first);
    }
    inputs.why = "what runs stays, then come the pods that wait, then the jobs of --workload";
  }
  inputs.fleet = snapshot.fleet;
  if (snapshot.elsewhere.pods > 0) inputs.notes.push_back(elsewhere(snapshot.elsewhere));
  const auto gated = static_cast<std::size_t>(
      std::ranges::count_if(snapshot.standing, [](const Snapshot::Standing& standing) {
        return standing.gated && std::ranges::all_of(standing.nodes, &std::string::empty);
      }));
  if (gated > 0) {
    inputs.notes.push_back(fmt::format("{} of the dump {} behind a scheduling gate and not placed",
                                       gated == 1 ? "1 job" : fmt::format("{} jobs", gated),
                                       gated == 1 ? "is" : "are"));
  }
  return {};
}

/// A fleet that runs nothing, and jobs.
Result<void> load_empty(const SimOptions& options, FileFormat format, Skipped& skipped,
                        SimInputs& inputs) {
  if (format != FileFormat::kubernetes) {
    inputs.fleet = TRY(load_fleet(options.fleet, inputs.catalog, skipped));
  } else {
    const Snapshot dump = TRY(load_dump(options.fleet, inputs.catalog, skipped));
    inputs.fleet = dump.fleet;
    if (const std::size_t pods = running_pods(dump); pods > 0 && !alone(options)) {
      inputs.notes.push_back(fmt::format(
          "{} that {} on this cluster {} not counted, the fleet is taken as empty; with "
          "--arrivals snapshot what runs stays",
          pods_text(pods), pods == 1 ? "runs" : "run", pods == 1 ? "is" : "are"));
    }
    for (const std::string& path : options.workloads) {
      if (!dump.standing.empty() || TRY(find_format(path)) != FileFormat::kubernetes) continue;
      inputs.notes.emplace_back(
          "where the pods run is not looked at, for the nodes are in another file; kubectl get "
          "nodes,pods -A -o json > cluster.json has both, then: tutti sim --fleet cluster.json");
      break;
    }
  }
  TRY(load_workloads(options, format, skipped, inputs));
  if (options.arrivals.empty()) choose_arrivals(format, inputs);
  return {};
}

}  // namespace

Result<SimInputs> load_sim(const SimOptions& options, Skipped& skipped) {
  SimInputs inputs;
  Comparison& comparison = inputs.comparison;
  if (!options.arrivals.empty()) TRY(read_arrivals(options.arrivals, comparison));
  const FileFormat format = TRY(find_format(options.fleet));
  inputs.catalog = TRY(load_catalog(options.catalogs));
  const bool snapshot = options.arrivals.empty()
                            ? format == FileFormat::kubernetes && alone(options)
                            : comparison.arrivals == Arrivals::snapshot;
  const bool dump = format == FileFormat::kubernetes || format == FileFormat::kubernetes_yaml;
  if (snapshot && !dump) {
    return fail(Code::invalid, "--arrivals snapshot takes a Kubernetes dump as --fleet",
                "kubectl get nodes,pods -A -o json > cluster.json; or choose --arrivals fill:1.3");
  }
  if (snapshot) {
    TRY(load_cluster(options, skipped, inputs));
  } else {
    TRY(load_empty(options, format, skipped, inputs));
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

}  // namespace tutti
