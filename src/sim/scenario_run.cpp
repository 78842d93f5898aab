/// Runs the steps of a scenario and compares what is expected with what is true.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "format/quantity.h"
#include "sim/scenario_text.h"
#include "sim/scenario_truth.h"

namespace tutti {
namespace {

class ScenarioRun {
 public:
  ScenarioRun(const Scenario& scenario, Trace trace, bool forgetful)
      : scenario_(scenario), trace_(trace), world_(scenario, forgetful) {}

  ScenarioResult run() {
    for (const ScenarioStep& step : scenario_.steps) {
      const bool claims =
          step.verb == Verb::expect && step.expectation->kind == Expectation::Kind::refused;
      if (!claims) tell_refusals();
      if (hears_first(step.verb) && world_.restless()) settle();
      if (sound(step)) perform(step);
      if (!sound(step)) break;
      tell_actions();
    }
    if (result_.failures.empty()) end();
    result_.steps = world_.steps();
    result_.state_hash = world_.state().hash();
    return std::move(result_);
  }

 private:
  /// Does it stand in what the engine made of all before it?
  static bool hears_first(Verb verb) {
    switch (verb) {
      case Verb::finish:
      case Verb::duplicate:
      case Verb::observe:
      case Verb::forget:
      case Verb::restart:
      case Verb::expect:
        return true;
      default:
        return false;
    }
  }

  void settle() {
    world_.settle();
    tell_actions();
  }

  void perform(const ScenarioStep& step) {
    if (!step.text.empty()) {
      say(fmt::format("{:4}  {:>8}  {}\n", step.line, duration_text(world_.now() - Instant{}),
                      step.text));
    }
    ScenarioBackend& backend = world_.backend();
    switch (step.verb) {
      case Verb::tell:
        for (const Event& event : step.events) world_.tell(step.line, event);
        return;
      case Verb::cycle:
        return world_.settle();
      case Verb::advance:
        return world_.advance(step.duration);
      case Verb::finish:
        return finish(step);
      case Verb::refuse:
        return backend.refuse(step);
      case Verb::lose:
        return backend.lose(step);
      case Verb::lose_orders:
        return backend.set_deaf(true);
      case Verb::delay:
        return backend.delay(step);
      case Verb::duplicate:
        return backend.duplicate(step);
      case Verb::observe:
        return world_.reconcile();
      case Verb::starts:
        return backend.set_start(step.duration);
      case Verb::stops:
        return backend.set_stop(step.duration);
      case Verb::journal:
        return world_.fail_journal();
      case Verb::forget:
        return world_.forget();
      case Verb::restart:
        return world_.restart();
      case Verb::expect:
        return expect(step);
    }
  }

  void finish(const ScenarioStep& step) {
    for (const TaskId& task : step.tasks) {
      if (world_.backend().finish(task, static_cast<std::int32_t>(step.number))) continue;
      fail_with(step, "a task that runs", fmt::format("{} does not run", name_of(task)));
    }
  }

  void expect(const ScenarioStep& step) {
    ++result_.expectations;
    const Expectation& expectation = *step.expectation;
    Truth truth = truth_of(expectation, world_);
    if (truth.holds) return;
    result_.failures.push_back({.line = step.line,
                                .statement = step.text,
                                .expected = expectation.wanted,
                                .actual = std::move(truth.actual),
                                .why = std::move(truth.why),
                                .rewrite = std::move(truth.statement),
                                .block = std::move(truth.block),
                                .block_line = expectation.block_line,
                                .block_lines = expectation.block_lines});
    say("        FAIL\n");
  }

  void end() {
    if (world_.restless()) settle();
    tell_refusals();
    const ScenarioStep& last = scenario_.steps.back();
    if (!sound(last) || world_.same_after_replay()) return;
    fail_with(last, "the journal, replayed, gives this state", "it gives another");
  }

