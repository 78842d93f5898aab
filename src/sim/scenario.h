/// Scenarios: a fleet, jobs, what happens and what is expected, as text (docs/scenarios.md).
///
/// A scenario is read as a whole before it runs; a mistake in it is an Error at "line:column". It
/// runs on the real engine with a backend that does what the text says. After every step all
/// invariants are checked, at the end the journal is replayed, and all of it is done once more with
/// the workspace thrown away before every step: each must give the same state. Deterministic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/event.h"
#include "policy/registry.h"

namespace tutti {

class Catalog;

/// What is expected; `wanted` has one spelling for each meaning, so that it can be compared.
struct Expectation {
  enum class Kind : std::uint8_t {
    on,           ///< The tasks hold these nodes, in the order of their ranks.
    among,        ///< They hold some of these nodes.
    phase,        ///< "running", or "2 running, 1 pending".
    outcome,      ///< "waits" or "never".
    reasons,      ///< Nodes per reason, a line each.
    nearest,      ///< "n2 lacks 1 device", or "none".
    explanation,  ///< The whole text, a line each.
    contains,     ///< A part of it.
    within,       ///< "1 rack": number of domains of a level.
    attempt,      ///< How often each task was placed.
    alternative,  ///< Which alternative each task got, from 1.
    free,         ///< Amounts open to new work on a node.
    used,         ///< Amounts that a queue's tasks hold.
    placements,   ///< Orders to start a task, from the beginning.
    evictions,    ///< Orders to stop one.
    refused,      ///< Part of the engine's refusal of what was said last.
    replayed,     ///< The journal gives the state.
  };
  Kind kind = Kind::phase;
  std::string subject;  ///< The tasks, node or queue, as written.
  std::vector<TaskId> tasks;
  std::string wanted;
  std::string level;               ///< within
  std::vector<std::string> names;  ///< among: nodes; free, used: what is counted.
  bool devices = false;            ///< on: devices are told, too.
  std::uint32_t block_line = 0;    ///< Of the lines below it that are part of it.
  std::uint32_t block_lines = 0;
};

enum class Verb : std::uint8_t {
  tell,         ///< Say `events` to the engine.
  cycle,        ///< Let it decide.
  advance,      ///< Let `duration` pass.
  finish,       ///< The tasks end with exit code `number`.
  refuse,       ///< The backend refuses the next `number` launches (of `tasks`).
  lose,         ///< The next report about each task is lost.
  lose_orders,  ///< No order reaches the backend until the restart.
  delay,        ///< The next report about each task comes later by `duration`.
  duplicate,    ///< Every report so far (about `tasks`) arrives again.
  observe,      ///< The backend reports again what ended.
  starts,       ///< From now on a start takes `duration`.
  stops,        ///< From now on a stop takes `duration`.
  journal,      ///< The next write to the journal fails.
  forget,       ///< The workspace is thrown away.
  restart,      ///< The engine dies, is rebuilt from its journal, and reconciles.
  expect,
};

struct ScenarioStep {
  Verb verb = Verb::cycle;
  std::uint32_t line = 0;
  std::string text;  ///< As written, without its comment and its block.
  std::vector<Event> events;
  std::vector<TaskId> tasks;
  Duration duration;
  std::int64_t number = 0;
  std::optional<Expectation> expectation;
};

struct ScenarioJob {
  std::string name;
  std::shared_ptr<const JobSpec> spec;
  Duration length;  ///< Zero: until it is stopped.
  std::uint32_t tasks = 0;
};

struct Scenario {
  PolicyRecipe policy;
  std::vector<ScenarioStep> steps;
  std::vector<ScenarioJob> jobs;  ///< By the value of their id.
};

/// Without a catalog, models are taken literally. O(text).
Result<Scenario> parse_scenario(std::string_view text, const Catalog* catalog);

/// A statement that did not hold.
struct ScenarioFailure {
  std::uint32_t line = 0;
  std::string statement;
  std::string expected;  ///< May have several lines, as may `actual`.
  std::string actual;
  std::string why;  ///< One line: why the tasks wait, or were refused; else empty.
  /// What the statement should say to be true; none when only the engine or a person can mend it.
  std::optional<std::string> rewrite;
  std::vector<std::string> block;  ///< The lines below the rewritten one.
  std::uint32_t block_line = 0;    ///< Those that they replace.
  std::uint32_t block_lines = 0;
};

struct ScenarioResult {
  std::vector<ScenarioFailure> failures;
  std::uint64_t expectations = 0;
  std::uint64_t steps = 0;  ///< Of the engine.
  std::uint64_t state_hash = 0;
  std::string trace;  ///< What happened, a line each; empty unless asked for.
};

enum class Trace : bool { off, on };

ScenarioResult run_scenario(const Scenario& scenario, Trace trace = Trace::off);

/// The text with those expectations rewritten that can be; everything else stays, byte for byte.
std::string rewritten(std::string_view text, const std::vector<ScenarioFailure>& failures);

}  // namespace tutti
