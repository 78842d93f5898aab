#include "sim/chaos.h"

#include <algorithm>
#include <cstdio>

#include "engine/engine.h"
#include "policy/registry.h"
#include "sched/explain.h"
#include "sim/checkers.h"
#include "sim/world.h"

namespace tutti {
namespace {

constexpr unsigned arrivals = 60;
constexpr Duration quiet = Duration::seconds(30);  ///< Between two looks at the whole world.
constexpr unsigned healing_rounds = 400;

/// Remembers everything, to replay it.
class MemoryJournal final : public Journal {
 public:
  struct Entry {
    Event event;
    Instant at;
  };
  std::vector<Entry> entries;

  Result<void> append(std::span<const Event> events, Instant at) override {
    for (const Event& event : events) entries.push_back({event, at});
    return {};
  }
};

class ChaosRun {
 public:
  explicit ChaosRun(const ChaosOptions& options)
      : options_(options),
        faults_(options.seed),
        prng_(options.seed, 1),
        backend_(queue_, faults_),
        factory_(pick_policy()),
        engine_(journal_, backend_, factory_) {}

  ChaosResult run() {
    make_fleet();
    for (unsigned at = 0; at < arrivals && ok(); ++at) {
      now_ = now_ + Duration::seconds(prng_.below(20));
      deliver_until(now_);
      disturb();
      submit();
    }
    if (ok()) heal();
    if (ok() && result_.events < options_.until) expect_all_done();
    if (ok()) replay();
    result_.state_hash = engine_.state().hash();
    std::ranges::copy(faults_.fired(), result_.fired.begin());
    return std::move(result_);
  }

 private:
  bool ok() const { return result_.violation.empty() && result_.events < options_.until; }

  /// On every other seed with a mix that is learned, in place of the given one.
  PolicyRecipe pick_policy() {
    const auto names = builtin_policy_names();
    const auto name = names[prng_.below(static_cast<std::uint32_t>(names.size()))];
    PolicyRecipe recipe = *builtin_policy(name);
    recipe.learn_mix = options_.seed % 2 == 0;
    recipe.learn_every = 8;
    return recipe;
  }

  void fail_with(std::string what) {
    if (result_.violation.empty()) result_.violation = std::move(what);
  }

  /// One event into the engine, and every invariant afterwards.
  void send(const Event& event) {
    if (!ok()) return;
    ++result_.events;
    backend_.set_now(now_);
    const bool lost = faults_.fires(Fault::workspace_lost);
    if (lost || options_.forgetful) engine_.forget_workspace();
    const auto step = engine_.step(std::span(&event, 1), now_);
    if (options_.trace) print_step(event, step);
    if (!step) return fail_with(step.error().text());
    if (!step->refused.empty()) return fail_with("refused: " + step->refused.front().why.text());
    for (const Action& action : step->plan.actions) {
      result_.placements += action.kind == ActionKind::place ? 1 : 0;
      result_.evictions += action.kind == ActionKind::evict ? 1 : 0;
    }
    std::erase_if(alive_, [&](JobId id) { return !engine_.state().find(id).valid(); });
    if (!backend_.violation().empty()) return fail_with(backend_.violation());
    fail_with(check_invariants(engine_.state(), {shrunk_, alive_.size()}));
  }

  void print_step(const Event& event, const Result<Engine::Step>& step) const {
    std::printf("%6lu t=%.3f %s\n", result_.events, static_cast<double>(now_.us) / 1e6,
                std::string(name_of(event)).c_str());
    if (!step) return;
    for (const Action& action : step->plan.actions) {
      const bool placed = action.kind == ActionKind::place;
      const std::string node =
          placed ? " on " + engine_.state().fleet().node(action.node).name : "";
      std::printf("       %s %s attempt %u%s\n", placed ? "place" : "evict",
                  to_string(action.task).c_str(), action.attempt, node.c_str());
    }
  }

  void deliver_until(Instant end) {
    while (ok() && !queue_.empty() && queue_.next_at() <= end) {
      now_ = std::max(now_, queue_.next_at());
      send(queue_.take());
    }
    now_ = std::max(now_, end);
  }

  // --- What there is ----------------------------------------------------------------------------

