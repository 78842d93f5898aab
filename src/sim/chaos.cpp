#include "sim/chaos.h"

#include <algorithm>
#include <cstdio>

#include "engine/engine.h"
#include "model/checkpoint.h"
#include "model/codec.h"
#include "policy/registry.h"
#include "sched/explain.h"
#include "sim/chaos_draw.h"
#include "sim/checkers.h"
#include "sim/witness.h"
#include "sim/world.h"

namespace tutti {
namespace {

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
        draw_(options.seed),
        backend_(queue_, faults_),
        factory_(pick_policy()),
        engine_(journal_, backend_, factory_) {}

  ChaosResult run() {
    make_fleet();
    const std::optional<ChaosDraw::Extreme> extreme = draw_.extreme(nodes_);
    for (unsigned at = 0; at < ChaosDraw::arrivals && ok(); ++at) {
      now_ = now_ + Duration::seconds(below(20));
      deliver_until(now_);
      disturb();
      const bool to_the_limit = extreme && extreme->arrival == at;
      const JobId id = submit(to_the_limit ? extreme->job : draw_.job());
      if (to_the_limit && extreme->cancelled_at_once) send(JobCancelled{id});
    }
    if (ok()) heal();
    // A second time, all of it must only end in the same state.
    if (ok() && !options_.forgetful) expect_all_done();
    if (ok() && !options_.forgetful) replay();
    result_.state_hash = engine_.state().hash();
    result_.faults = faults_.fired();
    result_.rare_paths = engine_.rare_paths();
    result_.rare_paths.add(witness_.seen());
    return std::move(result_);
  }

 private:
  bool ok() const { return result_.violation.empty() && result_.events < options_.until; }

  std::uint32_t below(std::size_t bound) {
    return draw_.prng().below(static_cast<std::uint32_t>(bound));
  }
  bool chance(std::uint32_t permille) { return draw_.prng().chance(permille); }

  /// On every other seed with a mix that is learned, in place of the given one; now and then with
  /// alternatives that are chosen by score.
  PolicyRecipe pick_policy() {
    const auto names = builtin_policy_names();
    const auto name = names[below(names.size())];
    PolicyRecipe recipe = *builtin_policy(name);
    recipe.learn_mix = options_.seed % 2 == 0;
    recipe.learn_every = 8;
    if (chance(300)) recipe.alternatives = AlternativeChoice::by_score;
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
    if (faults_.fires(Fault::state_reloaded)) reload();
    witness_.before(engine_.state(), event);
    uprooted_.before(engine_.state(), event);
    const auto step = engine_.step(std::span(&event, 1), now_);
    if (options_.trace) print_step(event, step);
    if (!step) return fail_with(step.error().text());
    if (!step->refused.empty()) return fail_with("refused: " + step->refused.front().why.text());
    witness_.after(engine_.state(), event, step->plan);
    for (const Action& action : step->plan.actions) {
      result_.placements += action.kind == ActionKind::place ? 1 : 0;
      result_.evictions += action.kind == ActionKind::evict ? 1 : 0;
    }
    std::erase_if(alive_, [&](JobId id) { return !engine_.state().find(id).valid(); });
    const std::string& violation = backend_.attempts().violation();
    if (!violation.empty()) return fail_with(violation);
    fail_with(check_invariants(engine_.state(), {shrunk_, alive_.size(), {}, uprooted_}));
  }

  /// As after a restart from a checkpoint.
  void reload() {
    const std::string bytes = checkpoint_of(engine_.state());
    State again;
    CheckpointReader reader(bytes);
    if (const auto read = reader.read(again); !read) return fail_with(read.error().text());
    if (const auto done = reader.finish(); !done) return fail_with(done.error().text());
    if (again.hash() != engine_.state().hash() || checkpoint_of(again) != bytes) {
      return fail_with("a state that went through bytes is another one");
    }
    engine_.resume(std::move(again), journal_.entries.size());
  }

  static std::string checkpoint_of(const State& state) {
    std::string bytes;
    CheckpointWriter writer(state, [&](std::string_view piece) { bytes += piece; });
    writer.finish();
    return bytes;
  }

  void print_step(const Event& event, const Result<Engine::Step>& step) const {
    std::printf("%6lu t=%.3f %s %s\n", result_.events, static_cast<double>(now_.us) / 1e6,
                std::string(name_of(event)).c_str(), encode(event, now_).c_str());
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
    while (ok()) {
      const Instant timer = engine_.state().timers().next().value_or(Instant::max());
      const Instant report = queue_.empty() ? Instant::max() : queue_.next_at();
      if (std::min(timer, report) > end) break;
      now_ = std::max(now_, std::min(timer, report));
      send(timer <= report ? Event(TimePassed{}) : queue_.take());
    }
    now_ = std::max(now_, end);
  }

  // --- What there is -----------------------------------------------------------------------------

  void make_fleet() {
    nodes_ = draw_.fleet();
    for (const NodeSpec& node : nodes_) send(NodeReported{node});
    for (const QueueSpec& queue : draw_.queues()) send(QueueSet{queue});
    send(draw_.mix());
  }

