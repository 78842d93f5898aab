/// tutti config: is a file good, and what does it say?
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/tutti.h"
#include "format/text.h"
#include "format/yaml.h"
#include "policy/policy_file.h"
#include "sim/files.h"
#include "sim/fleet_view.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// "scale 1000 (1 to 1000000000)": what each argument is, and what it may be.
std::string arguments_text(const ScoreEntry& entry, const ScoreRecipe& recipe) {
  std::string out;
  for (const Parameter& parameter : entry.parameters) {
    const auto given = std::ranges::find(recipe.arguments, parameter.name, &Argument::name);
    const std::int64_t value = given == recipe.arguments.end() ? parameter.preset : given->value;
    out += fmt::format("{}{} {} ({} to {})", out.empty() ? "" : ", ", parameter.name, value,
                       parameter.min, parameter.max);
  }
  return out;
}

std::string explain(const PolicyRecipe& recipe) {
  Table table({"score", "weight", "prefers", "arguments"});
  for (const ScoreRecipe& score : recipe.scores) {
    const auto entries = all_scores();
    const auto entry = std::ranges::find(entries, score.name, &ScoreEntry::name);
    if (entry == entries.end()) continue;  // check_recipe has looked already.
    table.add({score.name, std::to_string(score.weight), std::string(entry->summary),
               arguments_text(*entry, score)});
  }
  const std::string& devices =
      recipe.device_score.empty() ? recipe.scores.front().name : recipe.device_score;
  std::string out = table.text();
  out += fmt::format("\ndevices       chosen by {}\n", devices);
  out += recipe.learn_mix
             ? fmt::format("target mix    learned, anew every {} arrivals\n", recipe.learn_every)
             : "target mix    the workload's\n";
  out += recipe.alternatives == AlternativeChoice::in_order
             ? "alternatives  the first that fits\n"
             : "alternatives  the one whose best node rates highest\n";
  return out;
}

struct Options {
  std::string file;
  std::vector<std::string> catalogs;
};

template <class T>
Result<T> located(Result<T> result, const std::string& path) {
  if (result) return result;
  return fail(std::move(result).error().at(path));
}

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string describe(const FleetFile& fleet) {
  const std::int64_t devices = gpu_milli_of(fleet) / DeviceRequest::whole;
  std::string out = "a fleet of " + counted(fleet.nodes.size(), "node") + " with " +
                    counted(static_cast<std::size_t>(devices), device_word(fleet));
  if (!fleet.queues.empty()) out += " and " + counted(fleet.queues.size(), "queue");
  return out;
}

std::string describe(const Workload& workload) {
  std::size_t tasks = 0;
  for (const Submission& job : workload.jobs) tasks += tasks_of(*job.spec);
  return "a workload of " + counted(workload.jobs.size(), "job") + " with " +
         counted(tasks, "task");
}

/// The first known key of any document; empty when there is none.
std::string_view first_key(const std::vector<Value>& documents,
                           std::span<const std::string_view> known) {
  for (const Value& document : documents) {
    if (!document.is(Kind::map)) continue;
    for (const Value::Member& member : document.members()) {
      const auto key = std::ranges::find(known, member.key);
      if (key != known.end()) return *key;
    }
  }
  return {};
}

constexpr std::array<std::string_view, 2> policy_keys{"policy", "scores"};
constexpr std::array<std::string_view, 4> catalog_keys{"catalog", "devices", "vendors",
                                                       "mig_layouts"};
constexpr std::array<std::string_view, 4> fleet_keys{"nodes", "topology", "queues", "pools"};
constexpr std::array<std::string_view, 3> workload_keys{"jobs", "job", "mix"};

Error no_kind(const std::vector<Value>& documents) {
  constexpr std::array<std::string_view, 5> starts{"policy", "nodes", "jobs", "catalog", "scores"};
  Error error{Code::invalid, "this is no policy, fleet, workload or catalog", "1:1",
              "they have a key policy, nodes, jobs or catalog at their top"};
  if (documents.empty()) return error;
  error.where = documents.front().place().text();
  if (!documents.front().is(Kind::map)) return error;
  for (const Value::Member& member : documents.front().members()) {
    const auto near = closest(member.key, starts);
    if (!near) continue;
    error.where = member.place.text();
    error.hint = fmt::format("did you mean {}?", quote(*near));
    break;
  }
  return error;
}

/// What a file of Tutti's own YAML is, once it was found to be good.
Result<std::string> check_own(const Options& options, const std::string& text) {
  const std::string& path = options.file;
  const std::vector<Value> documents = TRY(located(parse_yaml(text), path));
  if (!first_key(documents, policy_keys).empty()) {
    const PolicyRecipe recipe = TRY(located(parse_policy(text), path));
    return fmt::format("policy {}\n\n{}", recipe.name, explain(recipe));
  }
  Catalog catalog = TRY(load_catalog(options.catalogs));
  if (!first_key(documents, catalog_keys).empty()) {
    const std::size_t before = catalog.all().size();
    TRY(catalog.add(text, path));
    return fmt::format("a catalog that adds {}\n",
                       counted(catalog.all().size() - before, "device"));
  }
  std::string out;
  if (!first_key(documents, fleet_keys).empty()) {
    out = describe(TRY(located(parse_fleet(text, "", &catalog), path)));
  }
  if (!first_key(documents, workload_keys).empty()) {
    out += (out.empty() ? "" : ", and ") +
           describe(TRY(located(parse_workload(text, "", &catalog), path)));
  }
  if (out.empty()) return fail(no_kind(documents).at(path));
  return out + "\n";
}

/// The same for the formats of others.
Result<std::string> check_foreign(const Options& options, FileFormat format) {
  Skipped none;
  const Catalog catalog = TRY(load_catalog(options.catalogs));
  switch (format) {
    case FileFormat::openb_pods:
      return describe(TRY(load_workload(options.file, catalog, none))) + "\n";
    case FileFormat::kubernetes: {
      const Snapshot snapshot = TRY(load_snapshot(options.file, catalog, none));
      return "a Kubernetes dump: " + describe(snapshot.fleet) + ", and " +
             describe(snapshot.workload) + "\n";
    }
    default:
      return describe(TRY(load_fleet(options.file, catalog, none))) + "\n";
  }
}

Result<void> check(const Options& options) {
  const std::string text = TRY(read_file(options.file));
  if (options.file.ends_with(".scn")) {
    return fail(
        {Code::invalid, "this is a scenario", options.file, "tutti sim scenario " + options.file});
  }
  const FileFormat format = format_of(text);
  const std::string what = format == FileFormat::tutti ? TRY(check_own(options, text))
                                                       : TRY(check_foreign(options, format));
  return print(fmt::format("{} is good: {}", options.file, what));
}

}  // namespace

void declare_config(CLI::App& app, Run& run) {
  CLI::App* config =
      app.add_subcommand("config", "Check files: policies, fleets, workloads, catalogs");
  config->require_subcommand(1);
  config->footer("Example:\n  tutti config check fleet.yaml");
  auto options = std::make_shared<Options>();
  CLI::App* command = config->add_subcommand("check", "Check a file, and say what it is");
  command->add_option("file", options->file, "A policy, a fleet, a workload, a catalog or a dump")
      ->required()
      ->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  tutti config check policy.yaml            what it does, with all defaults\n"
      "  tutti config check --catalog mine.yaml fleet.yaml");
  declare_own_devices(*command, options->catalogs);
  command->callback([options, &run] {
    run = [options] {
      const Result<void> done = check(*options);
      return done ? 0 : complain(done.error());
    };
  });
}

}  // namespace tutti
