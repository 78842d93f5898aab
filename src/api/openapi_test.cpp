/// The description of the API against the routes that there are.
#include "api/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/test_server.h"
#include "format/json.h"

namespace tutti::openapi_test {

using OpenapiTest = test::ServerTest;

/// "/jobs/{id}:cancel" as "/jobs/{}:cancel".
std::string without_names(std::string_view path) {
  std::string out;
  for (bool inside = false; const char letter : path) {
    if (letter == '}') inside = false;
    if (!inside) out += letter;
    if (letter == '{') inside = true;
  }
  return out;
}

bool is_method(std::string_view key) {
  return key == "get" || key == "post" || key == "put" || key == "patch" || key == "delete";
}

template <class Visit>
void each_operation(const Value& document, const Visit& visit) {
  for (const Value::Member& path : document.find("paths")->members()) {
    for (const Value::Member& operation : path.value.members()) {
      if (is_method(operation.key)) visit(path.key, operation.key, operation.value);
    }
  }
}

void each_reference(const Value& value, const std::function<void(std::string_view)>& visit) {
  if (value.is(Kind::list)) {
    for (const Value& item : value.items()) each_reference(item, visit);
  }
  if (!value.is(Kind::map)) return;
  for (const Value::Member& member : value.members()) {
    if (member.key == "$ref") visit(member.value.text_value());
    each_reference(member.value, visit);
  }
}

TEST_F(OpenapiTest, DescribesTheRoutesThatThereAreAndNoOthers) {
  const Value document = parse_json(openapi_json()).value();
  std::vector<std::string> described;
  each_operation(document, [&](std::string_view path, std::string method, const Value&) {
    std::ranges::transform(method, method.begin(), [](char c) { return std::toupper(c); });
    described.push_back(method + " " + without_names(path));
  });
  EXPECT_THAT(server_.router().names(), testing::UnorderedElementsAreArray(described));
}

TEST_F(OpenapiTest, EveryOperationSaysWhatMayComeOfIt) {
  const Value document = parse_json(openapi_json()).value();
  std::set<std::string> names;
  each_operation(document, [&](std::string_view path, const std::string&, const Value& operation) {
    const Value* const name = operation.find("operationId");
    ASSERT_NE(name, nullptr) << path;
    EXPECT_TRUE(names.emplace(name->text_value()).second) << path;
    EXPECT_NE(operation.find("summary"), nullptr) << path;
    const bool open = operation.find("security") != nullptr;
    EXPECT_NE(open, operation.find("responses")->find("default") != nullptr) << path;
  });
}

TEST_F(OpenapiTest, WhatItRefersToIsThereAndNothingIsLeftOver) {
  const Value document = parse_json(openapi_json()).value();
  std::set<std::string> used;
  each_reference(document, [&](std::string_view reference) { used.emplace(reference); });
  std::set<std::string> there;
  for (const Value::Member& kind : document.find("components")->members()) {
    if (kind.key == "securitySchemes") continue;
    for (const Value::Member& part : kind.value.members()) {
      there.insert("#/components/" + kind.key + "/" + part.key);
    }
  }
  // Lines and events are texts to OpenAPI, so that only words name their schemas.
  for (const char* said : {"BatchLine", "JobEvent", "NodeEvent", "Reset"}) {
    used.insert(std::string("#/components/schemas/") + said);
  }
  EXPECT_EQ(used, there);
}

TEST_F(OpenapiTest, TheServerShowsItToAnybody) {
  const net::Response answer = ask(tcp_, "/api/v1/openapi.json");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.find("Content-Type"), "application/json");
  EXPECT_EQ(answer.body, openapi_json());
}

}  // namespace tutti::openapi_test
