#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "dialect/tutti.h"
#include "model/attribute.h"
#include "model/catalog.h"

namespace tutti::tutti_fleet_test {

FleetFile fleet_of(std::string_view yaml, const Catalog* catalog = nullptr) {
  auto fleet = parse_fleet(yaml, "test", catalog);
  EXPECT_TRUE(fleet.has_value()) << (fleet ? "" : fleet.error().text());
  return fleet ? *std::move(fleet) : FleetFile{};
}

std::string refused(std::string_view yaml) {
  const auto fleet = parse_fleet(yaml, "test", nullptr);
  return fleet ? "accepted" : fleet.error().text();
}

TEST(TuttiFleetTest, ReadsEveryFieldOfANode) {
  const FleetFile fleet = fleet_of(R"(tutti: 1
nodes:
  - name: n0
    cpu: 1.5
    memory: 1Gi
    storage: 2Gi
    pods: 110
    resources: {rdma/hca: 4}
    labels: {zone: east}
    taints: ["gpu=yes:no_execute", flaky, {key: k, value: v, effect: prefer_no_schedule}]
    stack: {cuda: "12.4"}
    cordoned: true
    pool: edge
    devices:
      - {model: X1, vendor: acme, kind: npu, memory: 64Gi, count: 2, island: [0, 1], numa: 1,
         health: degraded, mode: mps, ids: [a, b],
         attributes: {fp8: true, fp8_tops: 7.5, bus: pcie, rate: 3}}
      - {model: X1, profile: 1g.5gb, mode: mig, parent: 0}
)");
  ASSERT_EQ(fleet.nodes.size(), 1U);
  const NodeSpec& node = fleet.nodes.front();
  EXPECT_EQ(node.name, "n0");
  const std::vector<NamedAmount> capacity{{"cpu", 1500},
                                          {"memory", std::int64_t{1} << 30},
                                          {"pods", 110},
                                          {"rdma/hca", 4},
                                          {"storage", std::int64_t{2} << 30}};
  EXPECT_EQ(node.capacity, capacity);
  EXPECT_EQ(*node.labels.find("zone"), "east");
  const std::vector<Taint> taints{{"gpu", "yes", TaintEffect::no_execute},
                                  {"flaky", "", TaintEffect::no_schedule},
                                  {"k", "v", TaintEffect::prefer_no_schedule}};
  EXPECT_EQ(node.taints, taints);
  EXPECT_EQ(node.stack, (std::vector<StackVersion>{{"cuda", "12.4"}}));
  EXPECT_TRUE(node.cordoned);
  EXPECT_EQ(node.pool, "edge");
  ASSERT_EQ(node.devices.size(), 3U);
  const DeviceType type{
      .model = "X1",
      .vendor = "acme",
      .kind = DeviceKind::npu,
      .memory_mib = 65'536,
      .attributes = {{"bus", 0, "pcie"}, {"fp8", 1, ""}, {"fp8_tops", 7500, ""}, {"rate", 3, ""}}};
  EXPECT_EQ(node.devices[1].type, type);
  EXPECT_EQ(node.devices[1].device.island, 1);
  EXPECT_EQ(node.devices[1].device.numa, 1);
  EXPECT_EQ(node.devices[1].device.id, "b");
  EXPECT_EQ(node.devices[1].device.health, Health::degraded);
  EXPECT_EQ(node.devices[1].device.mode, DeviceMode::mps);
  EXPECT_EQ(node.devices[2].device.parent, 0);
  EXPECT_EQ(node.devices[2].type.profile, "1g.5gb");
}

TEST(TuttiFleetTest, ASliceHasTheFiguresOfItsProfile) {
  const Catalog catalog = Catalog::builtin().value();
  const FleetFile fleet = fleet_of(R"(
nodes:
  - name: n
    devices:
      - {model: A100-80G}
      - {model: A100, profile: 1g.5gb, parent: 0}
      - {model: A100-80G, profile: 1g.10gb.me, parent: 0}
      - {model: A100-80G, profile: 3g.40gb, parent: 0, memory: 39Gi, attributes: {fp16_tflops: 1}}
      - {model: A100-80G, profile: own, parent: 0, memory: 7Gi}
      - {model: X1, profile: half, parent: 0, mode: mps}
)",
                                   &catalog);
  const auto holds = [&](unsigned device, std::string_view test) {
    return AttributeExpression::parse(test)->matches(fleet.nodes[0].devices[device].type);
  };
  EXPECT_TRUE(holds(0, "memory == 80Gi && fp16_tflops == 312 && interconnect"));
  EXPECT_TRUE(holds(1, "model == A100-40G && memory == 4864Mi && profile == 1g.5gb"));
  EXPECT_TRUE(
      holds(2, "memory == 9856Mi && profile == \"1g.10gb+me\" && fp16 && fp16_tflops < 45"));
  EXPECT_TRUE(holds(2, "fp16_tflops > 44 && memory_bandwidth_gb_per_s < 260"));
  EXPECT_FALSE(holds(2, "interconnect"));
  EXPECT_FALSE(holds(2, "peak_power_w"));
  EXPECT_TRUE(holds(3, "memory == 39Gi && fp16_tflops == 1 && bf16_tflops < 134"));
  EXPECT_TRUE(holds(4, "memory == 7Gi && profile == own && fp16"));
  EXPECT_FALSE(holds(4, "fp16_tflops"));
  EXPECT_TRUE(holds(5, "profile == half"));
  EXPECT_EQ(fleet.nodes[0].devices[0].device.mode, DeviceMode::whole);
  EXPECT_EQ(fleet.nodes[0].devices[2].device.mode, DeviceMode::mig);
  EXPECT_EQ(fleet.nodes[0].devices[5].device.mode, DeviceMode::mps);
}

