#include "policy/policy_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "format/reader.h"
#include "format/text.h"
#include "format/yaml.h"

namespace tutti {
namespace {

constexpr std::int64_t argument_max = 1'000'000'000;
constexpr std::int64_t weight_read_max = 1'000'000;  // check_recipe knows the real bound.

Result<ScoreRecipe> read_score(Reader& reader) {
  ScoreRecipe score;
  score.name = TRY(reader.required_text("name"));
  score.weight = static_cast<std::uint32_t>(
      TRY(reader.optional_integer("weight", 0, weight_read_max)).value_or(1));
  const auto read = [&score](Reader& arguments) -> Result<bool> {
    for (const Value::Member& member : TRY(arguments.value().as_map())) {
      const std::int64_t value =
          TRY(arguments.required_integer(member.key, -argument_max, argument_max));
      score.arguments.push_back({member.key, value});
    }
    return true;
  };
  TRY(reader.optional_object("arguments", read));
  return score;
}

Result<void> read_target(Reader& reader, PolicyRecipe& recipe) {
  constexpr std::array<Choice<bool>, 2> targets{{{"given", false}, {"learned", true}}};
  const std::span<const Choice<bool>> choices(targets);
  recipe.learn_mix = TRY(reader.optional_choice("target", choices)).value_or(false);
  const auto every = TRY(reader.optional_integer("learn_every", 1, 1'000'000));
  if (every && !recipe.learn_mix) {
    return fail(reader.error("learn_every", "nothing is learned", "add: target: learned"));
  }
  if (every) recipe.learn_every = static_cast<std::uint32_t>(*every);
  return {};
}

Result<void> check_policy_name(const Reader& reader, std::string_view name) {
  if (name.empty() || name.size() > limits::name_length) {
    return fail(reader.error("name", fmt::format("a name has 1 to {} characters, this one {}",
                                                 limits::name_length, name.size())));
  }
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::ranges::none_of(name, control)) return {};
  return fail(reader.error("name", fmt::format("{} has a control character", quote(name))));
}

/// The weight says how much a score counts; twice the same score would be two weights.
Result<void> check_scores(const Reader& reader, const PolicyRecipe& recipe) {
  std::set<std::string_view> names;
  for (const ScoreRecipe& score : recipe.scores) {
    if (names.insert(score.name).second) continue;
    return fail(reader.error("scores", fmt::format("score {} appears twice", quote(score.name)),
                             "give it a larger weight instead"));
  }
  return {};
}

Result<PolicyRecipe> read_policy(Reader& reader) {
  constexpr std::array<Choice<AlternativeChoice>, 2> words{
      {{"in_order", AlternativeChoice::in_order}, {"by_score", AlternativeChoice::by_score}}};
  const std::span<const Choice<AlternativeChoice>> choices(words);
  if (const std::int64_t version = TRY(reader.required_integer("policy")); version != 1) {
    return fail(reader.error("policy", fmt::format("version {} of the format is unknown", version),
                             "this build reads version 1"));
  }
  PolicyRecipe recipe;
  recipe.name = TRY(reader.required_text("name"));
  TRY(check_policy_name(reader, recipe.name));
  recipe.scores = TRY(reader.list("scores", read_score));
  recipe.device_score = TRY(reader.optional_text("devices")).value_or("");
  TRY(read_target(reader, recipe));
  recipe.alternatives =
      TRY(reader.optional_choice("alternatives", choices)).value_or(recipe.alternatives);
  TRY(reader.done());  // A field that is misspelt explains what is missing.
  TRY(check_scores(reader, recipe));
  if (Result<void> good = check_recipe(recipe); !good) {
    // The whole recipe is what is checked, so the error stands where its scores do.
    Error error = std::move(good).error();
    const Value* const scores = reader.value().find("scores");
    error.where = (scores != nullptr ? scores : &reader.value())->place().text();
    return fail(std::move(error));
  }
  return recipe;
}

}  // namespace

Result<PolicyRecipe> parse_policy(std::string_view yaml) {
  const std::vector<Value> documents = TRY(parse_yaml(yaml));
  if (documents.size() != 1 || documents.front().is(Kind::null)) {
    return fail(Error{Code::invalid,
                      fmt::format("a policy file has one document, this one {}",
                                  documents.size() > 1 ? "several" : "none"),
                      documents.size() > 1 ? documents[1].place().text() : "1:1",
                      "start with: policy: 1"});
  }
  return decode(documents.front(), "", read_policy);
}

}  // namespace tutti
