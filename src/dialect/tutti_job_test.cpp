#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/devices.h"
#include "dialect/tutti.h"
#include "model/catalog.h"

namespace tutti::tutti_job_test {

Workload workload_of(std::string_view yaml, const Catalog* catalog = nullptr) {
  auto workload = parse_workload(yaml, "test", catalog);
  EXPECT_TRUE(workload.has_value()) << (workload ? "" : workload.error().text());
  return workload ? *std::move(workload) : Workload{};
}

const RoleSpec& role_of(const Workload& workload) {
  return workload.jobs.at(0).spec->gangs.at(0)->groups.at(0).roles.at(0);
}

const TaskShape& shape_of(const Workload& workload) { return role_of(workload).alternatives.at(0); }

std::string refused(std::string_view yaml) {
  const auto workload = parse_workload(yaml, "test", nullptr);
  return workload ? "accepted" : workload.error().text();
}

/// The error of one job's fields.
std::string refused_job(const std::string& fields) {
  return refused("jobs:\n- name: j\n  " + fields + "\n");
}

TEST(TuttiJobTest, ReadsHowLongItIsShown) {
  const auto ttl = [](const std::string& field) {
    return workload_of("jobs:\n- name: j\n  cpu: 1\n" + field).jobs.at(0).spec->ttl;
  };
  EXPECT_EQ(ttl(""), JobSpec::as_usual);
  EXPECT_EQ(ttl("  ttl: 1h\n"), Duration::seconds(3600));
  EXPECT_EQ(ttl("  ttl: 0s\n"), Duration{});
}

TEST(TuttiJobTest, ReadsWhatIsRun) {
  const Workload workload = workload_of(R"(
jobs:
  - name: train
    held: true
    command: [python3, train.py, "--lr=0.1"]
    directory: /data/train
    output: /data/train/out.log
    stop_signal: SIGUSR1
    grace: 5min
    environment: {OMP_NUM_THREADS: 8, TOKEN: "a=b", EMPTY: ""}
  - name: shell
    command: echo $HOME && sleep 1
)");
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_TRUE(workload.jobs[0].spec->held);
  const LaunchSpec& launch = role_of(workload).launch;
  EXPECT_EQ(launch.command, (std::vector<std::string>{"python3", "train.py", "--lr=0.1"}));
  EXPECT_EQ(launch.directory, "/data/train");
  EXPECT_EQ(launch.output, "/data/train/out.log");
  EXPECT_EQ(launch.stop_signal, "USR1");
  EXPECT_EQ(launch.grace, Duration::seconds(300));
  EXPECT_EQ(launch.environment, "");
  const std::vector<Variable>& variables = workload.jobs[0].environment;
  ASSERT_EQ(variables.size(), 3U);
  EXPECT_EQ(variables[0].value, "8");
  EXPECT_EQ(variables[1].value, "a=b");
  EXPECT_EQ(variables[2].value, "");
  const LaunchSpec& shell = workload.jobs[1].spec->gangs[0]->groups[0].roles[0].launch;
  EXPECT_EQ(shell.command, (std::vector<std::string>{"/bin/sh", "-c", "echo $HOME && sleep 1"}));
  EXPECT_EQ(shell.stop_signal, "TERM");
  EXPECT_FALSE(workload.jobs[1].spec->held);
}

TEST(TuttiJobTest, RefusesWhatCannotBeRun) {
  using testing::HasSubstr;
  EXPECT_THAT(refused_job("command: []"), HasSubstr("expected a program, found a list of 0"));
  EXPECT_THAT(refused_job("command: ['', x]"), HasSubstr("expected a program"));
  EXPECT_THAT(refused_job("command: 7"), HasSubstr("expected a program, found integer 7"));
  EXPECT_THAT(refused_job("directory: data"), HasSubstr("\"data\" is no absolute path"));
  EXPECT_THAT(refused_job("output: out.log"), HasSubstr("no absolute path"));
  EXPECT_THAT(refused_job("stop_signal: KILL"), HasSubstr("no signal \"KILL\" asks to end"));
  EXPECT_THAT(refused_job("grace: 25h"), HasSubstr("longer than a day"));
  EXPECT_THAT(refused_job("environment: {a=b: c}"), HasSubstr("no name of a variable"));
  EXPECT_THAT(refused_job("environment: [a]"), HasSubstr("expected a map"));
  EXPECT_THAT(refused_job("command: x\n  roles: [{name: r}]"),
              HasSubstr("stands beside \"roles\""));
}

TEST(TuttiJobTest, ReadsTheShortForm) {
  const Workload workload = workload_of(R"(
jobs:
  - name: train
    queue: research
    user: ana
    space: lab
    priority: -5
    labels: {app: x}
    at: 90s
    length: 2h
    tasks: 4
    min: 2
    cpu: 1.5
    memory: 16Gi
    storage: 0
    resources: {rdma/hca: 1}
    gpus: 2
    together: rack
    stack: ["cuda >= 12.2", "driver<550"]
    ports: [8080, 53/UDP, {port: 9, ip: 10.0.0.1}]
    tolerations: ["a=b:no_schedule", c, "*"]
    nodes: {zone: east, rack: [r1, r2], gen: {greater: 3, exists: true}, old: {exists: false}}
    nodes_any_of: [{a: x}, {b: y}]
    nodes_preferred: [{weight: 7, nodes: {a: x}}]
)");
  ASSERT_EQ(workload.jobs.size(), 1U);
  const Submission& job = workload.jobs.front();
  EXPECT_EQ(job.spec->name, "train");
  EXPECT_EQ(job.spec->queue, "research");
  EXPECT_EQ(job.spec->user, "ana");
  EXPECT_EQ(job.spec->space, "lab");
  EXPECT_EQ(job.spec->priority, -5);
  EXPECT_EQ(job.at, Instant{} + Duration::seconds(90));
  EXPECT_EQ(job.length, Duration::seconds(7200));
  EXPECT_EQ(job.gpu_milli, 8000);
  EXPECT_EQ(job.spec->gangs.front()->closeness, (Closeness{"rack", true}));
  const RoleSpec& role = role_of(workload);
  EXPECT_EQ(role.count, 4U);
  EXPECT_EQ(role.min, 2U);
  EXPECT_EQ(*role.labels.find("app"), "x");
  const TaskShape& shape = shape_of(workload);
  EXPECT_EQ(shape.resources,
            (std::vector<NamedAmount>{
                {"cpu", 1500}, {"memory", std::int64_t{16} << 30}, {"rdma/hca", 1}}));
  ASSERT_EQ(shape.devices.size(), 1U);
  EXPECT_EQ(shape.devices[0].count, 2);
  EXPECT_EQ(shape.devices[0].where.text(), "kind == gpu");
  EXPECT_EQ(to_text(shape.nodes), "zone=east, rack in (r1, r2), gen > 3, gen, !old");
  EXPECT_EQ(shape.nodes_any_of.size(), 2U);
  EXPECT_EQ(shape.preferred_nodes.at(0).weight, 7);
  EXPECT_EQ(shape.stack, (std::vector<StackRequirement>{{"cuda", Operator::greater, "12.2"},
                                                        {"driver", Operator::less, "550"}}));
  EXPECT_EQ(shape.ports,
            (std::vector<HostPort>{{8080, "TCP", ""}, {53, "UDP", ""}, {9, "TCP", "10.0.0.1"}}));
  EXPECT_EQ(shape.tolerations,
            (std::vector<Toleration>{{.key = "a", .value = "b", .any_effect = false},
                                     {.key = "c", .any_value = true},
                                     {.any_value = true}}));
}

TEST(TuttiJobTest, ReadsGangsGroupsRoles) {
  const Workload workload = workload_of(R"(
job:
  name: serve
  labels: {app: s}
  gangs:
    - copies: 3
      near: zone
      groups:
        - copies: 2
          together: rack
          roles:
            - {name: head, cpu: 1, labels: {part: head}}
            - name: worker
              tasks: 4
              memory: 1Gi
              alternatives: [{gpus: 1}, {gpus: 0.5, cpu: 2}]
)");
  const GangSpec& gang = *workload.jobs.at(0).spec->gangs.at(0);
  EXPECT_EQ(gang.copies, 3U);
  EXPECT_EQ(gang.closeness, (Closeness{"zone", false}));
  ASSERT_EQ(gang.groups.size(), 1U);
  EXPECT_EQ(gang.groups[0].copies, 2U);
  EXPECT_EQ(gang.groups[0].closeness, (Closeness{"rack", true}));
  ASSERT_EQ(gang.groups[0].roles.size(), 2U);
  EXPECT_EQ(*gang.groups[0].roles[0].labels.find("part"), "head");
  EXPECT_EQ(*gang.groups[0].roles[1].labels.find("app"), "s");
  const RoleSpec& worker = gang.groups[0].roles[1];
  EXPECT_EQ(worker.min, 4U);
  ASSERT_EQ(worker.alternatives.size(), 2U);
  EXPECT_EQ(worker.alternatives[1].devices.at(0).compute_permille, 500);
  EXPECT_EQ(worker.alternatives[1].resources,
            (std::vector<NamedAmount>{{"cpu", 2000}, {"memory", std::int64_t{1} << 30}}));
  EXPECT_EQ(workload.jobs[0].gpu_milli, 3 * 2 * 4 * 1000);
}

/// "count where permille memory_mib closeness" of the devices of one job.
std::string devices(const std::string& fields, const Catalog* catalog = nullptr) {
  const Workload workload = workload_of("jobs: [{name: j, " + fields + "}]", catalog);
  std::string out;
  for (const DeviceRequest& request : shape_of(workload).devices) {
    out += (out.empty() ? "" : "; ") + std::to_string(request.count) + " [" + request.where.text() +
           "] " + std::to_string(request.compute_permille) + " " +
           std::to_string(request.memory_mib) + " " + request.closeness.level +
           (request.closeness.required ? "!" : "");
  }
  return out;
}

TEST(TuttiJobTest, DevicesInEverySpelling) {
  EXPECT_EQ(devices("gpus: 0"), "");
  EXPECT_EQ(devices("gpus: 0.25"), "1 [kind == gpu] 250 0 ");
  EXPECT_EQ(devices("gpus: 2.0"), "2 [kind == gpu] 1000 0 ");
  EXPECT_EQ(devices("gpus: 4xA100-80G"), "4 [model == A100-80G] 1000 0 ");
  EXPECT_EQ(devices("gpus: 1xMLU370-X8"), "1 [model == MLU370-X8] 1000 0 ");
  EXPECT_EQ(devices("npus: 8"), "8 [kind == npu] 1000 0 ");
  EXPECT_EQ(devices("gpu: {where: \"fp8 || bf16\", count: 2, together: island}"),
            "2 [kind == gpu && (fp8 || bf16)] 1000 0 island!");
  EXPECT_EQ(devices("gpu: {share: 300}"), "1 [kind == gpu] 300 0 ");
  EXPECT_EQ(devices("gpu: {share: 0.3}"), "1 [kind == gpu] 300 0 ");
  EXPECT_EQ(devices("gpu: {share: 12.5%, memory: 8Gi}"), "1 [kind == gpu] 125 8192 ");
  EXPECT_EQ(devices("gpu: {memory: 8Gi}"), "1 [kind == gpu] 1 8192 ");
  EXPECT_EQ(devices("gpus: 1, devices: [{where: kind == nic, count: 2, near: numa}]"),
            "1 [kind == gpu] 1000 0 ; 2 [kind == nic] 1000 0 numa");
}

TEST(TuttiJobTest, ModelsMeanWhatTheCatalogSays) {
  const Catalog catalog = Catalog::builtin().value();
  // Words of the catalog mean whole cards; others are whatever a fleet calls so.
  EXPECT_EQ(devices("gpus: 2xNVIDIA-L4", &catalog), "2 [model == L4 && !profile] 1000 0 ");
  EXPECT_EQ(devices("gpus: 2 x own", &catalog), "2 [model == own] 1000 0 ");
  for (const std::string_view spelled : {"A100-80GB", "a100 80gb", "NVIDIA-A100-SXM4-80GB"}) {
    EXPECT_EQ(devices("gpus: 8x " + std::string(spelled), &catalog),
              "8 [model == A100-80G && !profile] 1000 0 ")
        << spelled;
  }
  const std::string any = devices("gpus: 2xA100", &catalog);
  EXPECT_NE(any.find("A100-40G"), std::string::npos) << any;
  EXPECT_NE(any.find("A100-80G"), std::string::npos) << any;
}

TEST(TuttiJobTest, ModelsInExpressionsMeanTheSame) {
  const Catalog catalog = Catalog::builtin().value();
  const auto where = [&](const std::string& text) {
    return devices("gpu: {where: '" + text + "'}", &catalog);
  };
  const std::string family = models_text(&catalog, std::vector<std::string_view>{"A100"});
  EXPECT_TRUE(family.starts_with("model in (")) << family;
  const auto canonical = AttributeExpression::parse("kind == gpu && (" + family + ")");
  EXPECT_EQ(where("model == A100"), "1 [" + canonical->text() + "] 1000 0 ");
  EXPECT_EQ(where("model not in (L4, \"H100-80GB\") && fp8"),
            "1 [kind == gpu && (model not in (L4, H100-80G) && fp8)] 1000 0 ");
  EXPECT_EQ(where("fp8 || model!=own||model == l4"),
            "1 [kind == gpu && (fp8 || model != own || model == L4)] 1000 0 ");
  EXPECT_EQ(where("inner == model"), "1 [kind == gpu && inner == model] 1000 0 ");
}

TEST(TuttiJobTest, RefusesNumbersThatAreNone) {
  const auto refused = [](const std::string& where) {
    const auto jobs = parse_workload("job: {name: j, gpu: {where: '" + where + "'}}", "x", nullptr);
    return jobs ? "" : jobs.error().text();
  };
  EXPECT_EQ(refused("bf16 && memory >= 40GB"),
            "error: 1:29: job.gpu.where: \"40GB\" is not a quantity (character 19)\n"
            "hint:  use G (decimal) or Gi (binary), without B\n");
  EXPECT_NE(refused("memory in (40Gi, lots)").find("(character 18)"), std::string::npos);
  EXPECT_NE(refused("fp8_tflops > much").find("(character 14)"), std::string::npos);
  EXPECT_EQ(refused("memory >= 4e4 && memory < 0.5Ti && fp8_tflops > -1.5 && memory"), "");
}

TEST(TuttiJobTest, CopiesArriveOneAfterTheOther) {
  const Workload workload =
      workload_of("jobs: [{name: \"n[0-1]\", copies: 2, at: 10s, every: 5s}]");
  std::string out;
  for (const Submission& job : workload.jobs) {
    out += job.spec->name + "@" + std::to_string(job.at.us / 1'000'000) + " ";
  }
  EXPECT_EQ(out, "n0-0@10 n0-1@15 n1-0@20 n1-1@25 ");
  EXPECT_EQ(workload.jobs[0].spec->gangs[0], workload.jobs[3].spec->gangs[0]);  // One object.
}

TEST(TuttiJobTest, TasksKeepTheLabelsThatSelectorsRead) {
  const Workload workload = workload_of(R"(
jobs:
  - {name: a, space: s, labels: {app: a, team: t}, cpu: 1}
  - name: b
    anti_affinity: [{tasks: {app: a}, within: host}]
    affinity: [{tasks: {app: {not_in: [b, c]}}, within: rack, weight: 9, spaces: [x]}]
    spread: [{tasks: {tier: web}, over: zone, skew: 2, domains: 3, required: false}]
)");
  EXPECT_EQ(shape_of(workload).labels, Labels(std::vector<Label>{{"app", "a"}}));
  EXPECT_EQ(shape_of(workload).space, "s");
  const TaskShape& b = workload.jobs[1].spec->gangs[0]->groups[0].roles[0].alternatives[0];
  ASSERT_EQ(b.affinities.size(), 2U);
  EXPECT_FALSE(b.affinities[0].anti);
  EXPECT_EQ(b.affinities[0].weight, 9);
  EXPECT_TRUE(b.affinities[1].anti);
  EXPECT_EQ(b.affinities[1].topology_key, "host");
  EXPECT_EQ(b.spreads.at(0).max_skew, 2);
  EXPECT_FALSE(b.spreads.at(0).required);
}

TEST(TuttiJobTest, WithoutSelectorsNoLabelsSplitShapes) {
  const Workload workload = workload_of("jobs: [{name: a, labels: {app: a}}]");
  EXPECT_EQ(shape_of(workload).labels, Labels());
}

TEST(TuttiJobTest, TheMixIsGivenOrDerived) {
  const Workload derived = workload_of(
      "jobs: [{name: a, copies: 2, gpus: 1, cpu: 4, memory: 1Gi, together: rack}, "
      "{name: b, tasks: 30, cpu: 1}]");
  ASSERT_EQ(derived.mix.size(), 2U);
  EXPECT_EQ(derived.mix[0].count, 30U);
  EXPECT_EQ(derived.mix[1].shape.resources, (std::vector<NamedAmount>{{"cpu", 4000}}));
  const Workload given = workload_of("mix: [{weight: 5, gpus: 8}]\njobs: [{name: a, cpu: 1}]");
  ASSERT_EQ(given.mix.size(), 1U);
  EXPECT_EQ(given.mix[0].count, 5U);
  EXPECT_EQ(given.mix[0].shape.devices.at(0).count, 8);
}

TEST(TuttiJobTest, RefusesEmptyFilesAndDoubleNames) {
  const std::string hint = "hint:  a workload has at least: jobs: [{name: j0, cpu: 1}]\n";
  EXPECT_EQ(refused(""), "error: 1:1: the file is empty\n" + hint);
  EXPECT_EQ(refused("nodes: []"), "error: 1:1: the file describes no jobs\n" + hint);
  EXPECT_EQ(refused("jobs:\n- name: a\n- {name: a}"),
            "error: 3:10: jobs[1].name: job \"a\" appears twice\n");
  EXPECT_EQ(refused("jobs:\n- {name: a, space: x}\n- {name: a, space: y}"), "accepted");
  EXPECT_EQ(refused("jobs: [{cpu: 1}]"),
            "error: 1:8: jobs[0].name is missing\nhint:  add \"name\"\n");
  EXPECT_EQ(refused("jobs: [{name: a, copies: 1000001}]"),
            "error: 1:26: jobs[0].copies: 1000001 jobs; the file has room for 1000000\n");
  EXPECT_EQ(refused("jobs: [{name: a, gangs: []}]"),
            "error: 1:25: jobs[0].gangs: the list is empty\n");
}

TEST(TuttiJobTest, RefusesImpossibleDevices) {
  const std::string at = "error: 3:9: jobs[0].gpus: ";
  EXPECT_EQ(refused_job("gpus: 1000000000000000000"),
            at + "1000000000000000000 devices on one node; 0 to 128 are possible\n"
                 "hint:  use more tasks with fewer devices each\n");
  EXPECT_EQ(refused_job("gpus: -1"), at + "-1 devices on one node; 0 to 128 are possible\n"
                                          "hint:  use more tasks with fewer devices each\n");
  EXPECT_EQ(refused_job("gpus: 2.5"),
            at + "only a single device can be taken in part\n"
                 "hint:  for equal parts of several: gpu: {count: 2, share: 50%}\n");
  EXPECT_EQ(refused_job("gpus: 0.0001"), at + "less than a thousandth of a device\n");
  EXPECT_EQ(refused_job("gpus: 1e30").substr(0, at.size()), at);
  EXPECT_EQ(refused_job("gpus: -0.5").substr(0, at.size()), at);
  EXPECT_EQ(refused_job("gpus: .nan"), at + "\".nan\" is no number of cards of a model\n"
                                            "hint:  for example: 2, 0.5 or 8xA100-80G\n");
  EXPECT_EQ(
      refused_job("gpu: {share: 1}"),
      "error: 3:16: jobs[0].gpu.share: a share of 1 could be all of the card or a thousandth\n"
      "hint:  write 100% or 0.1%\n");
  EXPECT_EQ(refused_job("gpu: {share: 101%}"),
            "error: 3:16: jobs[0].gpu.share: a share of 1010 per mille; 1 to 1000 are possible\n");
  EXPECT_EQ(refused_job("gpu: {where: \"memory >=\"}"),
            "error: 3:16: jobs[0].gpu.where: expected a value, found the end (character 10)\n"
            "hint:  an example: memory >= 40Gi && fp8 && vendor in (nvidia, huawei)\n");
  EXPECT_EQ(refused_job("gpu: {together: rack}"),
            "error: 3:19: jobs[0].gpu.together: \"rack\" is no level inside a node\n"
            "hint:  island or numa; nodes are kept near by the task's own field\n");
}

TEST(TuttiJobTest, RefusesTheRestWithItsPlace) {
  EXPECT_EQ(refused_job("cpus: 1"),
            "error: 3:3: jobs[0]: unknown field \"cpus\"\nhint:  did you mean \"cpu\"?\n");
  EXPECT_EQ(refused_job("cpu: .inf").substr(0, 30), "error: 3:8: jobs[0].cpu: \".inf");
  EXPECT_EQ(refused_job("tasks: 100001").substr(0, 49),
            "error: 3:10: jobs[0].tasks: 100001 is out of rang");
  EXPECT_EQ(refused_job("gangs: [{copies: 1000, tasks: 1000}]"),
            "error: 2:9: jobs[0].name: the job has more than 100000 tasks\n"
            "hint:  split it into several jobs\n");
  EXPECT_EQ(refused_job("tasks: 2\n  min: 3"),
            "error: 4:8: jobs[0].min: 3 is out of range\nhint:  allowed: 0 to 2\n");
  EXPECT_EQ(refused_job("gangs: [{groups: [{copies: 70000}]}]"),
            "error: 2:9: jobs[0].name: a gang of the job has more than 65535 roles\n"
            "hint:  groups of equal tasks need one role with more tasks, not more copies\n");
  EXPECT_EQ(refused_job("length: 0s"),
            "error: 3:11: jobs[0].length: a job takes some time\n"
            "hint:  leave it out for a job that runs until it is stopped\n");
  EXPECT_EQ(refused_job("nodes: {a: {like: b}}"),
            "error: 3:15: jobs[0].nodes.a: \"like\" is no operator\n"
            "hint:  known: in, not_in, exists, does_not_exist, greater, less\n");
  EXPECT_EQ(refused_job("nodes: {a: []}"),
            "error: 3:14: jobs[0].nodes.a: names no value, so nothing could match\n");
  EXPECT_EQ(refused_job("nodes: {a: 1}"),
            "error: 3:14: jobs[0].nodes.a: expected text, found integer 1\n"
            "hint:  labels are text: quote it\n");
  EXPECT_EQ(refused_job("stack: cuda"),
            "error: 3:10: jobs[0].stack: \"cuda\" is no requirement on a version\n"
            "hint:  for example: cuda >= 12.2; operators are >=, == and <\n");
  EXPECT_EQ(refused_job("ports: 65536"),
            "error: 3:10: jobs[0].ports: \"65536\" is no port\n"
            "hint:  1 to 65535, as in 8080 or 53/UDP\n");
  EXPECT_EQ(refused_job("together: a\n  near: b"),
            "error: 4:9: jobs[0].near: \"together\" is there already\n"
            "hint:  together: must share a domain; near: should; give one of them\n");
  EXPECT_EQ(refused_job("roles: [{name: a}, {name: a}]"),
            "error: 3:10: jobs[0].roles: two roles are called \"a\"\n");
}

}  // namespace tutti::tutti_job_test