TEST(TuttiFleetTest, AProfileThatTheCatalogLacksNeedsItsMemory) {
  const Catalog catalog = Catalog::builtin().value();
  const auto text = [&](std::string_view device) {
    const auto fleet =
        parse_fleet("nodes: [{name: n, devices: [" + std::string(device) + "]}]", "test", &catalog);
    return fleet ? "accepted" : fleet.error().text();
  };
  EXPECT_EQ(text("{model: A100-80G, profile: 3g.4gb}"),
            "error: 1:56: nodes[0].devices[0].profile: the catalog knows no slice \"3g.4gb\" of "
            "A100-80G, so \"memory\" must be given\nhint:  did you mean \"3g.40gb\"?\n");
  EXPECT_TRUE(text("{model: T4, profile: 1g.5gb}").contains("no slice \"1g.5gb\" of T4"));
  EXPECT_EQ(text("{model: T4, profile: 1g.5gb, memory: 5Gi}"), "accepted");
}

TEST(TuttiFleetTest, OneEntryStandsForMany) {
  const FleetFile fleet = fleet_of(R"(
nodes:
  - {name: "a[0-4]", gpus: [2xL4, 1xT4], domains: {rack: 2}}
  - {name: "b[0-1]", domains: {rack: 2, row: {size: 1, prefix: R}}}
)");
  std::string out;
  for (const NodeSpec& node : fleet.nodes) {
    const std::string* row = node.labels.find("row");
    out += node.name + " " + *node.labels.find("rack") + (row == nullptr ? "" : " " + *row) + " " +
           std::to_string(node.devices.size()) + "\n";
  }
  EXPECT_EQ(out,
            "a0 rack-0 3\na1 rack-0 3\na2 rack-1 3\na3 rack-1 3\na4 rack-2 3\n"
            "b0 rack-3 R0 0\nb1 rack-3 R1 0\n");
}

TEST(TuttiFleetTest, TheCatalogFillsInAndTheFileWins) {
  const Catalog catalog = Catalog::builtin().value();
  const FleetFile fleet =
      fleet_of("nodes: [{name: n, devices: [{model: A100-80G}, {model: A100-80G, memory: 79Gi}]}]",
               &catalog);
  EXPECT_EQ(fleet.nodes[0].devices[0].type, *catalog.find("A100-80G"));
  EXPECT_EQ(fleet.nodes[0].devices[1].type.memory_mib, 79 * 1024);
  EXPECT_EQ(fleet.nodes[0].devices[1].type.vendor, "nvidia");
}

TEST(TuttiFleetTest, SeveralDocumentsAndForeignKeys) {
  const FleetFile fleet = fleet_of(
      "topology: [zone, rack]\n---\nnodes: [{name: a, labels: {zone: z}}]\njobs: [{what: "
      "ever}]\n---\n"
      "nodes: [{name: b, domains: {rack: 1}}]\npools: {edge: {control: order}}\n");
  EXPECT_EQ(fleet.nodes.size(), 2U);
  EXPECT_EQ(fleet.trees, (std::vector<TreeSpec>{{.name = "topology", .levels = {"zone", "rack"}}}));
  EXPECT_EQ(fleet.pools, (std::vector<Pool>{{"edge", Control::order}}));
}

