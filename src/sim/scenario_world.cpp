#include "sim/scenario_world.h"

#include <fmt/core.h>

#include <algorithm>

#include "sim/checkers.h"

namespace tutti {
namespace {

/// Steps in which a backend and an engine may answer each other within one instant.
constexpr unsigned answers_max = 10'000;

std::int64_t amount_of(const NodeSpec& spec, std::string_view name) {
  const auto known = std::ranges::find(spec.capacity, name, &NamedAmount::name);
  return known == spec.capacity.end() ? 0 : known->amount;
}

/// Would the node have less than what its tasks hold?
bool shrinks(const State& state, const NodeSpec& spec) {
  const auto node = state.fleet().find(spec.name);
  if (!node) return false;
  const Node& old = state.fleet().node(*node);
  for (std::size_t at = 0; at < state.fleet().lanes().size(); ++at) {
    const Lane lane(at);
    if (lane == lane::pods) continue;
    const std::int64_t held = old.capacity.get(lane) - state.usage().free(*node, lane);
    if (held > amount_of(spec, state.fleet().lanes().name(lane))) return true;
  }
  const bool bounded =
      std::ranges::find(spec.capacity, "pods", &NamedAmount::name) != spec.capacity.end();
  std::uint32_t tasks = 0;
  for (const Usage::ShapeCount& count : state.usage().shapes(*node)) tasks += count.count;
  return bounded && tasks > amount_of(spec, "pods");
}

/// Does the queue hold more cards than it may?
bool beyond(const State& state, QueueIndex queue) {
  const std::int64_t limit = state.queue(queue).gpu_milli_limit;
  return limit >= 0 && state.queue_usage(queue).gpu_milli > limit;
}

/// Would the queue hold more cards than it may?
bool exceeds(const State& state, const QueueSpec& spec) {
  const auto queue = state.find_queue(spec.name);
  const auto gpus = std::ranges::find(spec.limit, "gpu", &NamedAmount::name);
  if (!queue || gpus == spec.limit.end()) return false;
  return state.queue_usage(*queue).gpu_milli > gpus->amount * DeviceRequest::whole;
}

bool short_of_something(const State& state, NodeIndex node) {
  return std::ranges::any_of(state.usage().free(node), [](std::int64_t free) { return free < 0; });
}

}  // namespace

ScenarioWorld::ScenarioWorld(const Scenario& scenario, bool forgetful)
    : scenario_(scenario),
      factory_(scenario.policy),
      backend_(scenario),
      engine_(std::make_unique<Engine>(journal_, backend_, factory_)),
      forgetful_(forgetful) {}

void ScenarioWorld::violated(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

void ScenarioWorld::tell(std::uint32_t line, Event event) {
  inbox_.push_back({line, std::move(event)});
}

std::optional<Instant> ScenarioWorld::next_due() const {
  const auto report = backend_.next_due();
  const auto timer = state().timers().next();
  return report && timer ? std::min(report, timer) : report ? report : timer;
}

bool ScenarioWorld::restless() const {
  const auto due = next_due();
  return !inbox_.empty() || (due && *due <= now_);
}

void ScenarioWorld::settle() {
  unsigned answers = 0;
  do {
    std::vector<Told> told;
    for (Event& event : backend_.take_due(now_)) told.push_back({0, std::move(event)});
    std::ranges::move(std::exchange(inbox_, {}), std::back_inserter(told));
    if (!step(std::move(told))) return;
    if (++answers > answers_max) violated("engine and backend answer each other for ever");
  } while (restless() && violation_.empty());
}

void ScenarioWorld::advance(Duration length) {
  const Instant end = now_ + length;
  if (restless()) settle();
  for (auto due = next_due(); due && *due <= end && violation_.empty(); due = next_due()) {
    now_ = std::max(now_, *due);
    backend_.set_now(now_);
    settle();
  }
  now_ = end;
  backend_.set_now(now_);
}

/// False when nothing of it happened, because the journal failed; it is told again later.
bool ScenarioWorld::step(std::vector<Told> told) {
  if (forgetful_) engine_->forget_workspace();
  std::vector<Event> inbox;
  for (const Told& each : told) inbox.push_back(each.event);
  note_reports(told);
  backend_.set_now(now_);
  journal_.begin(now_);
  ++steps_;
  const Result<Engine::Step> done = engine_->step(inbox, now_);
  if (!done) {
    inbox_.insert(inbox_.begin(), told.begin(), told.end());
    return false;
  }
  note_refusals(told, *done);
  actions_.insert(actions_.end(), done->plan.actions.begin(), done->plan.actions.end());
  check();
  return true;
}

void ScenarioWorld::note_reports(const std::vector<Told>& told) {
  for (const Told& each : told) {
    uprooted_.before(state(), each.event);
    if (const auto* lost = std::get_if<NodeLost>(&each.event)) backend_.lose_node(lost->node);
    const auto* reported = std::get_if<NodeReported>(&each.event);
    if (reported != nullptr && shrinks(state(), reported->node)) {
      shrunk_.insert(reported->node.name);
    }
    const auto* queue = std::get_if<QueueSet>(&each.event);
    if (queue != nullptr && exceeds(state(), queue->queue)) over_limit_.insert(queue->queue.name);
  }
}

void ScenarioWorld::note_refusals(const std::vector<Told>& told, const Engine::Step& done) {
  std::set<std::size_t> refused;
  for (const Engine::Refused& each : done.refused) {
    refused.insert(each.event);
    if (told[each.event].line == 0) violated("a report was refused: " + each.why.what);
    refusals_.push_back({told[each.event].line, each.why});
    const auto* submitted = std::get_if<JobSubmitted>(&told[each.event].event);
    if (submitted != nullptr) refused_[submitted->id] = each.why.what;
  }
  for (std::size_t at = 0; at < told.size(); ++at) {
    if (refused.contains(at)) continue;
    if (const auto* submitted = std::get_if<JobSubmitted>(&told[at].event)) {
      accepted_.insert(submitted->id);
      alive_.insert(submitted->id);
    }
    if (const auto* gone = std::get_if<JobCancelled>(&told[at].event)) cancelled_.insert(gone->id);
  }
}

std::string ScenarioWorld::refused(JobId job) const {
  const auto known = refused_.find(job);
  return known == refused_.end() ? "" : known->second;
}

void ScenarioWorld::check() {
  if (!backend_.attempts().violation().empty()) violated(backend_.attempts().violation());
  check_jobs();
  std::erase_if(shrunk_, [&](const std::string& name) {
    const auto node = state().fleet().find(name);
    return node && !short_of_something(state(), *node);
  });
  std::erase_if(over_limit_, [&](const std::string& name) {
    const auto queue = state().find_queue(name);
    return queue && !beyond(state(), *queue);
  });
  violated(check_invariants(state(), {shrunk_, alive_.size(), over_limit_, uprooted_}));
}

/// A job leaves State when it was cancelled, or all of its tasks were said to have ended. After the
/// failure of one, or by its rules, the others may have been stopped.
void ScenarioWorld::check_jobs() {
  std::erase_if(alive_, [&](JobId id) {
    if (state().find(id).valid()) return false;
    const ScenarioJob& job = scenario_.jobs[id.value()];
    bool may_stop = job.spec->rules != JobRules{};
    for (std::uint32_t task = 0; task < job.tasks; ++task) may_stop |= backend_.failed({id, task});
    for (std::uint32_t task = 0; task < job.tasks && !cancelled_.contains(id); ++task) {
      const bool runs = backend_.attempts().current({id, task}, now_) != 0;
      if (backend_.ended({id, task}) || (may_stop && !runs)) continue;
      violated(fmt::format("job {} was forgotten, but nobody said that its task {} ended", job.name,
                           task));
    }
    return true;
  });
}

bool ScenarioWorld::same_after_replay() const {
  State fresh;
  for (const ScenarioJournal::Batch& batch : journal_.batches()) {
    for (const Event& event : batch.events) {
      if (fresh.admissible(event)) fresh.apply(event, batch.at);
    }
  }
  return fresh.hash() == state().hash();
}

void ScenarioWorld::restart() {
  const std::uint64_t before = state().hash();
  auto fresh = std::make_unique<Engine>(journal_, backend_, factory_);
  journal_.set_reading(true);
  backend_.set_deaf(true);
  for (const ScenarioJournal::Batch& batch : journal_.batches()) {
    const Result<Engine::Step> done = fresh->step(batch.events, batch.at);
    if (!done) return violated("the journal cannot be read back: " + done.error().what);
    // What a step decided stands in the journal; there is nothing left to decide at its end.
    if (!done->plan.actions.empty()) {
      return violated(fmt::format("an engine that reads its journal decides anew: {} task {}",
                                  to_text(done->plan.actions.front().kind),
                                  to_string(done->plan.actions.front().task)));
    }
  }
  journal_.set_reading(false);
  backend_.set_deaf(false);
  engine_ = std::move(fresh);
  if (state().hash() != before) return violated("the restarted engine has another state");
  engine_->reconcile();
}

}  // namespace tutti
