#include "policy/registry.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "format/text.h"
#include "policy/makers.h"

namespace tutti {
namespace {

// Name, preset, least, most.
constexpr std::array<Parameter, 2> fgd_parameters{
    {{"scale", 1000, 1, 1'000'000'000}, {"cover_percent", 95, 1, 100}}};
constexpr std::array<Parameter, 1> usable_parameters{{{"fullness", 200, 0, 1000}}};

constexpr std::uint32_t weight_max = 1000;

Result<void> check_argument(const ScoreEntry& entry, const Argument& argument) {
  const auto known = std::ranges::find(entry.parameters, argument.name, &Parameter::name);
  const std::string score = "score \"" + std::string(entry.name) + "\" has ";
  if (known == entry.parameters.end()) {
    std::vector<std::string_view> names;
    for (const Parameter& parameter : entry.parameters) names.push_back(parameter.name);
    return fail(Code::not_found, score + "no argument \"" + argument.name + "\"",
                names.empty() ? "it takes none" : did_you_mean(argument.name, names));
  }
  if (argument.value >= known->min && argument.value <= known->max) return {};
  return fail(Code::invalid, score + argument.name + " " + std::to_string(argument.value) + "; " +
                                 std::to_string(known->min) + " to " + std::to_string(known->max) +
                                 " are allowed");
}

std::vector<Argument> filled_in(const ScoreEntry& entry, const ScoreRecipe& recipe) {
  std::vector<Argument> arguments;
  for (const Parameter& parameter : entry.parameters) {
    const auto given = std::ranges::find(recipe.arguments, parameter.name, &Argument::name);
    const bool named = given != recipe.arguments.end();
    arguments.push_back({std::string(parameter.name), named ? given->value : parameter.preset});
  }
  return arguments;
}

const ScoreEntry* find_score(std::string_view name) {
  const auto entries = all_scores();
  const auto found = std::ranges::find(entries, name, &ScoreEntry::name);
  return found == entries.end() ? nullptr : &*found;
}

Result<void> check_score(const ScoreRecipe& recipe) {
  const ScoreEntry* entry = find_score(recipe.name);
  if (entry == nullptr) {
    std::vector<std::string_view> names;
    for (const ScoreEntry& known : all_scores()) names.push_back(known.name);
    return fail(Code::not_found, "no score is called \"" + recipe.name + "\"",
                did_you_mean(recipe.name, names));
  }
  if (recipe.weight == 0 || recipe.weight > weight_max) {
    return fail(Code::invalid, "score \"" + recipe.name + "\" has weight " +
                                   std::to_string(recipe.weight) + "; 1 to " +
                                   std::to_string(weight_max) + " are allowed");
  }
  for (const Argument& argument : recipe.arguments) TRY(check_argument(*entry, argument));
  return {};
}

}  // namespace

std::span<const ScoreEntry> all_scores() {
  static const auto entries = std::to_array<ScoreEntry>({
      {"balanced", "even use of cpu, memory and accelerators on each node", {}, make_balanced},
      {"bestfit", "the node left with the least cpu and accelerators", {}, make_bestfit},
      {"clustering", "nodes that already run tasks with as many accelerators", {}, make_clustering},
      {"dotprod", "small alignment of what is asked with what is free", {}, make_dotprod},
      {"fgd", "the smallest growth of fragmentation for the target mix", fgd_parameters, make_fgd},
      {"pack", "the fullest node, so that large holes survive", {}, make_pack},
      {"packing", "used devices first, then used nodes, then idle ones", {}, make_packing},
      {"random", "any node that fits", {}, make_random},
      {"spread", "the emptiest node", {}, make_spread},
      {"usable", "the most left usable for the target mix, scarce nodes and cpu counted",
       usable_parameters, make_usable},
  });
  return entries;
}

std::vector<std::string_view> builtin_policy_names() {
  return {"random", "dotprod", "clustering", "packing",  "bestfit",
          "fgd",    "pack",    "spread",     "balanced", "default"};
}

Result<PolicyRecipe> builtin_policy(std::string_view name) {
  const auto names = builtin_policy_names();
  if (std::ranges::find(names, name) == names.end()) {
    return fail(Code::not_found, "no policy is called \"" + std::string(name) + "\"",
                did_you_mean(name, names));
  }
  PolicyRecipe recipe{.name = std::string(name), .scores = {{.name = std::string(name)}}};
  if (name == "default") recipe.scores = {{.name = "usable"}};
  return recipe;
}

Result<void> check_recipe(const PolicyRecipe& recipe) {
  if (recipe.scores.empty()) {
    return fail(Code::invalid, "policy \"" + recipe.name + "\" names no score",
                "give it at least one, for example: scores: [{name: fgd}]");
  }
  for (const ScoreRecipe& score : recipe.scores) TRY(check_score(score));
  const bool chosen = recipe.device_score.empty() ||
                      std::ranges::find(recipe.scores, recipe.device_score, &ScoreRecipe::name) !=
                          recipe.scores.end();
  if (chosen) return {};
  return fail(Code::not_found, "policy \"" + recipe.name + "\" lets \"" + recipe.device_score +
                                   "\" choose devices, which is none of its scores");
}

PolicySet RecipeFactory::build(const State& state) const {
  PolicySet set{.filters = make_filters(), .scores = {}, .alternatives = recipe_.alternatives};
  for (std::size_t at = 0; at < recipe_.scores.size(); ++at) {
    const ScoreRecipe& recipe = recipe_.scores[at];
    const ScoreEntry* entry = find_score(recipe.name);
    CHECK(entry != nullptr, recipe.name);
    const std::vector<Argument> arguments = filled_in(*entry, recipe);
    set.scores.push_back({entry->make(arguments, state), recipe.weight});
    if (recipe.name == recipe_.device_score) set.device_score = at;
  }
  // What a task would like counts in every policy, as much as all of its scores together.
  std::uint32_t weights = 0;
  for (const WeightedScore& weighted : set.scores) weights += weighted.weight;
  set.scores.push_back({make_preferred({}, state), weights});
  return set;
}

}  // namespace tutti