TEST(TuttiFleetTest, QueuesAreATreeParentsFirst) {
  const FleetFile fleet = fleet_of(R"(
queues:
  - {name: vision, parent: research, limit: {gpu: 8, cpu: 1.5}}
  - {name: research, weight: 3, guarantee: {memory: 1Gi}, queues: [{name: text}]}
  - {name: ops/night, weight: 2}
  - {name: ops}
nodes: [{name: n}]
)");
  std::string out;
  for (const QueueSpec& queue : fleet.queues) out += queue.name + " ";
  EXPECT_EQ(out, "ops research ops/night research/text research/vision ");
  EXPECT_EQ(fleet.queues[1].weight, 3U);
  EXPECT_EQ(fleet.queues[4].limit, (std::vector<NamedAmount>{{"cpu", 1500}, {"gpu", 8}}));
  EXPECT_EQ(fleet.queues[1].guarantee,
            (std::vector<NamedAmount>{{"memory", std::int64_t{1} << 30}}));
}

TEST(TuttiFleetTest, RefusesEmptyFiles) {
  const std::string hint =
      "hint:  a fleet has at least: nodes: [{name: n0, cpu: 8, memory: 32Gi}]\n";
  EXPECT_EQ(refused(""), "error: 1:1: the file is empty\n" + hint);
  EXPECT_EQ(refused("# nothing\n---\n"), "error: 1:1: the file is empty\n" + hint);
  EXPECT_EQ(refused("jobs: []"), "error: 1:1: the file describes no nodes\n" + hint);
  EXPECT_EQ(refused("[]"), "error: 1:1: document: expected a map, found a list of 0\n");
  EXPECT_EQ(refused("tutti: 2\nnodes: [{name: n}]"),
            "error: 1:8: tutti: version 2 of the format is unknown\n"
            "hint:  this build reads version 1\n");
}

TEST(TuttiFleetTest, RefusesWrongNumbers) {
  EXPECT_EQ(refused("nodes:\n  - {name: n, cpu: -4}"),
            "error: 2:20: nodes[0].cpu: \"-4\" is negative\nhint:  use zero or more\n");
  EXPECT_EQ(refused("nodes: [{name: n, cpu: NaN}]").substr(0, 33),
            "error: 1:24: nodes[0].cpu: \"NaN\" ");
  EXPECT_EQ(refused("nodes: [{name: n, memory: 2Ei}]"),
            "error: 1:27: nodes[0].memory: 2305843009213693952 is more than 2^60\n");
  EXPECT_EQ(refused("nodes: [{name: n, gpus: 1000000000000000000xL4}]"),
            "error: 1:25: nodes[0].gpus: a node has 1 to 128 devices, not 1000000000000000000\n");
  EXPECT_EQ(refused("nodes: [{name: n, gpus: L4}]"),
            "error: 1:25: nodes[0].gpus: \"L4\" is no number of cards of a model\n"
            "hint:  for example: 8xA100-80G\n");
  EXPECT_EQ(refused("nodes: [{name: n, gpus: [128xL4, 1xT4]}]"),
            "error: 1:25: nodes[0].gpus: 129 devices on one node; at most 128 are supported\n");
  EXPECT_EQ(refused("nodes: [{name: n, devices: [{model: a, count: 2, island: [1]}]}]"),
            "error: 1:58: nodes[0].devices[0].island: 1 numbers for 2 devices\n"
            "hint:  one for each device, or a single number for all\n");
  EXPECT_EQ(refused("nodes: [{name: n, devices: [{model: a, parent: 1}]}]"),
            "error: 1:28: nodes[0].devices: parent 1 is none of the 1 devices\n");
  EXPECT_EQ(refused("nodes: [{name: n, devices: [{model: a, parent: 1}, {model: a, parent: 0}]}]"),
            "error: 1:28: nodes[0].devices: parent 1 is itself a slice of a device\n"
            "hint:  parents count the devices of the node from 0; a whole card has none\n");
  EXPECT_EQ(refused("nodes: [{name: n, gpus: 0.5xT4}]"),
            "error: 1:25: nodes[0].gpus: \"0.5xT4\" is no number of cards of a model\n"
            "hint:  for example: 8xA100-80G\n");
  EXPECT_EQ(refused("nodes: [{name: \"n[0-999999]\", gpus: 8xL4}]"),
            "error: 1:16: nodes[0].name: the file describes 8000000 devices; at most 4000000 are "
            "read\n");
  EXPECT_EQ(refused("nodes: [{name: n, domains: {rack: 0}}]"),
            "error: 1:35: nodes[0].domains.rack: a domain has at least 1 node\n");
}

