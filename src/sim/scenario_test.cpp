#include "sim/scenario.h"

#include <gtest/gtest.h>

#include "sim/scenario_text.h"

namespace tutti::scenario_test {

constexpr std::string_view fleet = "nodes n[0-1]: 8xA100-80G, cpu 64\n";

Scenario parsed(const std::string& text) {
  Result<Scenario> scenario = parse_scenario(text, nullptr);
  EXPECT_TRUE(scenario.has_value()) << scenario.error().text();
  return std::move(scenario).value_or(Scenario{});
}

std::vector<ScenarioFailure> failures(const std::string& rest) {
  return run_scenario(parsed(std::string(fleet) + rest)).failures;
}

std::string mistake(const std::string& text) {
  const Result<Scenario> scenario = parse_scenario(text, nullptr);
  return scenario ? "" : scenario.error().where + ": " + scenario.error().what;
}

TEST(ScenarioTextTest, BlocksBelongToTheStatementAbove) {
  const auto statements = *split_statements("# a\nx y # z\n\n  b: 1\n\n  c: 2\n\nw: \"#\" \n");
  ASSERT_EQ(statements.size(), 2U);
  EXPECT_EQ(statements[0].text, "x y");
  EXPECT_EQ(statements[0].comment, "# z");
  EXPECT_EQ(statements[0].block, "  b: 1\n\n  c: 2");
  EXPECT_EQ(statements[0].block_line, 4U);
  EXPECT_EQ(statements[0].block_lines, 3U);
  EXPECT_EQ(statements[1].rest.text, "\"#\"");
  EXPECT_EQ(statements[1].rest.place, (Place{8, 4}));
}

TEST(ScenarioTextTest, ItemsKeepBracketsAndQuotesWhole) {
  const auto items = *items_of({"a [1, 2], é \"x, y\", {k: v, w: [z]}", {3, 5}});
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0].text, "a [1, 2]");
  EXPECT_EQ(items[1].text, "é \"x, y\"");
  EXPECT_EQ(items[2].place, (Place{3, 25}));
  EXPECT_FALSE(items_of({"a,, b", {1, 1}}).has_value());
}

TEST(ScenarioTextTest, FieldsStandAtTheirPlaces) {
  const auto statements = *split_statements(
      "x n: 2 x T4, 1xL4, cpu 4, rack=r1, limit gpu=8, a/b 2, cordoned\n  d: 5\n");
  const Value fields = *fields_of(statements[0], {});
  EXPECT_EQ(fields.find("gpus")->items()[0].text_value(), "2xT4");
  EXPECT_EQ(fields.find("gpus")->items()[1].text_value(), "1xL4");
  EXPECT_EQ(fields.find("cpu")->integer_value(), 4);
  EXPECT_EQ(fields.find("cpu")->place(), (Place{1, 24}));
  EXPECT_EQ(fields.find("labels")->find("rack")->text_value(), "r1");
  EXPECT_EQ(fields.find("limit")->find("gpu")->integer_value(), 8);
  EXPECT_EQ(fields.find("resources")->find("a/b")->integer_value(), 2);
  EXPECT_TRUE(fields.find("cordoned")->boolean_value());
  EXPECT_EQ(fields.find("d")->place(), (Place{2, 6}));
}

TEST(ScenarioTest, WhatHoldsPasses) {
  EXPECT_TRUE(failures("submit a: 2 tasks, 8 gpus\nexpect a on n0 n1\nexpect a on n0:0-7 n1:0-7\n")
                  .empty());
  EXPECT_TRUE(failures("submit a: 0.5 gpu\nexpect a on n0\nexpect free on n0: gpus 7.5\n").empty());
}

TEST(ScenarioTest, WhatDoesNotHoldSaysWhatDoes) {
  const auto wrong = failures("submit a: 3 tasks, 8 gpus\nexpect a on n0\nexpect a waits\n");
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_EQ(wrong[0].line, 3U);
  EXPECT_EQ(wrong[0].actual, "pending");
  EXPECT_EQ(wrong[0].rewrite, "expect a pending");
  EXPECT_EQ(wrong[0].why,
            "never fits: 2 of 3 tasks would find places; 2 nodes: have room, but not for all");
  const auto busy = failures("submit b-[0-1]: 5 gpus\nsubmit a: 4 gpus\nexpect a running\n");
  ASSERT_EQ(busy.size(), 1U);
  EXPECT_EQ(busy[0].why, "waits; 2 nodes: devices in use; nearest: n0 lacks 1 device");
  EXPECT_EQ(wrong[1].actual, "never");
}

