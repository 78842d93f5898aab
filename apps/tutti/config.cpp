/// tutti config: files that say how to decide.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "format/text.h"
#include "policy/policy_file.h"
#include "sim/files.h"
#include "tutti/commands.h"
#include "tutti/terminal.h"

namespace tutti {
namespace {

/// "scale 1000, cover_percent 95": the arguments with their defaults.
std::string arguments_text(const ScoreEntry& entry, const ScoreRecipe& recipe) {
  std::string out;
  for (const Argument& argument : entry.defaults) {
    const auto given = std::ranges::find(recipe.arguments, argument.name, &Argument::name);
    const std::int64_t value = given == recipe.arguments.end() ? argument.value : given->value;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", argument.name, value);
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

Result<void> check(const std::string& path) {
  const std::string text = TRY(read_file(path));
  Result<PolicyRecipe> recipe = parse_policy(text);
  if (!recipe) return fail(std::move(recipe).error().at(path));
  return print(fmt::format("{} is good: policy {}\n\n{}", path, recipe->name, explain(*recipe)));
}

}  // namespace

void declare_config(CLI::App& app, Run& run) {
  CLI::App* config = app.add_subcommand("config", "Check files that say how to decide");
  config->require_subcommand(1);
  config->footer("Example:\n  tutti config check policy.yaml");
  auto path = std::make_shared<std::string>();
  CLI::App* command = config->add_subcommand("check", "Check a policy file, and say what it does");
  command->add_option("file", *path, "A policy file")->required()->type_name("FILE");
  command->footer(
      "Example:\n  tutti config check policy.yaml && tutti sim --policy policy.yaml ...");
  command->callback([path, &run] {
    run = [path] {
      const Result<void> done = check(*path);
      return done ? 0 : complain(done.error());
    };
  });
}

}  // namespace tutti
