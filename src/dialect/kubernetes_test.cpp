#include "dialect/kubernetes.h"

#include <gtest/gtest.h>

#include <string>

#include "dialect/kubernetes_read.h"
#include "dialect/kubernetes_register.h"
#include "format/yaml.h"
#include "model/catalog.h"

namespace tutti::kubernetes_test {

const Catalog& catalog() {
  static const Catalog known = Catalog::builtin().value();
  return known;
}

/// Manifests are read as YAML here: the values are the same as those of JSON.
NodeSpec node_of(std::string_view yaml) {
  const auto documents = parse_yaml(yaml).value();
  auto node = decode_node(documents.at(0), &catalog());
  EXPECT_TRUE(node.has_value()) << (node ? "" : node.error().text());
  return node ? *std::move(node) : NodeSpec{};
}

PodRecord pod_of(std::string_view yaml) {
  const auto documents = parse_yaml(yaml).value();
  auto pod = decode_pod(documents.at(0), &catalog());
  EXPECT_TRUE(pod.has_value()) << (pod ? "" : pod.error().text());
  return pod ? *std::move(pod) : PodRecord{};
}

std::string refused_pod(std::string_view yaml) {
  const auto documents = parse_yaml(yaml).value();
  const auto pod = decode_pod(documents.at(0), &catalog());
  return pod ? "accepted" : pod.error().text();
}

std::string refused_node(std::string_view yaml) {
  const auto documents = parse_yaml(yaml).value();
  const auto node = decode_node(documents.at(0), &catalog());
  return node ? "accepted" : node.error().text();
}

std::string pod_with(std::string_view spec, std::string_view meta = "") {
  return "{kind: Pod, metadata: {name: p, namespace: ml" + std::string(meta) + "}, spec: {" +
         std::string(spec) + "}}";
}

TaskShape shape_of(std::string_view spec, std::string_view meta = "") {
  return pod_of(pod_with(spec, meta)).shape;
}

std::string resources(std::string_view spec) {
  std::string out;
  for (const NamedAmount& part : shape_of(spec).resources) {
    out += (out.empty() ? "" : " ") + part.name + "=" + std::to_string(part.amount);
  }
  return out;
}

std::string devices(std::string_view spec, std::string_view meta = "") {
  std::string out;
  for (const DeviceRequest& request : shape_of(spec, meta).devices) {
    out += (out.empty() ? "" : "; ") + std::to_string(request.count) + " [" + request.where.text() +
           "] " + std::to_string(request.compute_permille) + " " +
           std::to_string(request.memory_mib);
  }
  return out;
}

TEST(KubernetesNodeTest, ReadsANode) {
  const NodeSpec node = node_of(R"(
apiVersion: v1
kind: Node
metadata:
  name: gpu-1
  labels:
    zone: east
    nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
    nvidia.com/gpu.memory: "81559"
    nvidia.com/cuda.driver-version.full: "535.104.05"
    nvidia.com/cuda.runtime.major: "12"
    nvidia.com/cuda.runtime.minor: "2"
spec:
  unschedulable: true
  podCIDR: 10.0.0.0/24
  taints: [{key: gpu, value: "yes", effect: NoSchedule, timeAdded: "2024-01-01T00:00:00Z"}]
status:
  capacity: {cpu: "64", memory: 256Gi, nvidia.com/gpu: "8"}
  allocatable: {cpu: 63500m, memory: 250Gi, ephemeral-storage: 10Gi, pods: "110",
    nvidia.com/gpu: "7", hugepages-1Gi: "0", rdma/hca_shared: 1k}
  conditions: [{type: Ready, status: "True"}]
)");
  EXPECT_EQ(node.name, "gpu-1");
  EXPECT_TRUE(node.cordoned);
  EXPECT_EQ(node.capacity, (std::vector<NamedAmount>{{"cpu", 63'500},
                                                     {"memory", std::int64_t{250} << 30},
                                                     {"pods", 110},
                                                     {"rdma/hca_shared", 1000},
                                                     {"storage", std::int64_t{10} << 30}}));
  ASSERT_EQ(node.devices.size(), 8U);
  EXPECT_EQ(node.devices[0].type.model, "A100-80G");
  EXPECT_EQ(node.devices[0].type.memory_mib, 81'559);
  EXPECT_EQ(node.devices[6].device.health, Health::online);
  EXPECT_EQ(node.devices[7].device.health, Health::failed);
  EXPECT_TRUE(AttributeExpression::parse("resource == nvidia.com/gpu && bf16")
                  ->matches(node.devices[0].type));
  EXPECT_EQ(node.taints, (std::vector<Taint>{{"gpu", "yes", TaintEffect::no_schedule}}));
  EXPECT_EQ(node.stack, (std::vector<StackVersion>{{"cuda", "12.2"}, {"driver", "535.104.05"}}));
  EXPECT_EQ(*node.labels.find("metadata.name"), "gpu-1");
}

// What such a taint tells is over one day; a job need not tolerate it.
TEST(KubernetesNodeTest, TaintsOfConditionsCloseANode) {
  for (const std::string_view key :
       {"node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready",
        "node.cloudprovider.kubernetes.io/shutdown"}) {
    const NodeSpec node =
        node_of("{metadata: {name: n}, spec: {taints: [{key: " + std::string(key) +
                ", effect: NoSchedule}, {key: own, effect: NoExecute}]}}");
    EXPECT_TRUE(node.cordoned) << key;
    EXPECT_EQ(node.taints, (std::vector<Taint>{{"own", "", TaintEffect::no_execute}})) << key;
  }
  EXPECT_FALSE(
      node_of("{metadata: {name: n}, spec: {taints: [{key: own, effect: NoSchedule}]}}").cordoned);
}

TEST(KubernetesNodeTest, ANodeThatIsNotReadyTakesNoWork) {
  EXPECT_TRUE(
      node_of("{metadata: {name: n}, status: {conditions: [{type: Ready, status: Unknown}]}}")
          .cordoned);
  EXPECT_FALSE(node_of("{metadata: {name: n}}").cordoned);
}

TEST(KubernetesNodeTest, SlicesAndSharedCards) {
  const NodeSpec mig = node_of(
      "{metadata: {name: n, labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}}, status: "
      "{allocatable: {nvidia.com/mig-1g.10gb: 2, nvidia.com/gpu: 0}}}");
  ASSERT_EQ(mig.devices.size(), 2U);
  EXPECT_EQ(mig.devices[0].type.profile, "1g.10gb");
  EXPECT_EQ(mig.devices[0].device.mode, DeviceMode::mig);
  EXPECT_LT(mig.devices[0].type.memory_mib, 10'240);
  EXPECT_GT(mig.devices[0].type.memory_mib, 9'000);
  EXPECT_TRUE(AttributeExpression::parse("fp16 && fp16_tflops < 45")->matches(mig.devices[0].type));
  const NodeSpec unknown = node_of(
      "{metadata: {name: n, labels: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB-MIG-9g.9gb}}, "
      "status: {allocatable: {nvidia.com/gpu: 1}}}");
  EXPECT_EQ(unknown.devices[0].type.profile, "9g.9gb");
  EXPECT_EQ(unknown.devices[0].type.memory_mib, 0);  // Not that of the card.
  const NodeSpec sliced = node_of(
      "{metadata: {name: n, labels: {nvidia.com/gpu.product: NVIDIA-L4-SHARED, "
      "nvidia.com/gpu.replicas: \"4\", nvidia.com/gpu.memory: \"24000\"}}, status: "
      "{allocatable: {nvidia.com/gpu: 4}}}");
  ASSERT_EQ(sliced.devices.size(), 1U);
  EXPECT_EQ(sliced.devices[0].type.model, "L4");
  EXPECT_EQ(sliced.devices[0].type.memory_mib, 24'000);
  EXPECT_EQ(sliced.devices[0].device.mode, DeviceMode::time_sliced);
  EXPECT_TRUE(AttributeExpression::parse("replicas == 4")->matches(sliced.devices[0].type));
}

TEST(KubernetesNodeTest, MoreUnitsThanDevicesCanBeArePartsOfCards) {
  const auto cards = [](std::string_view labels, std::string_view capacity,
                        std::string_view allocatable) {
    return node_of("{metadata: {name: n, labels: {" + std::string(labels) +
                   "}}, status: {capacity: {" + std::string(capacity) + "}, allocatable: {" +
                   std::string(allocatable) + "}}}")
        .devices;
  };
  const auto sound = [](const std::vector<DeviceSpec>& devices) {
    return std::ranges::count(devices, Health::online,
                              [](const DeviceSpec& spec) { return spec.device.health; });
  };
  const auto told = cards("nvidia.com/gpu.replicas: \"20\", nvidia.com/gpu.sharing-strategy: mps",
                          "nvidia.com/gpu: 160", "nvidia.com/gpu: 140");
  EXPECT_EQ(told.size(), 8U);
  EXPECT_EQ(sound(told), 7);
  EXPECT_EQ(told.front().device.mode, DeviceMode::mps);
  const auto partly =
      cards("nvidia.com/gpu.replicas: \"20\"", "nvidia.com/gpu: 160", "nvidia.com/gpu: 141");
  EXPECT_EQ(sound(partly), 8);  // 141 units need eight cards.
  const auto untold = cards("x: y", "nvidia.com/gpu: 300", "nvidia.com/gpu: 300");
  EXPECT_EQ(untold.size(), 100U);
  EXPECT_EQ(sound(untold), 100);
  EXPECT_TRUE(AttributeExpression::parse("replicas == 3")->matches(untold.front().type));
  EXPECT_EQ(cards("x: y", "nvidia.com/gpu: 128", "nvidia.com/gpu: 128").size(), 128U);
  const auto slices = cards("nvidia.com/mig-1g.10gb.replicas: \"3\"", "nvidia.com/mig-1g.10gb: 6",
                            "nvidia.com/mig-1g.10gb: 6, nvidia.com/gpu: 0");
  EXPECT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices.front().device.mode, DeviceMode::mig);
}

TEST(KubernetesNodeTest, UnknownModelsKeepTheirNames) {
  const NodeSpec node = node_of(
      "{metadata: {name: n, labels: {nvidia.com/gpu.product: NVIDIA-Z900}}, status: "
      "{allocatable: {nvidia.com/gpu: 1, acme.example/npu: 3}}}");
  ASSERT_EQ(node.devices.size(), 1U);
  EXPECT_EQ(node.devices[0].type.model, "NVIDIA-Z900");
  EXPECT_EQ(node.devices[0].type.vendor, "nvidia");
  EXPECT_EQ(node.capacity, (std::vector<NamedAmount>{{"acme.example/npu", 3}}));
}

TEST(KubernetesNodeTest, ReadsRegistersOfSharedCards) {
  const NodeSpec hami = node_of(
      "{metadata: {name: n, annotations: {hami.io/node-nvidia-register: 'GPU-a,10,32768,100,NVIDIA-"
      "Tesla T4,1,true:GPU-b,10,32768,100,Z9,0,false:'}}, status: {allocatable: {nvidia.com/gpu: "
      "20}}}");
  ASSERT_EQ(hami.devices.size(), 2U);
  EXPECT_EQ(hami.devices[0].type.model, "T4");
  EXPECT_EQ(hami.devices[0].type.memory_mib, 32'768);
  EXPECT_EQ(hami.devices[0].device.numa, 1);
  EXPECT_EQ(hami.devices[0].device.id, "GPU-a");
  EXPECT_EQ(hami.devices[1].device.health, Health::failed);
  EXPECT_TRUE(hami.capacity.empty());
  const auto volcano = parse_register("GPU-a,10,16384,L4,true,hami-core:", &catalog());
  ASSERT_TRUE(volcano.has_value());
  EXPECT_EQ(volcano->at(0).type.model, "L4");
  const auto json = parse_register(
      R"([{"id":"x","count":10,"devmem":81920,"devcore":100,"type":"Z","numa":-1,"health":true}])",
      &catalog());
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->at(0).type.memory_mib, 81'920);
  EXPECT_EQ(parse_register("a,b", &catalog()).error().what,
            "\"a,b\" has 2 fields; 6 or more are expected");
}

TEST(KubernetesNodeTest, RefusesHostileNodes) {
  EXPECT_EQ(
      refused_node("{kind: Node, metadata: {name: n}, status: {allocatable: {cpu: -1}}}"),
      "error: 1:63: node n: status.allocatable.cpu: \"-1\" is negative\nhint:  use zero or more\n");
  EXPECT_EQ(refused_node("{kind: Node, metadata: {name: n}, status: {allocatable: {memory: 1e30}}}")
                .substr(0, 56),
            "error: 1:66: node n: status.allocatable.memory: \"1e30\" i");
  EXPECT_EQ(
      refused_node(
          "{metadata: {name: n}, status: {allocatable: {nvidia.com/gpu: 100, amd.com/gpu: 29}}}"),
      "error: 1:1: node n: has 129 devices; at most 128 are supported\n");
  EXPECT_EQ(refused_node("{kind: Pod, metadata: {name: n}}"),
            "error: 1:8: kind: expected Node, found \"Pod\"\n");
  EXPECT_EQ(refused_node("{kind: Node}"),
            "error: 1:1: metadata is missing\nhint:  add \"metadata\"\n");
  EXPECT_EQ(refused_node("{metadata: {name: n}, spec: {taints: [{key: k, effect: Never}]}}"),
            "error: 1:56: node n: spec.taints[0].effect: \"Never\" is not one of NoSchedule, "
            "PreferNoSchedule, NoExecute\n");
  EXPECT_EQ(refused_node("[]"), "error: 1:1: document: expected a map, found a list of 0\n");
}

TEST(KubernetesPodTest, ReadsWhoAndWhere) {
  const PodRecord pod = pod_of(R"(
kind: Pod
metadata:
  name: train-0
  namespace: ml
  uid: u1
  labels: {app: x, kueue.x-k8s.io/queue-name: research}
  annotations: {scheduling.k8s.io/group-name: train, scheduling.volcano.sh/group-min-member: "3"}
  creationTimestamp: "2024-02-29T12:00:00Z"
  deletionTimestamp: "2024-02-29T13:00:00Z"
  ownerReferences: [{kind: ReplicaSet, name: other}, {kind: Job, name: train, controller: true}]
spec:
  nodeName: n1
  schedulerName: volcano
  priority: 1000
  schedulingGates: [{name: wait}]
  containers: [{name: c}]
status: {phase: Running}
)");
  EXPECT_EQ(pod.name, "train-0");
  EXPECT_EQ(pod.space, "ml");
  EXPECT_EQ(pod.node, "n1");
  EXPECT_EQ(pod.scheduler, "volcano");
  EXPECT_EQ(pod.owner, "Job/train");
  EXPECT_EQ(pod.group, "train");
  EXPECT_EQ(pod.group_min, 3U);
  EXPECT_EQ(pod.queue, "research");
  EXPECT_EQ(pod.priority, 1000);
  EXPECT_EQ(pod.phase, PodPhase::running);
  EXPECT_EQ(pod.created.us, std::int64_t{1'709'208'000} * 1'000'000);
  EXPECT_TRUE(pod.terminating);
  EXPECT_TRUE(pod.gated);
}

TEST(KubernetesPodTest, SumsRequestsAsKubernetesDoes) {
  EXPECT_EQ(resources("containers: [{resources: {requests: {cpu: 100m}}}, {resources: {requests: "
                      "{cpu: 1, memory: 1Gi}}}]"),
            "cpu=1100 memory=1073741824");
  // Init containers run alone; the largest counts.
  EXPECT_EQ(resources("initContainers: [{resources: {requests: {cpu: 3}}}, {resources: {requests: "
                      "{cpu: 2}}}], containers: [{resources: {requests: {cpu: 1}}}]"),
            "cpu=3000");
  // A sidecar stays: beside later init containers and beside the containers.
  EXPECT_EQ(resources("initContainers: [{resources: {requests: {cpu: 3}}}, {restartPolicy: Always, "
                      "resources: {requests: {cpu: 2}}}, {resources: {requests: {cpu: 2}}}], "
                      "containers: [{resources: {requests: {cpu: 1}}}]"),
            "cpu=4000");
  EXPECT_EQ(resources("initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 2}}}], "
                      "containers: [{resources: {requests: {cpu: 1}}}], overhead: {cpu: 250m}"),
            "cpu=3250");
  EXPECT_EQ(resources("containers: [{resources: {requests: {cpu: 1, memory: 1}}}], resources: "
                      "{requests: {cpu: 4}}"),
            "cpu=4000 memory=1");
  EXPECT_EQ(resources("containers: [{resources: {limits: {cpu: 2}, requests: {memory: 5}}}]"),
            "cpu=2000 memory=5");
  EXPECT_EQ(resources("containers: [{resources: {requests: {cpu: 0.0001m, memory: 0.0001m, "
                      "ephemeral-storage: 1}}}]"),
            "cpu=1 memory=1 storage=1");
  EXPECT_EQ(resources("containers: []"), "");
}

TEST(KubernetesPodTest, WholeDevices) {
  EXPECT_EQ(devices("containers: [{resources: {limits: {nvidia.com/gpu: 2}}}, {resources: {limits: "
                    "{nvidia.com/gpu: 1}}}]"),
            "3 [resource == nvidia.com/gpu] 1000 0");
  EXPECT_EQ(devices("containers: [{resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}]"),
            "1 [resource == nvidia.com/mig-1g.10gb] 1000 0");
  EXPECT_EQ(devices("containers: [{resources: {limits: {huawei.com/Ascend910B3: 8}}}]"),
            "8 [resource == huawei.com/Ascend910B3] 1000 0");
  EXPECT_EQ(resources("containers: [{resources: {limits: {rdma/hca: 1, acme.example/x: 2}}}]"),
            "acme.example/x=2 rdma/hca=1");
}

TEST(KubernetesPodTest, SharesInThreeDialects) {
  EXPECT_EQ(
      devices("containers: [{resources: {limits: {nvidia.com/gpu: 2, nvidia.com/gpumem: 3000, "
              "nvidia.com/gpucores: 30}}}]"),
      "2 [resource == nvidia.com/gpu] 300 3000");
  EXPECT_EQ(devices("containers: [{resources: {limits: {nvidia.com/gpumem: 3000}}}]"),
            "1 [resource == nvidia.com/gpu] 1 3000");
  EXPECT_EQ(devices("containers: [{resources: {limits: {nvidia.com/gpu: 1, "
                    "nvidia.com/gpumem-percentage: 50, nvidia.com/gpucores: 20}}}]"),
            "1 [resource == nvidia.com/gpu] 500 0");
  // No word about memory means all of it.
  EXPECT_EQ(
      devices("containers: [{resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpucores: 20}}}]"),
      "1 [resource == nvidia.com/gpu] 1000 0");
  EXPECT_EQ(devices("containers: [{resources: {limits: {volcano.sh/vgpu-number: 1, "
                    "volcano.sh/vgpu-memory: 1024, volcano.sh/vgpu-cores: 50}}}]"),
            "1 [resource == volcano.sh/vgpu-number] 500 1024");
  EXPECT_EQ(devices("containers: [{resources: {limits: {volcano.sh/vgpu-number: 2}}}]"),
            "2 [resource == volcano.sh/vgpu-number] 1000 0");
  EXPECT_EQ(devices("containers: [{resources: {limits: {huawei.com/Ascend910B3: 1, "
                    "huawei.com/Ascend910B3-memory: 16384}}}]"),
            "1 [resource == huawei.com/Ascend910B3] 1 16384");
  EXPECT_EQ(devices("containers: []", ", annotations: {gpu-fraction: \"0.25\"}"),
            "1 [resource == nvidia.com/gpu] 250 0");
  EXPECT_EQ(devices("containers: []",
                    ", annotations: {gpu-memory: \"2000\", gpu-fraction-num-devices: \"2\"}"),
            "2 [resource == nvidia.com/gpu] 1 2000");
  EXPECT_EQ(devices("containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]",
                    ", annotations: {nvidia.com/use-gputype: \"L4,Z9\"}"),
            "1 [resource == nvidia.com/gpu && model in (L4, Z9)] 1000 0");
}

TEST(KubernetesPodTest, ReadsPlacement) {
  const TaskShape shape = shape_of(R"(
    nodeSelector: {zone: east},
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
          {matchExpressions: [{key: a, operator: In, values: [x, y]},
            {key: b, operator: Gt, values: ["3"]}]},
          {},
          {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]},
        preferredDuringSchedulingIgnoredDuringExecution: [
          {weight: 5, preference: {matchExpressions: [{key: c, operator: DoesNotExist}]}}]},
      podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [
        {labelSelector: {matchLabels: {app: db}}, topologyKey: zone, namespaceSelector: {}}]},
      podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [
        {weight: 9, podAffinityTerm: {topologyKey: host, namespaces: [other], matchLabelKeys: [app],
          labelSelector: {matchExpressions: [{key: t, operator: NotIn, values: [q]}]}}}]}},
    tolerations: [{key: a, operator: Exists, tolerationSeconds: 9}, {operator: Exists},
      {key: b, value: v, effect: NoExecute}],
    topologySpreadConstraints: [{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway,
      minDomains: 3, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor,
      labelSelector: {matchLabels: {app: x}}}],
    containers: [{ports: [{hostPort: 80, hostIP: 10.0.0.1}, {containerPort: 9}]}],
    initContainers: [{ports: [{hostPort: 53, protocol: UDP}]}])",
                                   ", labels: {app: x}");
  EXPECT_EQ(to_text(shape.nodes), "zone=east");
  ASSERT_EQ(shape.nodes_any_of.size(), 2U);
  EXPECT_EQ(to_text(shape.nodes_any_of[0]), "a in (x, y), b > 3");
  EXPECT_EQ(to_text(shape.nodes_any_of[1]), "metadata.name=n1");
  EXPECT_EQ(to_text(shape.preferred_nodes.at(0).nodes), "!c");
  ASSERT_EQ(shape.affinities.size(), 2U);
  EXPECT_EQ(shape.affinities[0].namespaces, (std::vector<std::string>{"*"}));
  EXPECT_EQ(shape.affinities[0].weight, 0);
  EXPECT_TRUE(shape.affinities[1].anti);
  EXPECT_EQ(shape.affinities[1].weight, 9);
  EXPECT_EQ(to_text(shape.affinities[1].tasks), "t not in (q), app=x");
  EXPECT_EQ(
      shape.tolerations,
      (std::vector<Toleration>{
          {.key = "a", .any_value = true},
          {.any_value = true},
          {.key = "b", .value = "v", .any_effect = false, .effect = TaintEffect::no_execute}}));
  const Spread& spread = shape.spreads.at(0);
  EXPECT_EQ(spread.max_skew, 2);
  EXPECT_EQ(spread.min_domains, 3);
  EXPECT_FALSE(spread.required);
  EXPECT_FALSE(spread.honor_node_affinity);
  EXPECT_TRUE(spread.honor_node_taints);
  EXPECT_EQ(shape.ports, (std::vector<HostPort>{{80, "TCP", "10.0.0.1"}, {53, "UDP", ""}}));
}

TEST(KubernetesPodTest, EmptyTermsMatchNothingAndAbsentSelectorsToo) {
  const TaskShape shape = shape_of(
      "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "{nodeSelectorTerms: [{}]}}, podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
      "[{topologyKey: z}, {topologyKey: z, labelSelector: {}}]}}");
  ASSERT_EQ(shape.nodes_any_of.size(), 1U);
  EXPECT_FALSE(shape.nodes_any_of[0].matches(Labels(std::vector<Label>{{"a", "b"}})));
  EXPECT_FALSE(shape.affinities.at(0).tasks.matches(Labels(std::vector<Label>{{"a", "b"}})));
  EXPECT_TRUE(shape.affinities.at(1).tasks.matches(Labels(std::vector<Label>{{"a", "b"}})));
}

TEST(KubernetesPodTest, RefusesHostilePods) {
  const auto amount = [](const std::string& text) {
    return refused_pod(pod_with("containers: [{resources: {requests: " + text + "}}]"));
  };
  EXPECT_EQ(amount("{cpu: -1}"),
            "error: 1:98: pod ml/p: spec.containers[0].resources.requests.cpu: \"-1\" is negative\n"
            "hint:  use zero or more\n");
  EXPECT_NE(amount("{memory: 1e30}").find("requests.memory: \"1e30\""), std::string::npos);
  EXPECT_NE(amount("{memory: [1]}").find("expected a quantity, found a list of 1"),
            std::string::npos);
  EXPECT_EQ(amount("{nvidia.com/gpu: 1000000000000000000}"),
            "error: 1:1: pod ml/p: asks for 1000000000000000000 of nvidia.com/gpu; 1 to 128 are "
            "possible on one node\n");
  EXPECT_EQ(amount("{nvidia.com/gpu: 1, nvidia.com/gpumem: 1, nvidia.com/gpucores: 101}"),
            "error: 1:1: pod ml/p: asks for more than 100 % of a card: 101\n");
  EXPECT_NE(refused_pod(pod_with("containers: [{resources: {requests: {memory: 1Ei}}}, {resources: "
                                 "{requests: {memory: 1Ei}}}]"))
                .find("memory of all containers is more than 2^60"),
            std::string::npos);
  EXPECT_EQ(refused_pod("{kind: Pod, metadata: {name: p}}"),
            "error: 1:1: pod p: spec is missing\nhint:  add \"spec\"\n");
  EXPECT_NE(refused_pod(pod_with("tolerations: [{operator: Gte}]"))
                .find("spec.tolerations[0].operator: \"Gte\" is not one of Equal, Exists"),
            std::string::npos);
  EXPECT_NE(
      refused_pod(pod_with("affinity: {nodeAffinity: {"
                           "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
                           "[{matchExpressions: [{key: a, operator: Like, values: [b]}]}]}}}"))
          .find("\"Like\" is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt"),
      std::string::npos);
  EXPECT_NE(refused_pod(pod_with("topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, "
                                 "whenUnsatisfiable: DoNotSchedule}]"))
                .find("maxSkew: 0 is out of range"),
            std::string::npos);
  EXPECT_NE(refused_pod(pod_with("containers: []", ", annotations: {gpu-fraction: \"1.5\"}"))
                .find("annotation gpu-fraction: \"1.5\" is no part of a card"),
            std::string::npos);
}

TEST(KubernetesPodTest, ReadsTimes) {
  EXPECT_EQ(parse_timestamp("1970-01-01T00:00:00Z")->us, 0);
  EXPECT_EQ(parse_timestamp("1969-12-31T23:59:59Z")->us, -1'000'000);
  EXPECT_EQ(parse_timestamp("2000-03-01T00:00:00.25Z")->us, std::int64_t{951'868'800'250'000});
  EXPECT_EQ(parse_timestamp("2024-12-31T23:59:60Z")->us, std::int64_t{1'735'689'600'000'000});
  for (const std::string_view bad :
       {"", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z",
        "2024-01-01T00:00:00", "2024-01-01T00:00:00.Z", "2024-01-01 00:00:00Z",
        "2024-1-1T0:0:0Z"}) {
    EXPECT_FALSE(parse_timestamp(bad).has_value()) << bad;
  }
}

}  // namespace tutti::kubernetes_test
