#include "model/labels.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::labels_test {

bool holds(Operator op, std::vector<std::string> values, const std::string& label) {
  Labels labels;
  if (label != "(none)") labels.set("k", label);
  return Selector{{{.key = "k", .op = op, .values = std::move(values)}}}.matches(labels);
}

TEST(LabelsTest, AreSortedAndTheLastOfAKeyWins) {
  const Labels labels({{"b", "1"}, {"a", "2"}, {"b", "3"}, {"", "4"}});
  ASSERT_EQ(labels.all().size(), 3U);
  EXPECT_EQ(labels.all()[0].key, "");
  EXPECT_EQ(labels.all()[1].key, "a");
  EXPECT_EQ(*labels.find("b"), "3");
  EXPECT_EQ(labels.find("c"), nullptr);
}

TEST(LabelsTest, SetReplacesAndEraseRemoves) {
  Labels labels;
  labels.set("a", "1");
  labels.set("a", "2");
  EXPECT_EQ(*labels.find("a"), "2");
  labels.erase("b");
  labels.erase("a");
  EXPECT_EQ(labels, Labels());
}

TEST(SelectorTest, InWantsOneOfTheValues) {
  EXPECT_TRUE(holds(Operator::in, {"x", "y"}, "y"));
  EXPECT_FALSE(holds(Operator::in, {"x", "y"}, "z"));
  EXPECT_FALSE(holds(Operator::in, {}, "x"));
  EXPECT_FALSE(holds(Operator::in, {"x"}, "(none)"));
  EXPECT_TRUE(holds(Operator::in, {""}, ""));
}

TEST(SelectorTest, NotInIsAlsoTrueWithoutTheLabel) {
  EXPECT_FALSE(holds(Operator::not_in, {"x"}, "x"));
  EXPECT_TRUE(holds(Operator::not_in, {"x"}, "y"));
  EXPECT_TRUE(holds(Operator::not_in, {"x"}, "(none)"));
}

TEST(SelectorTest, ExistsLooksAtTheKeyAlone) {
  EXPECT_TRUE(holds(Operator::exists, {}, ""));
  EXPECT_FALSE(holds(Operator::exists, {}, "(none)"));
  EXPECT_FALSE(holds(Operator::does_not_exist, {}, ""));
  EXPECT_TRUE(holds(Operator::does_not_exist, {}, "(none)"));
}

TEST(SelectorTest, GreaterAndLessCompareIntegers) {
  EXPECT_TRUE(holds(Operator::greater, {"9"}, "10"));  // Not as text.
  EXPECT_FALSE(holds(Operator::greater, {"10"}, "10"));
  EXPECT_TRUE(holds(Operator::less, {"10"}, "-3"));
  EXPECT_FALSE(holds(Operator::less, {"10"}, "10"));
  EXPECT_TRUE(holds(Operator::less, {"9223372036854775807"}, "9223372036854775806"));
}

TEST(SelectorTest, WhatIsNoIntegerIsNeitherGreaterNorLess) {
  for (const Operator op : {Operator::greater, Operator::less}) {
    EXPECT_FALSE(holds(op, {"5"}, "(none)"));
    EXPECT_FALSE(holds(op, {"5"}, "five"));
    EXPECT_FALSE(holds(op, {"5"}, "4x"));
    EXPECT_FALSE(holds(op, {"5"}, ""));
    EXPECT_FALSE(holds(op, {"x"}, "5"));
    EXPECT_FALSE(holds(op, {}, "5"));
    EXPECT_FALSE(holds(op, {"1", "9"}, "5"));
    EXPECT_FALSE(holds(op, {"9223372036854775808"}, "5"));
  }
}

TEST(SelectorTest, AllRequirementsMustHold) {
  const Labels labels({{"a", "1"}, {"b", "2"}});
  Selector selector;
  EXPECT_TRUE(selector.matches(labels));
  selector.requirements.push_back({.key = "a", .op = Operator::exists, .values = {}});
  EXPECT_TRUE(selector.matches(labels));
  selector.requirements.push_back({.key = "b", .op = Operator::in, .values = {"3"}});
  EXPECT_FALSE(selector.matches(labels));
}

TEST(SelectorTest, ReadsWell) {
  EXPECT_EQ(to_text(Selector{{{"a", Operator::in, {"1"}},
                              {"b", Operator::in, {"1", "2"}},
                              {"c", Operator::not_in, {"3"}},
                              {"d", Operator::exists, {}},
                              {"e", Operator::does_not_exist, {}},
                              {"f", Operator::greater, {"4"}},
                              {"g", Operator::less, {"5"}}}}),
            "a=1, b in (1, 2), c not in (3), d, !e, f > 4, g < 5");
  EXPECT_EQ(to_text(Operator::does_not_exist), "does_not_exist");
}

}  // namespace tutti::labels_test
