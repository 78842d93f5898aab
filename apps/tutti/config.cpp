/// tutti config: is a file good, and what does it say?
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/mentions.h"
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

struct ConfigOptions {
  std::vector<std::string> files;
  std::string fleet;
  std::vector<std::string> catalogs;
};

/// A file that is good by itself.
struct Checked {
  std::string path;
  std::string what;
  std::optional<FleetFile> fleet;
  std::optional<Workload> workload;
};

template <class T>
Result<T> located(Result<T> result, const std::string& path) {
  if (result) return result;
  return fail(std::move(result).error().at(path));
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

/// A catalog joins what is known from then on.
Result<std::string> add_catalog(const std::vector<Value>& documents, const std::string& text,
                                const std::string& path, Catalog& catalog) {
  std::size_t devices = 0;
  for (const Value& document : documents) {
    const Value* const list = document.find("devices");
    if (list != nullptr && list->is(Kind::list)) devices += list->items().size();
  }
  const std::size_t before = catalog.all().size();
  TRY(catalog.add(text, path));
  const std::size_t added = catalog.all().size() - before;
  std::string out = "a catalog that adds " + counted(added, "device");
  if (devices > added) out += fmt::format(" and replaces {}", devices - added);
  return out;
}

/// What a file of Tutti's own YAML is, once it was found to be good.
Result<void> check_own(const std::string& text, Catalog& catalog, Checked& out) {
  const std::vector<Value> documents = TRY(located(parse_yaml(text), out.path));
  if (!first_key(documents, policy_keys).empty()) {
    const PolicyRecipe recipe = TRY(located(parse_policy(text), out.path));
    out.what = fmt::format("policy {}\n\n{}", recipe.name, explain(recipe));
    out.what.pop_back();
    return {};
  }
  if (!first_key(documents, catalog_keys).empty()) {
    out.what = TRY(add_catalog(documents, text, out.path, catalog));
    return {};
  }
  Skipped none;
  if (!first_key(documents, fleet_keys).empty()) {
    out.fleet = TRY(load_fleet(out.path, catalog, none));
    out.what = describe(*out.fleet);
  }
  if (!first_key(documents, workload_keys).empty()) {
    out.workload = TRY(load_workload(out.path, catalog, none));
    out.what += (out.what.empty() ? "" : ", and ") + describe(*out.workload);
  }
  if (out.what.empty()) return fail(no_kind(documents).at(out.path));
  return {};
}

/// The same for the formats of others.
Result<void> check_foreign(FileFormat format, const Catalog& catalog, Checked& out) {
  Skipped none;
  switch (format) {
    case FileFormat::openb_pods:
      out.workload = TRY(load_workload(out.path, catalog, none));
      out.what = describe(*out.workload);
      return {};
    case FileFormat::kubernetes: {
      Snapshot snapshot = TRY(load_snapshot(out.path, catalog, none));
      out.what =
          "a Kubernetes dump: " + describe(snapshot.fleet) + ", and " + describe(snapshot.workload);
      out.fleet = std::move(snapshot.fleet);
      out.workload = std::move(snapshot.workload);
      return {};
    }
    default:
      out.fleet = TRY(load_fleet(out.path, catalog, none));
      out.what = describe(*out.fleet);
      return {};
  }
}

Result<Checked> check_alone(const std::string& path, Catalog& catalog) {
  Checked out{.path = path, .what = {}, .fleet = {}, .workload = {}};
  const std::string text = TRY(read_file(path));
  if (path.ends_with(".scn")) {
    return fail({Code::invalid, "this is a scenario", path, "tutti sim scenario " + path});
  }
  const FileFormat format = format_of(text);
  TRY(format == FileFormat::tutti ? check_own(text, catalog, out)
                                  : check_foreign(format, catalog, out));
  return out;
}

/// The only fleet among the files; null where there are none or several.
const FleetFile* only_fleet(const std::vector<Checked>& files) {
  const FleetFile* out = nullptr;
  for (const Checked& file : files) {
    if (!file.fleet) continue;
    if (out != nullptr) return nullptr;
    out = &*file.fleet;
  }
  return out;
}

/// Says what a file is, once it was found to be good for its own fleet, or else for this one.
Result<void> tell(const Checked& file, const FleetFile* fleet, const Catalog& catalog) {
  std::vector<Error> odd;
  if (file.fleet) {
    fleet = &*file.fleet;
    odd = odd_words(*fleet, catalog);
  }
  if (file.workload) {
    if (fleet != nullptr) TRY(check_names(*fleet, *file.workload));
    std::ranges::move(odd_words(*file.workload, fleet, catalog), std::back_inserter(odd));
  }
  TRY(print(fmt::format("{} is good: {}\n", file.path, file.what)));
  tell_odd(odd);
  return {};
}

/// Looks at each file, also behind one that is bad; the exit code.
int check(const ConfigOptions& options) {
  Result<Catalog> catalog = load_catalog(options.catalogs);
  if (!catalog) return complain(catalog.error());
  int code = 0;
  std::vector<Checked> files;
  for (const std::string& path : options.files) {
    Result<Checked> file = check_alone(path, *catalog);
    if (file) {
      files.push_back(*std::move(file));
    } else {
      code = complain(file.error());
    }
  }
  FleetFile given;
  const FleetFile* fleet = only_fleet(files);
  if (!options.fleet.empty()) {
    Skipped none;
    Result<FleetFile> read = load_fleet(options.fleet, *catalog, none);
    if (!read) return complain(read.error());
    given = *std::move(read);
    fleet = &given;
  }
  for (const Checked& file : files) {
    if (const Result<void> told = tell(file, fleet, *catalog); !told) code = complain(told.error());
  }
  return code;
}

}  // namespace

void declare_config(CLI::App& app, Run& run) {
  CLI::App* config =
      app.add_subcommand("config", "Check files: policies, fleets, workloads, catalogs");
  config->require_subcommand(1);
  config->footer("Example:\n  tutti config check fleet.yaml");
  auto options = std::make_shared<ConfigOptions>();
  CLI::App* command = config->add_subcommand("check", "Check files, and say what they are");
  command->add_option("FILE", options->files, "A policy, a fleet, a workload, a catalog or a dump")
      ->required()
      ->type_name("...");
  command
      ->add_option("--fleet", options->fleet,
                   "Are the queues and levels of jobs in this one? Else in the only fleet among "
                   "the files")
      ->type_name("FILE")
      ->take_last();
  command->footer(
      "Examples:\n"
      "  tutti config check policy.yaml            what it does, with all defaults\n"
      "  tutti config check --catalog mine.yaml fleet.yaml jobs.yaml");
  declare_own_devices(*command, options->catalogs);
  command->callback([options, &run] { run = [options] { return check(*options); }; });
}

}  // namespace tutti