  JobId submit(JobSpec spec) {
    const JobId id(next_job_++);
    if (!ok()) return id;
    if (chance(100) && !alive_.empty()) {
      auto other = alive_.begin();
      std::advance(other, below(alive_.size()));
      spec.rules.after = {{.job = *other, .on = static_cast<Dependency::On>(below(4))}};
    }
    alive_.insert(id);
    ++result_.jobs;
    send(JobSubmitted{id, std::make_shared<const JobSpec>(std::move(spec))});
    return id;
  }

  // --- What goes wrong ---------------------------------------------------------------------------

  void disturb() {
    const std::size_t at = below(nodes_.size());
    NodeSpec& node = nodes_[at];
    if (faults_.fires(Fault::node_lost)) {
      backend_.lose_node(node.name);
      send(NodeLost{node.name});
      lost_.insert(at);
    }
    if (faults_.fires(Fault::node_cordoned)) {
      const bool close = cordoned_.insert(at).second;
      if (!close) cordoned_.erase(at);
      send(NodeCordoned{node.name, close, close && below(2) == 0});
    }
    if (faults_.fires(Fault::node_shrunk)) {
      node.capacity[0].amount = std::max<std::int64_t>(node.capacity[0].amount / 2, 1000);
      shrunk_.insert(node.name);
      report_node(at);
    }
    if (faults_.fires(Fault::node_relabelled)) {
      node.labels.set("rack", "r" + std::to_string(below(3)));
      report_node(at);
    }
    if (faults_.fires(Fault::device_failed) && !node.devices.empty()) {
      const std::size_t card = below(node.devices.size());
      node.devices[card].device.health = static_cast<Health>(below(4));
      send(DeviceHealthChanged{node.name, static_cast<std::uint16_t>(card),
                               node.devices[card].device.health});
    }
    if (faults_.fires(Fault::job_cancelled) && !alive_.empty()) {
      auto victim = alive_.begin();
      std::advance(victim, below(alive_.size()));
      send(JobCancelled{*victim});
    }
    if (faults_.fires(Fault::job_held) && !alive_.empty()) {
      auto chosen = alive_.begin();
      std::advance(chosen, below(alive_.size()));
      const JobId job = *chosen;
      const bool hold = held_.insert(job).second;
      if (!hold) held_.erase(job);
      send(JobHeld{job, hold});
    }
    if (chance(200)) observe_world();
    if (chance(300) && !lost_.empty()) report_node(*lost_.begin());
  }

  void report_node(std::size_t at) {
    lost_.erase(at);
    send(NodeReported{nodes_[at]});
  }

  void observe_world() {
    backend_.set_now(now_);
    engine_.reconcile();
  }

  // --- And in the end ----------------------------------------------------------------------------

  void heal() {
    faults_.heal();
    for (const JobId job : held_) {
      if (alive_.contains(job)) send(JobHeld{job, false});
    }
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      if (cordoned_.erase(at) > 0) send(NodeCordoned{nodes_[at].name, false});
      for (DeviceSpec& device : nodes_[at].devices) device.device.health = Health::online;
      report_node(at);
    }
    for (unsigned round = 0; round < healing_rounds && ok() && !alive_.empty(); ++round) {
      now_ = now_ + quiet;
      deliver_until(now_);
      observe_world();
      const bool quiet_there = !backend_.attempts().any_current(now_) && queue_.empty();
      if (quiet_there && !engine_.state().timers().next()) break;
    }
  }

  void expect_all_done() {
    const State& state = engine_.state();
    for (const JobId id : alive_) {
      const Job& job = state.jobs()[state.find(id)];
      if (job.awaits > 0) {
        ++result_.never_fit;  // It waits for one that does not fit.
        continue;
      }
      for (std::uint32_t offset = 0; offset < job.gangs; ++offset) {
        const GangIndex gang(job.first_gang.value() + offset);
        if (state.gangs()[gang].pending() == 0 && state.gangs()[gang].holding == 0) continue;
        const Explanation why = explain(state, factory_, gang);
        const bool lonely = std::ranges::any_of(why.unblock, [](const Unblock& fact) {
          return fact.kind == Unblock::Kind::company;  // Of a job that never came.
        });
        if (why.outcome == Outcome::never || why.over_limit || why.search_limit || lonely) {
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
  ChaosDraw draw_;
  EventQueue queue_;
  SimBackend backend_;
  MemoryJournal journal_;
  RecipeFactory factory_;
  Engine engine_;
  Witness witness_;
  Instant now_;
  std::vector<NodeSpec> nodes_;
  std::set<std::size_t> lost_;
  std::set<std::size_t> cordoned_;  ///< What the operator closed; the nodes know nothing of it.
  std::set<JobId> held_;            ///< Jobs that a user holds back.
  std::set<std::string> shrunk_;
  std::set<JobId> alive_;
  Uprooted uprooted_;
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
    result.violation =
        "the derived tables change a plan: without them the "
        "state is another one";
  }
  return result;
}

}  // namespace tutti
