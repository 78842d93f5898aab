/// A run of the whole engine whose journal touches every event and phase. Its replay from text must
/// end in the same state, and so must that of the journals that older versions have left behind.
///
/// TUTTI_UPDATE=1 rewrites tests/golden/journal-0.1.*: only before the release of that name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "generated/source_dir.h"
#include "model/catalog.h"
#include "model/codec.h"
#include "policy/registry.h"

namespace tutti::journal_test {

/// Keeps the journal as the lines that a store would write.
class LineJournal final : public Journal {
 public:
  Result<void> append(std::span<const Event> events, Instant at) override {
    for (const Event& event : events) lines += encode(event, at) + "\n";
    return {};
  }
  std::string lines;
};

/// Takes orders; what becomes of them is the script's affair.
class SilentBackend final : public Backend {
 public:
  void execute(const Action& action, const State&) override { orders.push_back(action); }
  std::vector<Observed> observe() override { return {}; }
  std::vector<Action> orders;
};

TaskShape shape(std::int64_t cpu, std::string_view where, std::uint16_t gpus,
                std::uint16_t permille = DeviceRequest::whole) {
  TaskShape out{.resources = {{"cpu", cpu}, {"memory", std::int64_t{16} << 30}}};
  if (gpus == 0) return out;
  out.devices = {
      {.where = *AttributeExpression::parse(where), .count = gpus, .compute_permille = permille}};
  return out;
}

RoleSpec role(std::string name, std::uint32_t count, std::vector<TaskShape> alternatives) {
  return {.name = std::move(name),
          .count = count,
          .min = count,
          .alternatives = std::move(alternatives)};
}

std::shared_ptr<const GangSpec> gang(std::vector<RoleSpec> roles, std::uint32_t copies = 1) {
  return std::make_shared<const GangSpec>(
      GangSpec{.copies = copies, .groups = {{.roles = std::move(roles)}}});
}

class Script {
 public:
  Script() : factory_(*builtin_policy("default")), engine_(journal_, backend_, factory_) {}

  void send(const Event& event) { send_all({event}); }
  void send_all(const std::vector<Event>& events) {
    now_.us += 1'500'000;
    const auto step = engine_.step(events, now_);
    ASSERT_TRUE(step.has_value()) << step.error().text();
    ASSERT_TRUE(step->refused.empty()) << step->refused.front().why.text();
    ASSERT_EQ(state().verify(), "");
  }
  JobId submit(JobSpec spec) {
    const JobId id(next_job_++);
    send(JobSubmitted{id, std::make_shared<const JobSpec>(std::move(spec))});
    return id;
  }
  std::uint16_t attempt(const TaskId& id) const {
    return state().tasks()[state().find(id)].attempt;
  }
  TaskPhase phase(const TaskId& id) const {
    const TaskIndex row = state().find(id);
    return row.valid() ? state().tasks()[row].phase : TaskPhase::cancelled;
  }
  std::string node_of(const TaskId& id) const {
    return state().fleet().node(state().tasks()[state().find(id)].node).name;
  }
  void start(const TaskId& id) { send(TaskStarted{id, attempt(id)}); }
  void exit(const TaskId& id, std::int32_t code) { send(TaskExited{id, attempt(id), code}); }
  void refuse(const TaskId& id, std::string why) {
    send(TaskRefused{id, attempt(id), std::move(why)});
  }
  const State& state() const { return engine_.state(); }
  const std::string& lines() const { return journal_.lines; }

