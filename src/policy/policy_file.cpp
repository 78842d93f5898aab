#include "policy/policy_file.h"

#include <fmt/core.h>

#include <array>
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
constexpr std::int64_t weight_max = 1'000'000;  // check_recipe knows the real bound.

Result<ScoreRecipe> read_score(Reader& reader) {
  ScoreRecipe score;
  score.name = TRY(reader.required_text("name"));
  score.weight =
      static_cast<std::uint32_t>(TRY(reader.optional_integer("weight", 0, weight_max)).value_or(1));
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
  if (recipe.name.empty() || recipe.name.size() > limits::name_length) {
    return fail(
        reader.error("name", fmt::format("a name has 1 to {} characters", limits::name_length)));
  }
  recipe.scores = TRY(reader.list("scores", read_score));
  recipe.device_score = TRY(reader.optional_text("devices")).value_or("");
  TRY(read_target(reader, recipe));
  recipe.alternatives =
      TRY(reader.optional_choice("alternatives", choices)).value_or(recipe.alternatives);
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
