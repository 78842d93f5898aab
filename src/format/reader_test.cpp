#include "format/reader.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "format/yaml.h"

namespace tutti::reader_test {

enum class Mode { whole, mig, shared };
constexpr std::array<Choice<Mode>, 3> mode_words = {
    {{"whole", Mode::whole}, {"mig", Mode::mig}, {"shared", Mode::shared}}};

struct Card {
  std::string model;
  std::int64_t memory = 0;
};

struct Node {
  std::string name;
  std::int64_t count = 0;
  std::int64_t cpu = 0;
  std::int64_t weight = 0;
  bool drained = false;
  Mode mode = Mode::whole;
  Duration grace;
  std::vector<Card> cards;
  std::vector<std::string> zones;
  std::vector<std::int64_t> ports;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<Card> spare;
  std::vector<std::pair<std::string, Card>> pools;
};

Result<Card> decode_card(Reader& r) {
  Card card;
  card.model = TRY(r.required_text("model"));
  card.memory = TRY(r.optional_quantity("memory")).value_or(1);
  return card;
}

Result<Node> decode_node(Reader& r) {
  Node node;
  node.name = TRY(r.required_text("name"));
  node.count = TRY(r.optional_integer("count", 1, 1'000)).value_or(1);
  node.cpu = TRY(r.optional_quantity_milli("cpu")).value_or(0);
  node.weight = TRY(r.optional_fixed("weight", 3)).value_or(1'000);
  node.drained = TRY(r.optional_boolean("drained")).value_or(false);
  node.mode = TRY(r.optional_choice<Mode>("mode", mode_words)).value_or(Mode::whole);
  node.grace = TRY(r.optional_duration("grace")).value_or(Duration::seconds(30));
  node.cards = TRY(r.list("cards", decode_card));
  node.zones = TRY(r.texts("zones"));
  node.ports = TRY(r.integers("ports", 1, 65'535));
  node.labels = TRY(r.text_map("labels"));
  node.spare = TRY(r.optional_object("spare", decode_card));
  node.pools = TRY(r.map("pools", decode_card));
  TRY(r.ignore("comment"));
  return node;
}

Result<Node> read(std::string_view yaml) {
  const std::vector<Value> documents = TRY(parse_yaml(yaml));
  return decode(documents.at(0), "nodes[3]", decode_node);
}

std::string refused(std::string_view yaml) {
  Result<Node> node = read(yaml);
  return node ? "accepted" : std::move(node).error().at("fleet.yaml").text();
}

TEST(ReaderTest, DecodesEveryKindOfField) {
  const Node node = read(R"(
name: n0
count: 4
cpu: 500m
weight: 1.5
drained: true
mode: mig
grace: 2m
cards:
  - {model: a100, memory: 80Gi}
  - {model: "4090"}
zones: [a, b]
ports: [80, 443]
labels: {team: vision, "k8s.io/x": ""}
spare: {model: h100}
pools: {fast: {model: h200}}
comment: [anything]
)")
                        .value();
  EXPECT_EQ(node.name, "n0");
  EXPECT_EQ(node.count, 4);
  EXPECT_EQ(node.cpu, 500);
  EXPECT_EQ(node.weight, 1'500);
  EXPECT_TRUE(node.drained);
  EXPECT_EQ(node.mode, Mode::mig);
  EXPECT_EQ(node.grace, Duration::seconds(120));
  ASSERT_EQ(node.cards.size(), 2U);
  EXPECT_EQ(node.cards[0].memory, std::int64_t{80} << 30);
  EXPECT_EQ(node.cards[1].model, "4090");
  EXPECT_EQ(node.zones, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(node.ports, (std::vector<std::int64_t>{80, 443}));
  EXPECT_EQ(node.labels[1].first, "k8s.io/x");
  EXPECT_EQ(node.spare->model, "h100");
  EXPECT_EQ(node.pools[0].first, "fast");
}

TEST(ReaderTest, AbsentAndNullFieldsTakeTheirDefaults) {
  const Node node = read("name: n0\ncount:\ncards: ~\n").value();
  EXPECT_EQ(node.count, 1);
  EXPECT_EQ(node.weight, 1'000);
  EXPECT_EQ(node.grace, Duration::seconds(30));
  EXPECT_TRUE(node.cards.empty());
  EXPECT_FALSE(node.spare.has_value());
}

TEST(ReaderTest, ErrorsNamePathPlaceAndWayOut) {
  EXPECT_EQ(refused("count: 4"),
            "error: fleet.yaml:1:1: nodes[3].name is missing\nhint:  add \"name\"\n");
  EXPECT_EQ(refused("name: null"),
            "error: fleet.yaml:1:7: nodes[3].name is missing\nhint:  add \"name\"\n");
  EXPECT_EQ(refused("name: n0\ncuont: 4"),
            "error: fleet.yaml:2:1: nodes[3]: unknown field \"cuont\"\n"
            "hint:  did you mean \"count\"?\n");
  EXPECT_EQ(refused("name: 12"),
            "error: fleet.yaml:1:7: nodes[3].name: expected text, found integer 12\n"
            "hint:  put it in quotes\n");
  EXPECT_EQ(refused("name: n0\ncount: \"4\""),
            "error: fleet.yaml:2:8: nodes[3].count: expected an integer, found text \"4\"\n"
            "hint:  leave out the quotes\n");
  EXPECT_EQ(refused("name: n0\ncount: 1001"),
            "error: fleet.yaml:2:8: nodes[3].count: 1001 is out of range\n"
            "hint:  allowed: 1 to 1000\n");
  EXPECT_EQ(refused("name: n0\nmode: sharde"),
            "error: fleet.yaml:2:7: nodes[3].mode: \"sharde\" is not one of whole, mig, shared\n"
            "hint:  did you mean \"shared\"?\n");
  EXPECT_EQ(refused("name: n0\ndrained: yes"),
            "error: fleet.yaml:2:10: nodes[3].drained: expected a boolean, found text \"yes\"\n"
            "hint:  write true\n");
  EXPECT_EQ(refused("name: n0\nweight: -1.5"),
            "error: fleet.yaml:2:9: nodes[3].weight: \"-1.5\" is negative\n"
            "hint:  use zero or more\n");
  EXPECT_EQ(refused("name: n0\ngrace: 5x"),
            "error: fleet.yaml:2:8: nodes[3].grace: \"5x\" is not a duration\n"
            "hint:  write for example 90s, 250ms, 1h30m or 2d\n");
  EXPECT_EQ(refused("name: n0\ncpu: [1]"),
            "error: fleet.yaml:2:6: nodes[3].cpu: expected a quantity, found a list of 1\n");
}

TEST(ReaderTest, ErrorsInsideNestedFieldsCarryTheWholePath) {
  EXPECT_EQ(refused("name: n0\ncards:\n  - {model: a}\n  - {memory: 1}"),
            "error: fleet.yaml:4:5: nodes[3].cards[1].model is missing\nhint:  add \"model\"\n");
  EXPECT_EQ(refused("name: n0\ncards:\n  - {model: a, size: 1}"),
            "error: fleet.yaml:3:16: nodes[3].cards[0]: unknown field \"size\"\n"
            "hint:  known: model, memory\n");
  EXPECT_EQ(refused("name: n0\ncards: [a100]"),
            "error: fleet.yaml:2:9: nodes[3].cards[0]: expected a map, found text \"a100\"\n");
  EXPECT_EQ(refused("name: n0\ncards: {}"),
            "error: fleet.yaml:2:8: nodes[3].cards: expected a list, found a map of 0\n");
  EXPECT_EQ(refused("name: n0\nports: [80, 0]"),
            "error: fleet.yaml:2:13: nodes[3].ports[1]: 0 is out of range\n"
            "hint:  allowed: 1 to 65535\n");
  EXPECT_EQ(refused("name: n0\nlabels: {a: 1}"),
            "error: fleet.yaml:2:13: nodes[3].labels.a: expected text, found integer 1\n"
            "hint:  put it in quotes\n");
  EXPECT_EQ(refused("name: n0\npools: {\"\\e[1m\": {}}"),
            "error: fleet.yaml:2:18: nodes[3].pools.\"\\x1b[1m\".model is missing\n"
            "hint:  add \"model\"\n");
  EXPECT_EQ(refused("name: n0\nzones: [[a]]"),
            "error: fleet.yaml:2:9: nodes[3].zones[0]: expected text, found a list of 1\n");
  EXPECT_EQ(refused("[1]"), "error: fleet.yaml:1:1: nodes[3]: expected a map, found a list of 1\n");
}

TEST(ReaderTest, OneSidedRangesReadAsSuch) {
  const Value document = std::move(parse_yaml("{a: -1, b: 9}").value()[0]);
  Reader r(document, "");
  EXPECT_EQ(r.required_integer("a", 0).error().text(),
            "error: 1:5: a: -1 is out of range\nhint:  allowed: 0 or more\n");
  EXPECT_EQ(r.required_integer("b", Reader::least, 8).error().hint, "allowed: 8 or less");
  EXPECT_EQ(r.required_integer("b", 9, 9).value(), 9);
}

TEST(ReaderTest, DoneChecksUnlessTheRestIsIgnored) {
  const Value document = std::move(parse_yaml("{a: 1, b: 2}").value()[0]);
  Reader r(document, "");
  EXPECT_TRUE(r.required_integer("a").has_value());
  EXPECT_EQ(r.done().error().text(), "error: 1:8: unknown field \"b\"\nhint:  known: a\n");
  EXPECT_EQ(r.error("a", "is odd", "use 2").text(), "error: 1:5: a: is odd\nhint:  use 2\n");
  r.ignore_rest();
  EXPECT_TRUE(r.done().has_value());
}

}  // namespace tutti::reader_test