 private:
  RecipeFactory factory_;
  LineJournal journal_;
  SilentBackend backend_;
  Engine engine_;
  Instant now_;
  std::uint64_t next_job_ = 1;
};

NodeSpec a100_node(const Catalog& catalog, const std::string& name, const std::string& rack) {
  NodeSpec node{.name = name,
                .pool = "training",
                .capacity = {{"cpu", 64'000}, {"memory", std::int64_t{512} << 30}, {"pods", 32}},
                .labels = Labels(std::vector<Label>{{"rack", rack}, {"zone", "z1"}}),
                .stack = {{"cuda", "12.4"}}};
  for (std::uint16_t ordinal = 0; ordinal < 8; ++ordinal) {
    node.devices.push_back({.type = *catalog.find("A100-80G"),
                            .device = {.island = static_cast<std::uint16_t>(ordinal / 4),
                                       .numa = static_cast<std::uint8_t>(ordinal / 4),
                                       .id = name + "-" + std::to_string(ordinal)}});
  }
  return node;
}

/// A card cut in slices, a card of another model and a network adapter.
NodeSpec mixed_node(const Catalog& catalog) {
  NodeSpec node{.name = "mixed-0",
                .capacity = {{"cpu", 16'000},
                             {"example.com/licence", 2},
                             {"memory", std::int64_t{128} << 30}},
                .taints = {{.key = "dedicated", .value = "ml"}}};
  DeviceType slice{.model = "A30", .vendor = "nvidia", .memory_mib = 5836, .profile = "1g.6gb"};
  node.devices = {{.type = *catalog.find("A30"), .device = {.mode = DeviceMode::mig}},
                  {.type = slice, .device = {.parent = 0}},
                  {.type = slice, .device = {.parent = 0}},
                  {.type = *catalog.find("T4"), .device = {}},
                  {.type = *catalog.find("ConnectX-7"), .device = {}}};
  node.devices.front().device.health = Health::degraded;  // Whole, it is not offered.
  return node;
}

void describe(Script& run, const Catalog& catalog) {
  run.send(TreesDeclared{{{.name = "fabric", .levels = {"zone", "rack"}}}});
  run.send_all({NodeReported{a100_node(catalog, "gpu-0", "r1")},
                NodeReported{a100_node(catalog, "gpu-1", "r1")},
                NodeReported{a100_node(catalog, "gpu-2", "r2")},
                NodeReported{mixed_node(catalog)}});
  run.send(QueueSet{{.name = "research", .limit = {{"gpu", 16}}, .weight = 3}});
  run.send(QueueSet{{.name = "batch", .guarantee = {{"cpu", 4000}}}});
  run.send(MixSet{{{.shape = shape(4000, "", 1), .count = 7},
                   {.shape = shape(2000, "", 1, 250), .count = 5},
                   {.shape = shape(1000, "", 0), .count = 3}}});
}

/// A gang starts, a device fails, a member is lost, refused, replaced; in the end it succeeds.
void run_training(Script& run) {
  JobSpec spec{.name = "train",
               .queue = "research",
               .user = "ada",
               .space = "vision",
               .priority = 10,
               .labels = Labels(std::vector<Label>{{"app", "train"}})};
  spec.gangs = {gang({role("worker", 2, {shape(8000, "memory >= 40Gi && bf16", 4)})})};
  const JobId job = run.submit(spec);
  const TaskId first{job, 0};
  const TaskId second{job, 1};
  run.start(first);
  run.refuse(second, "no space left on \"scratch\"");
  run.start(second);
  run.send(TaskExited{second, 1, 0});  // Late, about the first attempt: changes nothing.
  run.send(DeviceHealthChanged{run.node_of(first), 0, Health::failed});
  run.send(NodeLost{run.node_of(second)});
  run.start(second);
  run.exit(first, 0);
  run.exit(second, 0);
}

/// Shares of one card, an alternative, a failure, and a job that is cancelled while it waits.
void run_small_jobs(Script& run) {
  JobSpec share{.name = "notebook", .queue = "batch"};
  TaskShape tolerant = shape(1000, "model == T4", 1, 500);
  tolerant.tolerations = {{.key = "dedicated", .any_value = true}};
  share.gangs = {gang({role("t", 1, {tolerant})}, 2)};
  const JobId notebooks = run.submit(share);
  run.send_all({TaskStarted{{notebooks, 0}, 1}, TaskStarted{{notebooks, 1}, 1}});
  run.exit({notebooks, 0}, 1);

  JobSpec either{.name = "either", .queue = "batch"};
  either.gangs = {gang({role("t", 1, {shape(1000, "fp8", 1), shape(1000, "bf16", 1)})})};
  const JobId other = run.submit(either);
  run.start({other, 0});

  JobSpec never{.name = "too-large"};
  never.gangs = {gang({role("t", 1, {shape(1'000'000, "", 0)})})};
  run.send(JobCancelled{run.submit(never)});

  run.send(JobCancelled{notebooks});  // The cycle orders the running one to stop.
  run.exit({notebooks, 1}, 143);
  run.exit({other, 0}, 0);
}

/// What a task may ask for besides amounts.
TaskShape choosy() {
  TaskShape out = shape(500, "", 0);
  out.nodes.requirements = {{"zone", Operator::in, {"z1", "z2"}}};
  out.nodes_any_of = {{{{"rack", Operator::exists, {}}}}, {{{"slots", Operator::greater, {"3"}}}}};
  out.preferred_nodes = {{.weight = 5, .nodes = {{{"rack", Operator::not_in, {"r9"}}}}}};
  out.stack = {{.name = "cuda", .op = Operator::greater, .version = "12.2"}};
  out.ports = {{.port = 9000, .protocol = "UDP"}};
  out.affinities = {{.tasks = {{{"app", Operator::in, {"service"}}}},
                     .topology_key = "rack",
                     .namespaces = {"web"},
                     .anti = true,
                     .weight = 20}};
  out.spreads = {
      {.tasks = {{{"app", Operator::in, {"service"}}}}, .topology_key = "rack", .required = false}};
  out.space = "web";
  out.labels.set("app", "service");
  return out;
}

/// Nodes come back, are cordoned and re-described while a service runs; then a node takes it down.
void run_service(Script& run, const Catalog& catalog) {
  for (const char* name : {"gpu-0", "gpu-1", "gpu-2"}) {
    run.send(NodeReported{a100_node(catalog, name, "r3")});
  }
  JobSpec spec{.name = "service", .user = "eve", .space = "web", .priority = -5};
  GangSpec parts{.closeness = {.level = "zone", .required = true}};
  parts.groups = {
      {.closeness = {.level = "rack"},
       .copies = 2,
       .roles = {role("server", 1, {choosy()}), role("cache", 1, {shape(250, "", 0)})}}};
  parts.groups[0].roles[1].labels.set("tier", "cache");
  spec.gangs = {std::make_shared<const GangSpec>(parts)};
  const JobId job = run.submit(spec);
  for (std::uint32_t task = 0; task < 4; ++task) run.start({job, task});
  const std::string node = run.node_of({job, 1});
  run.send(NodeCordoned{node, true});
  NodeSpec smaller = a100_node(catalog, node, "r3");
  smaller.capacity = {{"cpu", 100}, {"memory", std::int64_t{8} << 30}};
  smaller.devices.resize(6);
  smaller.cordoned = true;
  run.send(NodeReported{smaller});
  run.send(NodeLost{node});
  run.send(NodeCordoned{node, false});
}

/// A job fails and starts anew after its pause; what waits for it follows, and takes too long.
void run_by_rules(Script& run) {
  JobSpec spec{.name = "again", .queue = "batch"};
  spec.rules = {.retries = 2, .pause = Duration::seconds(1), .pause_max = Duration::seconds(5)};
  spec.rules.gang_rules = {{.when = GangRule::When::any, .role = "t", .exit_code = 9}};
  spec.array = {{.first = 4, .last = 8, .step = 4}};
  spec.gangs = {gang({role("t", 1, {shape(1000, "", 0)})}, 2)};
  spec.rules.at_once = 1;
  const JobId job = run.submit(spec);
  JobSpec next{.name = "next"};
  next.rules = {.after = {{job, Dependency::On::success}}, .run_time_max = Duration::seconds(2)};
  next.gangs = {gang({role("t", 1, {shape(1000, "", 0)})})};
  const JobId waiter = run.submit(next);
  run.start({job, 0});
  run.exit({job, 0}, 9);
  run.send_all({});
  run.start({job, 0});
  run.exit({job, 0}, 0);
  run.start({job, 1});
  run.exit({job, 1}, 0);
  run.start({waiter, 0});
  run.send_all({});
  run.send_all({});
  run.exit({waiter, 0}, 143);
}

/// A job of many equal gangs runs, and the journal ends with some of it in each phase.
void run_sweep(Script& run) {
  JobSpec spec{
      .name = "sweep", .queue = "batch", .labels = Labels(std::vector<Label>{{"team", "调度"}})};
  spec.gangs = {gang({role("t", 1, {shape(8000, "vendor == nvidia", 1)})}, 6)};
  const JobId job = run.submit(spec);
  run.start({job, 0});
  run.start({job, 1});
  run.exit({job, 0}, 0);
  run.exit({job, 1}, 7);
  run.start({job, 2});
  JobSpec pair{.name = "pair"};
  pair.gangs = {gang({role("t", 2, {shape(20'000, "", 0)})}),
                gang({role("never", 1, {shape(1'000'000, "", 0)})})};
  const JobId both = run.submit(pair);
  run.start({both, 0});
  run.start({both, 1});
  run.send(JobHeld{both, true});
  run.send(JobHeld{both, false});
  run.send(JobCancelled{both});
}

std::set<std::uint16_t> tags_of(const std::string& lines) {
  std::set<std::uint16_t> tags;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) tags.insert(tag_of(decode_event(line)->first));
  return tags;
}

/// Applies every line, and returns the phases that tasks were seen in.
std::set<TaskPhase> replay(const std::string& lines, State& state) {
  std::set<TaskPhase> phases;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const auto decoded = decode_event(line);
    EXPECT_TRUE(decoded.has_value()) << decoded.error().text() << line;
    if (!decoded) return {};
    const auto& [event, at] = *decoded;
    const auto admitted = state.admissible(event);
    EXPECT_TRUE(admitted.has_value()) << admitted.error().text() << line;
    if (!admitted) return {};
    state.apply(event, at);
    EXPECT_EQ(state.verify(), "") << line;
    for (std::size_t row = 0; row < state.tasks().size(); ++row) {
      const Task& task = state.tasks()[TaskIndex(row)];
      if (task.gang.valid()) phases.insert(task.phase);
    }
  }
  return phases;
}

std::string golden(const std::string& extension) {
  return TUTTI_SOURCE_DIR "/tests/golden/journal-0.1." + extension;
}

/// Somebody else puts a task elsewhere than was decided.
void run_beside_others(Script& run) {
  JobSpec spec{.name = "beside"};
  spec.gangs = {gang({role("t", 1, {shape(1000, "bf16", 1)})})};
  const TaskId task{run.submit(spec), 0};
  run.send(TaskBound{task, run.node_of(task) == "gpu-0" ? "gpu-1" : "gpu-0"});
  run.start(task);
  run.exit(task, 0);
}

TEST(JournalTest, AReplayFromTextEndsInTheSameState) {
  const Catalog catalog = Catalog::builtin().value();
  Script run;
  describe(run, catalog);
  run_training(run);
  run_small_jobs(run);
  run_service(run, catalog);
  run_by_rules(run);
  run_sweep(run);
  run_beside_others(run);

  State state;
  const std::set<TaskPhase> phases = replay(run.lines(), state);
  EXPECT_EQ(state.hash(), run.state().hash());
  EXPECT_EQ(phases.size(), 7U);
  EXPECT_EQ(tags_of(run.lines()).size(), std::variant_size_v<Event>);

  if (std::getenv("TUTTI_UPDATE") == nullptr) return;
  std::ofstream(golden("jsonl")) << run.lines();
  std::ofstream(golden("hash")) << state.hash() << "\n";
}

}  // namespace tutti::journal_test
