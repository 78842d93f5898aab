#include "policy/policy_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "generated/source_dir.h"

namespace tutti::policy_file_test {

std::string refused(std::string_view yaml) {
  const Result<PolicyRecipe> recipe = parse_policy(yaml);
  return recipe ? "accepted" : recipe.error().text();
}

TEST(PolicyFileTest, ReadsEveryField) {
  const auto recipe = parse_policy(R"(policy: 1
name: gentle
scores:
  - {name: fgd, weight: 3, arguments: {scale: 2000}}
  - name: pack
devices: pack
target: learned
learn_every: 64
alternatives: by_score
)");
  ASSERT_TRUE(recipe.has_value()) << recipe.error().text();
  const PolicyRecipe expected{
      .name = "gentle",
      .scores = {{.name = "fgd", .weight = 3, .arguments = {{"scale", 2000}}}, {.name = "pack"}},
      .device_score = "pack",
      .learn_mix = true,
      .learn_every = 64,
      .alternatives = AlternativeChoice::by_score};
  EXPECT_EQ(*recipe, expected);
}

TEST(PolicyFileTest, FillsInDefaults) {
  const auto recipe = parse_policy("policy: 1\nname: p\nscores: [{name: pack}]\n");
  ASSERT_TRUE(recipe.has_value());
  EXPECT_EQ(recipe->scores.front().weight, 1U);
  EXPECT_EQ(recipe->device_score, "");
  EXPECT_FALSE(recipe->learn_mix);
  EXPECT_EQ(recipe->learn_every, 256U);
  EXPECT_EQ(recipe->alternatives, AlternativeChoice::in_order);
}

TEST(PolicyFileTest, RefusesWhatItCannotRun) {
  EXPECT_EQ(refused(""),
            "error: 1:1: a policy file has one document, this one none\n"
            "hint:  start with: policy: 1\n");
  EXPECT_EQ(refused("policy: 1\n---\npolicy: 1\n"),
            "error: 3:1: a policy file has one document, this one several\n"
            "hint:  start with: policy: 1\n");
  EXPECT_EQ(refused("name: p\n"), "error: 1:1: policy is missing\nhint:  add \"policy\"\n");
  EXPECT_EQ(refused("policy: 2\nname: p\n"),
            "error: 1:9: policy: version 2 of the format is unknown\n"
            "hint:  this build reads version 1\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: []\n"),
            "error: 3:9: policy \"p\" names no score\n"
            "hint:  give it at least one, for example: scores: [{name: fgd}]\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: [{name: fdg}]\n"),
            "error: 3:9: no score is called \"fdg\"\nhint:  did you mean \"fgd\"?\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: [{name: pack, weight: 0}]\n"),
            "error: 3:9: score \"pack\" has weight 0; 1 to 1000 are allowed\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: [{name: pack, wieght: 1}]\n"),
            "error: 3:23: scores[0]: unknown field \"wieght\"\nhint:  did you mean \"weight\"?\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: [{name: pack}]\nlearn_every: 9\n"),
            "error: 4:14: learn_every: nothing is learned\nhint:  add: target: learned\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: [{name: fgd, arguments: {scale: 1e30}}]\n"),
            "error: 3:41: scores[0].arguments.scale: expected an integer, found number 1e30\n");
  EXPECT_EQ(refused("policy: 1\nname: p\nscores: [{name: pack, arguments: {scale: 1}}]\n"),
            "error: 3:9: score \"pack\" has no argument \"scale\"\nhint:  it takes none\n");
}

std::string with_argument(const ScoreEntry& entry, const Parameter& parameter, std::int64_t value) {
  return "policy: 1\nname: p\nscores: [{name: " + std::string(entry.name) + ", arguments: {" +
         std::string(parameter.name) + ": " + std::to_string(value) + "}}]\n";
}

TEST(PolicyFileTest, EveryArgumentHasBounds) {
  std::size_t seen = 0;
  for (const ScoreEntry& entry : all_scores()) {
    for (const Parameter& parameter : entry.parameters) {
      ++seen;
      EXPECT_LE(parameter.min, parameter.preset) << parameter.name;
      EXPECT_LE(parameter.preset, parameter.max) << parameter.name;
      EXPECT_EQ(refused(with_argument(entry, parameter, parameter.min)), "accepted");
      EXPECT_EQ(refused(with_argument(entry, parameter, parameter.max)), "accepted");
      EXPECT_NE(refused(with_argument(entry, parameter, parameter.min - 1)), "accepted");
      EXPECT_NE(refused(with_argument(entry, parameter, parameter.max + 1)), "accepted");
    }
  }
  EXPECT_GE(seen, 3U);
}

TEST(PolicyFileTest, TheDocumentationListsEveryScore) {
  std::ifstream file(TUTTI_SOURCE_DIR "/docs/formats.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const ScoreEntry& entry : all_scores()) {
    const std::string start =
        "| `" + std::string(entry.name) + "` | " + std::string(entry.summary) + " | ";
    std::string arguments;
    for (const Parameter& parameter : entry.parameters) {
      arguments += (arguments.empty() ? "`" : ", `") + std::string(parameter.name) + "` " +
                   std::to_string(parameter.preset) + " (" + std::to_string(parameter.min) +
                   " to " + std::to_string(parameter.max) + ")";
    }
    const std::string row = start + arguments + (arguments.empty() ? "|\n" : " |\n");
    EXPECT_NE(text.find(row), std::string::npos) << row;
  }
}

}  // namespace tutti::policy_file_test
