/// The policies that exist, by name, and the recipes that combine them.
///
/// To add one: write policy/NAME.cpp with a class that implements Score or Filter, declare its
/// maker in policy/makers.h and list it in registry.cpp. docs/policies.md has a worked example.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sched/policy.h"

namespace tutti {

/// One named number of a policy: {"scale", 3000}.
struct Argument {
  std::string name;
  std::int64_t value = 0;
  friend bool operator==(const Argument&, const Argument&) = default;
};

struct ScoreRecipe {
  std::string name;
  std::uint32_t weight = 1;
  std::vector<Argument> arguments;
  friend bool operator==(const ScoreRecipe&, const ScoreRecipe&) = default;
};

/// What a policy file says: which scores run, with what weights, and which one chooses devices.
struct PolicyRecipe {
  std::string name;
  std::vector<ScoreRecipe> scores;
  std::string device_score;         ///< Empty: the first score.
  bool learn_mix = false;           ///< The target mix is counted from arrivals, not given.
  std::uint32_t learn_every = 256;  ///< The most arrivals between two looks at a learned mix.
  AlternativeChoice alternatives = AlternativeChoice::in_order;
  friend bool operator==(const PolicyRecipe&, const PolicyRecipe&) = default;
};

/// An argument that a score takes: what it is where nobody says, and what it may be.
struct Parameter {
  std::string_view name;
  std::int64_t preset = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// A score that can be named in a recipe. `make` is given a value for each of its parameters, in
/// their order and within their bounds.
struct ScoreEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Parameter> parameters;
  std::unique_ptr<const Score> (*make)(std::span<const Argument> arguments, const State& state);
};

std::span<const ScoreEntry> all_scores();

/// The built-in recipe of that name: random dotprod clustering packing bestfit fgd pack spread
/// balanced default.
Result<PolicyRecipe> builtin_policy(std::string_view name);
std::vector<std::string_view> builtin_policy_names();

/// Checks names, weights, and arguments with their bounds.
Result<void> check_recipe(const PolicyRecipe& recipe);

/// Builds the policies of one recipe for whatever fleet it is given. REQUIRES: check_recipe passed.
class RecipeFactory final : public PolicyFactory {
 public:
  explicit RecipeFactory(PolicyRecipe recipe) : recipe_(std::move(recipe)) {}
  PolicySet build(const State& state) const override;
  const PolicyRecipe& recipe() const { return recipe_; }

 private:
  PolicyRecipe recipe_;
};

}  // namespace tutti