  /// Does every invariant hold? Says so once.
  bool sound(const ScenarioStep& step) {
    if (world_.violation().empty()) return true;
    if (!std::exchange(broken_, true)) {
      fail_with(step, "every invariant holds", world_.violation());
    }
    return false;
  }

  /// What nobody expected to be refused.
  void tell_refusals() {
    for (const ScenarioWorld::Refusal& refusal : std::exchange(world_.refusals(), {})) {
      const auto step = std::ranges::find(scenario_.steps, refusal.line, &ScenarioStep::line);
      if (step == scenario_.steps.end()) continue;
      fail_with(*step, "the engine accepts this", refusal.why.what);
    }
  }

  void fail_with(const ScenarioStep& step, std::string expected, std::string actual) {
    say(fmt::format("        FAIL {}\n", actual));
    result_.failures.push_back({.line = step.line,
                                .statement = step.text,
                                .expected = std::move(expected),
                                .actual = std::move(actual),
                                .why = {},
                                .rewrite = {},
                                .block = {}});
  }

  std::string name_of(const TaskId& task) const {
    return fmt::format("{}/{}", scenario_.jobs[task.job.value()].name, task.ordinal);
  }

  void tell_actions() {
    for (const Action& action : world_.take_actions()) {
      std::string what = fmt::format("{} {}", to_text(action.kind), name_of(action.task));
      if (action.kind == ActionKind::place) {
        what +=
            fmt::format(" on {}, attempt {}",
                        told_place(world_.state(), action.node, action.devices), action.attempt);
      }
      say(fmt::format("                    {}\n", what));
    }
  }

  void say(const std::string& line) {
    if (trace_ == Trace::on) result_.trace += line;
  }

  const Scenario& scenario_;
  Trace trace_;
  ScenarioWorld world_;
  ScenarioResult result_;
  bool broken_ = false;
};

}  // namespace

ScenarioResult run_scenario(const Scenario& scenario, Trace trace) {
  ScenarioResult result = ScenarioRun(scenario, trace, false).run();
  if (!result.failures.empty()) return result;
  const ScenarioResult again = ScenarioRun(scenario, Trace::off, true).run();
  if (again.failures.empty() && again.state_hash == result.state_hash) return result;
  const std::string actual =
      again.failures.empty() ? "it ends in another state" : again.failures.front().actual;
  const std::uint32_t line = again.failures.empty() ? 1 : again.failures.front().line;
  result.failures.push_back(
      {.line = line,
       .statement = again.failures.empty() ? "" : again.failures.front().statement,
       .expected = "the same when the workspace is thrown away before every step",
       .actual = actual,
       .why = {},
       .rewrite = {},
       .block = {}});
  return result;
}

std::string rewritten(std::string_view text, const std::vector<ScenarioFailure>& failures) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, std::min(end + 1, text.size()) - begin));
    begin = end + 1;
  }
  std::vector<Statement> statements;
  if (auto split = split_statements(text)) statements = std::move(*split);
  // From the end, so that lines above keep their numbers.
  std::vector<const ScenarioFailure*> order;
  for (const ScenarioFailure& failure : failures) {
    if (failure.rewrite) order.push_back(&failure);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, &ScenarioFailure::line);
  for (const ScenarioFailure* failure : order) {
    const auto known = std::ranges::find(statements, failure->line, &Statement::line);
    if (known == statements.end()) continue;
    const auto row = lines.begin() + (failure->line - 1);
    std::string fresh = *failure->rewrite;
    if (!known->comment.empty()) fresh += "  " + std::string(known->comment);
    fresh += row->ends_with('\n') ? "\n" : "";
    *row = std::move(fresh);
    std::vector<std::string> block;
    for (const std::string& line : failure->block) block.push_back("  " + line + "\n");
    if (failure->block_lines > 0) {
      const auto from = lines.begin() + (failure->block_line - 1);
      lines.erase(from, from + failure->block_lines);
      lines.insert(lines.begin() + (failure->block_line - 1), block.begin(), block.end());
    }
  }
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace tutti