TEST(ScenarioTest, ARefusalMustBeExpected) {
  const std::string submit = "submit a: queue nowhere\n";
  EXPECT_EQ(failures(submit + "expect a absent\n").size(), 1U);
  const auto refused = failures(submit + "expect a running\n");
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].actual, "absent");
  EXPECT_TRUE(refused[0].why.starts_with("refused: ")) << refused[0].why;
  EXPECT_NE(refused[0].why.find("no queue \"nowhere\""), std::string::npos) << refused[0].why;
  EXPECT_TRUE(failures(submit + "expect refused \"no queue\"\n").empty());
  EXPECT_EQ(failures(submit + "expect refused \"too many\"\n").size(), 1U);
}

TEST(ScenarioTest, FinishingWhatDoesNotRunFails) {
  const auto wrong = failures("submit a: 9 gpus\nfinish a\nexpect a pending\n");
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong[0].actual, "a/0 does not run");
}

TEST(ScenarioTest, MistakesStandAtTheirPlace) {
  EXPECT_EQ(mistake("cycle\n"), "1:1: the scenario expects nothing, so it cannot fail");
  EXPECT_EQ(mistake("nodes n: cpu 4\nexpect x running\n"), "2:8: no job \"x\" was submitted");
  EXPECT_TRUE(mistake("nodes n:\n  cpu: x\n").starts_with("2:8: cpu: "));
  EXPECT_TRUE(mistake(" cycle\n").starts_with("1:1: an indented line"));
}

TEST(ScenarioTest, RewritingKeepsAllOtherBytes) {
  const std::string text =
      "nodes n0: cpu 1\r\nsubmit a: cpu 2\n\nexpect a  on n0   # why\n"
      "expect a reasons\n  x\n\n  y\n# end";
  const ScenarioResult result = run_scenario(parsed(text));
  EXPECT_EQ(rewritten(text, result.failures),
            "nodes n0: cpu 1\r\nsubmit a: cpu 2\n\nexpect a pending  # why\n"
            "expect a reasons\n  1 not enough cpu\n# end");
  EXPECT_EQ(rewritten(text, {}), text);
}

TEST(ScenarioTest, WhatIsRewrittenCanBeRead) {
  for (const std::string lines : {"reasons", "explain"}) {
    const std::string text = lines == "reasons" ? "submit a: cpu 2\nexpect a reasons\n  x\n"
                                                : "submit a: cpu 2\nexpect explain a\n  x\n";
    const std::string fresh = rewritten(text, run_scenario(parsed(text)).failures);
    EXPECT_TRUE(run_scenario(parsed(fresh)).failures.empty()) << fresh;
  }
}

TEST(ScenarioTest, LimitsAreOfSomethingThatThereIs) {
  const std::string end = "submit a: 1 gpu\nexpect a running\n";
  const std::string queue = std::string(fleet) + "queue q: limit gpu=4 ";
  EXPECT_EQ(mistake(queue + "a/b=2\n" + end), "2:22: queues[0].limit: no node has \"a/b\"");
  EXPECT_EQ(mistake(queue + "a/b=2\nnodes m: a/b 4\n" + end), "");
  EXPECT_EQ(mistake(std::string(fleet) + "queue q: limit gpuu=4\nqueue q: limit gpu=4\n" + end),
            "2:16: queues[0].limit: no node has \"gpuu\"");
}

TEST(ScenarioTest, LevelsAreLabelsOfNodes) {
  const std::string text = "nodes n: cpu 4, zone=z0\nsubmit a: cpu 1\nexpect a in ";
  EXPECT_EQ(mistake(text + "1 zone\nexpect a in zone z0\nexpect a in 1 host\n"), "");
  EXPECT_EQ(mistake(text + "1 zonee\n"), "3:15: no node has a label \"zonee\"");
  EXPECT_EQ(mistake(text + "zonee z0\n"), "3:13: no node has a label \"zonee\"");
}

TEST(ScenarioTest, TheSameTextGivesTheSameState) {
  const std::string text = std::string(fleet) + "submit a-[0-9]: 0.3 gpu\nexpect a-0 running\n";
  const ScenarioResult first = run_scenario(parsed(text));
  EXPECT_EQ(first.state_hash, run_scenario(parsed(text)).state_hash);
  EXPECT_NE(first.state_hash, run_scenario(parsed(text + "cancel a-1\n")).state_hash);
}

}  // namespace tutti::scenario_test