TEST(TuttiFleetTest, RefusesUnknownAndDoubleNames) {
  EXPECT_EQ(refused("nodes:\n  - {name: n, memroy: 1}"),
            "error: 2:15: nodes[0]: unknown field \"memroy\"\nhint:  did you mean \"memory\"?\n");
  EXPECT_EQ(refused("nodse: []"),
            "error: 1:1: unknown field \"nodse\"\nhint:  did you mean \"nodes\"?\n");
  EXPECT_EQ(refused("nodes:\n  - name: n[0-3]\n  - name: n2\n"),
            "error: 3:11: nodes[1].name: node \"n2\" appears twice\n");
  EXPECT_EQ(refused("nodes: [{name: n, resources: {cpu: 1}}]"),
            "error: 1:31: nodes[0].resources: cpu is a field of its own\n"
            "hint:  write it beside \"resources\"\n");
  EXPECT_EQ(refused("nodes: [{name: n, taints: [\"a:no_shedule\"]}]"),
            "error: 1:28: nodes[0].taints[0]: \"no_shedule\" is no effect of a taint\n"
            "hint:  did you mean \"no_schedule\"?\n");
  EXPECT_EQ(refused("nodes: [{name: n, labels: {zone: 1}}]"),
            "error: 1:34: nodes[0].labels.zone: expected text, found integer 1\n"
            "hint:  put it in quotes\n");
}

TEST(TuttiFleetTest, RefusesCircles) {
  EXPECT_EQ(refused("nodes: [{name: n}]\ntopology: [zone, rack, zone]"),
            "error: 2:24: topology: level \"zone\" lies inside itself\n"
            "hint:  each label once, the widest first\n");
  EXPECT_EQ(
      refused("nodes: [{name: n}]\ntopology: {a: [x, y], b: [y, z], c: [z, x]}").substr(0, 51),
      "error: 2:11: topology: level \"x\" lies inside itself");
  EXPECT_EQ(
      refused("nodes: [{name: n}]\nqueues:\n  - {name: a, parent: b}\n  - {name: b, parent: a}"),
      "error: 3:5: queues[0]: queue \"a\" lies inside itself\n"
      "hint:  parents must end at a queue without one\n");
  EXPECT_EQ(refused("nodes: [{name: n}]\nqueues: [{name: a, parent: a}]"),
            "error: 2:10: queues[0]: queue \"a\" lies inside itself\n"
            "hint:  parents must end at a queue without one\n");
}

TEST(TuttiFleetTest, RefusesBrokenTrees) {
  EXPECT_EQ(
      refused("topology: [zone, rack]\nnodes:\n  - {name: a, labels: {zone: z0, rack: r}}\n"
              "  - {name: b, labels: {zone: z1, rack: r}}"),
      "error: 1:11: topology: rack \"r\" lies in zone \"z0\" and, with node \"b\", in \"z1\"\n"
      "hint:  give every rack a name of its own\n");
  EXPECT_EQ(refused("nodes: [{name: n}]\nqueues: [{name: a, parent: bb}, {name: b}]"),
            "error: 2:10: queues[0]: no queue is called \"bb\"\nhint:  known: a, b\n");
  EXPECT_EQ(refused("nodes: [{name: n}]\nqueues: [{name: a/b}]"),
            "error: 2:10: queues[0]: queue \"a/b\" has no parent \"a\"\n");
  EXPECT_EQ(refused("nodes: [{name: n}]\nqueues: [{name: a}, {name: a}]"),
            "error: 2:21: queues[1]: queue \"a\" appears twice\n");
  EXPECT_EQ(refused("nodes: [{name: n}]\nqueues: [{name: a, limit: {gpu: 1e18}}]"),
            "error: 2:27: queues[0].limit: 1000000000000000000 gpu are more than any fleet has\n");
}

}  // namespace tutti::tutti_fleet_test
