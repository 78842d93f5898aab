#include "format/json_scan.h"

#include <gtest/gtest.h>

namespace tutti::json_scan_test {

std::string members(std::string_view text) {
  JsonPieces pieces(text);
  std::string out;
  for (;;) {
    const auto member = pieces.next_member();
    if (!member) return out + "! " + member.error().what;
    if (!*member) return out;
    out.append((*member)->key).append("=").append((*member)->value).append(";");
  }
}

std::string elements(std::string_view text) {
  JsonPieces pieces(text);
  std::string out;
  for (;;) {
    const auto element = pieces.next_element();
    if (!element) return out + "! " + element.error().what;
    if (!*element) return out;
    out.append(**element).append(";");
  }
}

TEST(JsonScanTest, PiecesAreWhatStandsThere) {
  EXPECT_EQ(members(R"( {"a" : 1, "b":"x\"}","c":{"d":[1,"]"]} , "e":null}  )"),
            R"(a=1;b="x\"}";c={"d":[1,"]"]};e=null;)");
  EXPECT_EQ(members("{}"), "");
  EXPECT_EQ(elements(R"([1,{"a":[2]},"x,y" , [] ])"), R"(1;{"a":[2]};"x,y";[];)");
  EXPECT_EQ(elements("[ ]"), "");
}

TEST(JsonScanTest, WhatIsNoObjectIsAnErrorWhereItShows) {
  EXPECT_EQ(members(""), "! this is no JSON: a '{' is missing");
  EXPECT_EQ(members("[1]"), "! this is no JSON: a '{' is missing");
  EXPECT_EQ(members(R"({"a":1)"), "! this is no JSON: it ends in the middle");
  EXPECT_EQ(members(R"({"a":[1})"), "a=[1};! this is no JSON: a comma is missing");
  EXPECT_EQ(members(R"({"a":})"), "! this is no JSON: a value is missing");
  EXPECT_EQ(members(R"({"a" 1})"), "! this is no JSON: a colon is missing");
  EXPECT_EQ(members(R"({a:1})"), "! this is no JSON: a name is missing");
  EXPECT_EQ(members(R"({"a":1 "b":2})"), "a=1;! this is no JSON: a comma is missing");
  EXPECT_EQ(members(R"({"a":1}{)"), "a=1;! this is no JSON: something follows its end");
  EXPECT_EQ(elements("{}"), "! this is no JSON: a '[' is missing");
}

TEST(JsonScanTest, AMemberIsFoundAndTextIsRead) {
  EXPECT_EQ(json_member(R"({"a":1,"b":{"c":2}})", "b").value(), R"({"c":2})");
  EXPECT_EQ(json_member(R"({"a":1,"b":null})", "b").value(), "");
  EXPECT_EQ(json_member(R"({"a":1})", "b").value(), "");
  EXPECT_EQ(json_text(R"("plain")").value(), "plain");
  EXPECT_EQ(json_text(R"("\u0041\n")").value(), "A\n");
  EXPECT_FALSE(json_text("12").has_value());
  EXPECT_FALSE(json_text("\"open").has_value());
}

}  // namespace tutti::json_scan_test