  void make_fleet() {
    const unsigned nodes = 3 + prng_.below(10);
    for (unsigned at = 0; at < nodes; ++at) {
      NodeSpec node{
          .name = "n" + std::to_string(at),
          .capacity = {{"cpu", prng_.between(1, 8) * 4000}, {"memory", std::int64_t{64} << 30}}};
      const DeviceSpec device{
          .type = {.model = prng_.chance(500) ? "A" : "B", .memory_mib = 40'000}};
      node.devices.assign(prng_.below(5), device);
      for (std::size_t card = 0; card < node.devices.size(); ++card) {
        node.devices[card].device.island = static_cast<std::uint16_t>(card / 2);
      }
      node.labels.set("rack", "r" + std::to_string(at / 3));
      nodes_.push_back(node);
      send(NodeReported{node});
    }
    if (prng_.chance(500)) {
      send(QueueSet{{.name = "small", .limit = {{"gpu", 1 + prng_.below(8)}}}});
      has_queue_ = true;
    }
    MixSet mix;
    for (int at = 0; at < 5; ++at) mix.entries.push_back({random_task(), 1 + prng_.below(20)});
    send(mix);
  }

  TaskShape random_task() {
    TaskShape shape;
    shape.resources = {{"cpu", prng_.between(1, 8) * 500}};
    if (prng_.chance(600)) {
      DeviceRequest request;
      request.count = static_cast<std::uint16_t>(1 + prng_.below(3));
      if (request.count == 1 && prng_.chance(500)) {
        request.compute_permille = static_cast<std::uint16_t>(100 + prng_.below(800));
      }
      if (prng_.chance(200)) request.closeness = {"island", prng_.chance(500)};
      if (prng_.chance(200)) request.where = *AttributeExpression::parse("model == A");
      shape.devices = {request};
    }
    if (prng_.chance(100)) shape.nodes.requirements = {{"rack", Operator::in, {"r0", "r1"}}};
    if (prng_.chance(100)) shape.ports = {{.port = 80}};
    if (prng_.chance(150)) {
      shape.labels.set("app", prng_.chance(500) ? "x" : "y");
      const Selector same{{{"app", Operator::in, {*shape.labels.find("app")}}}};
      if (prng_.chance(500)) {
        shape.affinities = {{.tasks = same, .topology_key = "host", .anti = prng_.chance(700)}};
      } else {
        shape.spreads = {{.tasks = same, .topology_key = "rack", .max_skew = 1}};
      }
    }
    return shape;
  }

  void submit() {
    if (!ok()) return;
    GangSpec gang;
    const unsigned groups = prng_.chance(200) ? 2 : 1;
    for (unsigned at = 0; at < groups; ++at) {
      RoleSpec role{.name = "task", .alternatives = {random_task()}};
      role.count = prng_.chance(300) ? 1 + prng_.below(5) : 1;
      role.min = 1 + prng_.below(role.count);
      if (prng_.chance(150)) role.alternatives.push_back(random_task());
      GroupSpec group{.roles = {role}};
      if (prng_.chance(200)) group.closeness = {"rack", prng_.chance(600)};
      gang.groups.push_back(group);
    }
    gang.copies = prng_.chance(100) ? 2 : 1;
    JobSpec spec{.name = "job-" + std::to_string(next_job_)};
    spec.priority = static_cast<std::int32_t>(prng_.below(3));
    if (has_queue_ && prng_.chance(400)) spec.queue = "small";
    spec.gangs = {std::make_shared<const GangSpec>(std::move(gang))};
    const JobId id(next_job_++);
    alive_.insert(id);
    ++result_.jobs;
    send(JobSubmitted{id, std::make_shared<const JobSpec>(std::move(spec))});
  }

  // --- What goes wrong --------------------------------------------------------------------------

  void disturb() {
    const std::size_t at = prng_.below(static_cast<std::uint32_t>(nodes_.size()));
    NodeSpec& node = nodes_[at];
    if (faults_.fires(Fault::node_lost)) {
      backend_.lose_node(node.name);
      send(NodeLost{node.name});
      lost_.insert(at);
    }
    if (faults_.fires(Fault::node_cordoned)) {
      node.cordoned = !node.cordoned;
      send(NodeCordoned{node.name, node.cordoned});
    }
    if (faults_.fires(Fault::node_shrunk)) {
      node.capacity[0].amount = std::max<std::int64_t>(node.capacity[0].amount / 2, 1000);
      shrunk_.insert(node.name);
      report_node(at);
    }
    if (faults_.fires(Fault::node_relabelled)) {
      node.labels.set("rack", "r" + std::to_string(prng_.below(3)));
      report_node(at);
    }
    if (faults_.fires(Fault::device_failed) && !node.devices.empty()) {
      const std::size_t card = prng_.below(static_cast<std::uint32_t>(node.devices.size()));
      node.devices[card].device.health = static_cast<Health>(prng_.below(4));
      send(DeviceHealthChanged{node.name, static_cast<std::uint16_t>(card),
                               node.devices[card].device.health});
    }
    if (faults_.fires(Fault::job_cancelled) && !alive_.empty()) {
      auto victim = alive_.begin();
      std::advance(victim, prng_.below(static_cast<std::uint32_t>(alive_.size())));
      send(JobCancelled{*victim});
    }
    if (prng_.chance(200)) observe_world();
    if (prng_.chance(300) && !lost_.empty()) report_node(*lost_.begin());
  }

  void report_node(std::size_t at) {
    lost_.erase(at);
    send(NodeReported{nodes_[at]});
  }

  void observe_world() {
    backend_.set_now(now_);
    backend_.report_ended_again(engine_.state());
    deliver_until(now_);
  }

  // --- And in the end ---------------------------------------------------------------------------

  void heal() {
    faults_.heal();
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      nodes_[at].cordoned = false;
      for (DeviceSpec& device : nodes_[at].devices) device.device.health = Health::online;
      report_node(at);
    }
    for (unsigned round = 0; round < healing_rounds && ok() && !alive_.empty(); ++round) {
      now_ = now_ + quiet;
      deliver_until(now_);
      observe_world();
      if (backend_.running() == 0 && queue_.empty()) break;
    }
  }

  void expect_all_done() {
    const State& state = engine_.state();
    for (const JobId id : alive_) {
      const Job& job = state.jobs()[state.find(id)];
      for (std::uint32_t offset = 0; offset < job.gangs; ++offset) {
        const GangIndex gang(job.first_gang.value() + offset);
        if (state.gangs()[gang].pending() == 0 && state.gangs()[gang].holding == 0) continue;
        const Explanation why = explain(state, factory_, gang);
        const bool lonely = std::ranges::any_of(why.unblock, [](const Unblock& fact) {
          return fact.kind == Unblock::Kind::company;  // Of a job that never came.
        });
        if (why.outcome == Outcome::never || why.over_limit || lonely) {
          ++result_.never_fit;
          continue;
        }
        return fail_with("job " + to_string(id) + " waits for ever: " + to_text(state, why));
      }
    }
  }

  void replay() {
    State fresh;
    for (const MemoryJournal::Entry& entry : journal_.entries) {
      if (fresh.admissible(entry.event)) fresh.apply(entry.event, entry.at);
    }
    if (fresh.hash() != engine_.state().hash()) fail_with("the replayed state is another one");
  }

  ChaosOptions options_;
  Faults faults_;
  Prng prng_;
  EventQueue queue_;
  SimBackend backend_;
  MemoryJournal journal_;
  RecipeFactory factory_;
  Engine engine_;
  Instant now_;
  std::vector<NodeSpec> nodes_;
  std::set<std::size_t> lost_;
  std::set<std::string> shrunk_;
  std::set<JobId> alive_;
  bool has_queue_ = false;
  std::uint64_t next_job_ = 1;
  ChaosResult result_;
};

}  // namespace

ChaosResult chaos(const ChaosOptions& options) {
  ChaosResult result = ChaosRun(options).run();
  if (options.forgetful || !result.violation.empty()) return result;
  ChaosOptions again = options;
  again.forgetful = true;
  if (options.trace) std::printf("--- again, without derived tables\n");
  if (ChaosRun(again).run().state_hash != result.state_hash) {
    result.violation = "the derived tables change a plan: without them the state is another one";
  }
  return result;
}

}  // namespace tutti
