/// From the text of a scenario to its steps: one function for each verb.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "format/text.h"
#include "sim/scenario_describe.h"
#include "sim/scenario_expect.h"

namespace tutti {
namespace {

/// What a verb reads and writes.
struct Reading {
  ScenarioDescriptions descriptions;
  Scenario scenario;
  bool policy_given = false;

  ScenarioNames& names() { return descriptions.names(); }
};

struct VerbEntry {
  std::string_view verb;
  std::string_view form;  ///< How it is written, for errors.
  std::size_t least = 0;  ///< Words behind the verb.
  std::size_t most = 0;
  bool fields = false;  ///< Reads what stands behind a colon and below by itself.
  Result<void> (*parse)(Reading& reading, const Statement& statement, ScenarioStep& step) = nullptr;
};

Result<Duration> duration_of(const ScenarioWord& word) {
  Result<Duration> length = parse_duration(word.text);
  if (!length) return fail(wrong_at(word, length.error().what, "for example: 90s, 10m, 1h30m"));
  // All lines of a scenario together stay far below what an Instant holds.
  if (length->us <= Duration::seconds(100'000'000).us) return length;
  return fail(wrong_at(word, "this is longer than three years"));
}

/// A fixed word, such as the `take` of "starts take 5s".
Result<void> fixed(const ScenarioWord& word, std::string_view wanted, std::string_view form) {
  if (word.text == wanted) return {};
  return fail(
      wrong_at(word, fmt::format("{} is expected here, found {}", quote(wanted), quote(word.text)),
               fmt::format("write: {}", form)));
}

// --- What is described --------------------------------------------------------------------------

Result<void> fleet(Reading& reading, const Statement& statement, ScenarioStep& step) {
  return reading.descriptions.fleet(statement, step);
}
Result<void> nodes(Reading& reading, const Statement& statement, ScenarioStep& step) {
  return reading.descriptions.nodes(statement, step);
}
Result<void> change(Reading& reading, const Statement& statement, ScenarioStep& step) {
  return reading.descriptions.change(statement, step);
}
Result<void> topology(Reading& reading, const Statement& statement, ScenarioStep& step) {
  return reading.descriptions.topology(statement, step);
}
Result<void> queue(Reading& reading, const Statement& statement, ScenarioStep& step) {
  return reading.descriptions.queue(statement, step);
}
Result<void> mix(Reading& reading, const Statement& statement, ScenarioStep&) {
  return reading.descriptions.mix(statement);
}
Result<void> submit(Reading& reading, const Statement& statement, ScenarioStep& step) {
  return reading.descriptions.submit(statement, step);
}

Result<void> policy(Reading& reading, const Statement& statement, ScenarioStep&) {
  const auto expects = [](const ScenarioStep& step) { return step.verb == Verb::expect; };
  if (reading.policy_given || std::ranges::any_of(reading.scenario.steps, expects)) {
    return fail(wrong_at(statement, "the policy is chosen once, before anything is decided"));
  }
  reading.scenario.policy = TRY(reading.descriptions.policy(statement));
  reading.policy_given = true;
  return {};
}

// --- What happens -------------------------------------------------------------------------------

Result<void> cycle(Reading&, const Statement&, ScenarioStep& step) {
  step.verb = Verb::cycle;
  return {};
}

Result<void> advance(Reading&, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::advance;
  step.duration = TRY(duration_of(statement.words[1]));
  return {};
}

Result<void> finish(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::finish;
  step.tasks = TRY(reading.names().tasks_of(statement.words[1]));
  if (statement.words.size() == 2) return {};
  TRY(fixed(statement.words[2], "exit", "finish TASKS exit 1"));
  if (statement.words.size() == 3) {
    return fail(wrong_at(statement.words[2], "the exit code is missing", "finish TASKS exit 1"));
  }
  step.number = TRY(count_of(statement.words[3], 0));
  return {};
}

Result<void> cancel(Reading& reading, const Statement& statement, ScenarioStep& step) {
  for (const JobId job : TRY(reading.names().jobs_of(statement.words[1]))) {
    step.events.emplace_back(JobCancelled{job});
  }
  return {};
}

Result<void> set_held(Reading& reading, const Statement& statement, ScenarioStep& step) {
  const bool held = statement.words[0].text == "hold";
  for (const JobId job : TRY(reading.names().jobs_of(statement.words[1]))) {
    step.events.emplace_back(JobHeld{job, held});
  }
  return {};
}

Result<void> set_health(Reading& reading, const ScenarioWord& word, Health health,
                        ScenarioStep& step) {
  const auto [node, ordinal] = TRY(reading.names().device_of(word));
  reading.names().nodes.find(node)->second.devices[ordinal].device.health = health;
  step.events.emplace_back(DeviceHealthChanged{node, ordinal, health});
  return {};
}

Result<void> fail_something(Reading& reading, const Statement& statement, ScenarioStep& step) {
  const ScenarioWord& kind = statement.words[1];
  if (kind.text == "journal" && statement.words.size() == 2) {
    step.verb = Verb::journal;
    return {};
  }
  constexpr std::array<std::string_view, 3> kinds{"node", "device", "journal"};
  if (statement.words.size() < 3 || kind.text == "journal" ||
      std::ranges::find(kinds, kind.text) == kinds.end()) {
    return fail(wrong_at(kind, "what fails is: node NODES, device NODE/3, or journal",
                         did_you_mean(kind.text, kinds)));
  }
  if (kind.text == "device") return set_health(reading, statement.words[2], Health::failed, step);
  for (const std::string& node : TRY(reading.names().nodes_of(statement.words[2]))) {
    step.events.emplace_back(NodeLost{node});
  }
  return {};
}

Result<void> return_something(Reading& reading, const Statement& statement, ScenarioStep& step) {
  const ScenarioWord& kind = statement.words[1];
  if (kind.text == "device") return set_health(reading, statement.words[2], Health::online, step);
  if (kind.text != "node") {
    constexpr std::array<std::string_view, 2> kinds{"node", "device"};
    return fail(wrong_at(kind, "what returns is: node NODES, or device NODE/3",
                         did_you_mean(kind.text, kinds)));
  }
  for (const std::string& node : TRY(reading.names().nodes_of(statement.words[2]))) {
    step.events.emplace_back(NodeReported{reading.names().nodes.find(node)->second});
  }
  return {};
}

Result<void> device(Reading& reading, const Statement& statement, ScenarioStep& step) {
  constexpr std::array<std::string_view, 4> words{"online", "degraded", "failed", "flapping"};
  const ScenarioWord& word = statement.words[2];
  const auto* const known = std::ranges::find(words, word.text);
  if (known == words.end()) {
    return fail(wrong_at(word, quote(word.text) + " is no health of a device",
                         did_you_mean(word.text, words)));
  }
  return set_health(reading, statement.words[1], static_cast<Health>(known - words.begin()), step);
}

Result<void> set_cordoned(Reading& reading, const Statement& statement, ScenarioStep& step) {
  const std::string_view verb = statement.words.front().text;
  const bool cordoned = verb != "uncordon";
  for (const std::string& node : TRY(reading.names().nodes_of(statement.words[1]))) {
    reading.names().nodes.find(node)->second.cordoned = cordoned;
    step.events.emplace_back(NodeCordoned{node, cordoned, verb == "drain"});
  }
  return {};
}

Result<void> refuse(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::refuse;
  step.number = 1;
  if (statement.words.size() == 1) return {};
  const ScenarioWord& word = statement.words[1];
  if (word.text.find_first_not_of("0123456789") == std::string_view::npos) {
    step.number = TRY(count_of(word, 1));
    return {};
  }
  step.tasks = TRY(reading.names().tasks_of(word));
  return {};
}

Result<void> lose(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = statement.words[1].text == "orders" ? Verb::lose_orders : Verb::lose;
  if (step.verb == Verb::lose) step.tasks = TRY(reading.names().tasks_of(statement.words[1]));
  return {};
}

Result<void> delay(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::delay;
  step.tasks = TRY(reading.names().tasks_of(statement.words[1]));
  step.duration = TRY(duration_of(statement.words[2]));
  return {};
}

Result<void> duplicate(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::duplicate;
  if (statement.words.size() > 1) {
    step.tasks = TRY(reading.names().tasks_of(statement.words[1]));
  }
  return {};
}

Result<void> observe(Reading&, const Statement&, ScenarioStep& step) {
  step.verb = Verb::observe;
  return {};
}

Result<void> take(Reading&, const Statement& statement, ScenarioStep& step) {
  const bool starts = statement.words.front().text == "starts";
  step.verb = starts ? Verb::starts : Verb::stops;
  TRY(fixed(statement.words[1], "take", starts ? "starts take 5s" : "stops take 30s"));
  step.duration = TRY(duration_of(statement.words[2]));
  return {};
}

Result<void> forget(Reading&, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::forget;
  return fixed(statement.words[1], "workspace", "forget workspace");
}

Result<void> restart(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::restart;
  if (!reading.scenario.policy.learn_mix) return {};
  return fail(wrong_at(statement, "an engine that learns its mix cannot be restarted here"));
}

Result<void> expect(Reading& reading, const Statement& statement, ScenarioStep& step) {
  step.verb = Verb::expect;
  step.expectation = TRY(parse_expectation(statement, reading.names()));
  return {};
}

constexpr std::size_t any = 1'000'000;
constexpr std::array<VerbEntry, 30> verbs{{
    {"fleet", "fleet, and a fleet's file below", 0, any, true, fleet},
    {"nodes", "nodes NAMES: FIELD VALUE, ...", 0, any, true, nodes},
    {"change", "change NODES: FIELD VALUE, ...", 0, any, true, change},
    {"topology", "topology zone, rack", 0, any, false, topology},
    {"queue", "queue NAME: limit gpu=8", 0, any, true, queue},
    {"policy", "policy NAME", 0, any, true, policy},
    {"mix", "mix: 1 gpu, cpu 4, weight 3", 0, any, true, mix},
    {"submit", "submit NAME: 4 tasks, 8xA100-80G", 0, any, true, submit},
    {"cycle", "cycle", 0, 0, false, cycle},
    {"advance", "advance 10m", 1, 1, false, advance},
    {"finish", "finish TASKS exit 1", 1, 3, false, finish},
    {"cancel", "cancel JOBS", 1, 1, false, cancel},
    {"hold", "hold JOBS", 1, 1, false, set_held},
    {"release", "release JOBS", 1, 1, false, set_held},
    {"fail", "fail node NODES, fail device NODE/3, fail journal", 1, 2, false, fail_something},
    {"return", "return node NODES, return device NODE/3", 2, 2, false, return_something},
    {"device", "device NODE/3 degraded", 2, 2, false, device},
    {"cordon", "cordon NODES", 1, 1, false, set_cordoned},
    {"uncordon", "uncordon NODES", 1, 1, false, set_cordoned},
    {"drain", "drain NODES", 1, 1, false, set_cordoned},
    {"refuse", "refuse, refuse 3, refuse TASKS", 0, 1, false, refuse},
    {"lose", "lose TASKS, lose orders", 1, 1, false, lose},
    {"delay", "delay TASKS 30s", 2, 2, false, delay},
    {"duplicate", "duplicate, duplicate TASKS", 0, 1, false, duplicate},
    {"observe", "observe", 0, 0, false, observe},
    {"starts", "starts take 5s", 2, 2, false, take},
    {"stops", "stops take 30s", 2, 2, false, take},
    {"forget", "forget workspace", 1, 1, false, forget},
    {"restart", "restart", 0, 0, false, restart},
    {"expect", "expect TASKS on NODES", 0, any, true, expect},
}};

Result<void> check_form(const VerbEntry& entry, const Statement& statement) {
  const std::string hint = fmt::format("write: {}", entry.form);
  if (statement.colon && !entry.fields) {
    return fail(
        wrong_at(statement.words.back(), fmt::format("{} takes no fields", entry.verb), hint));
  }
  if (statement.block_lines > 0 && !entry.fields) {
    return fail(Error{Code::invalid, fmt::format("{} takes no lines below it", entry.verb),
                      Place{statement.block_line, 1}.text(), hint});
  }
  const std::size_t given = statement.words.size() - 1;
  if (given < entry.least) {
    return fail(wrong_at(
        statement, fmt::format("{} needs {} words behind it", entry.verb, entry.least), hint));
  }
  if (given <= entry.most) return {};
  const ScenarioWord& extra = statement.words[entry.most + 1];
  return fail(wrong_at(extra, fmt::format("{} is one word too many", quote(extra.text)), hint));
}

Result<void> parse_statement(Reading& reading, const Statement& statement) {
  if (statement.words.empty()) return fail(wrong_at(statement, "a statement starts with a verb"));
  const ScenarioWord& verb = statement.words.front();
  const auto* const entry = std::ranges::find(verbs, verb.text, &VerbEntry::verb);
  if (entry == verbs.end()) {
    std::vector<std::string_view> known;
    for (const VerbEntry& each : verbs) known.push_back(each.verb);
    const auto near = closest(verb.text, known);
    return fail(wrong_at(verb, fmt::format("{} is no verb", quote(verb.text)),
                         near ? fmt::format("did you mean \"{}\"?", *near)
                              : "known: " + join_names(known, known.size())));
  }
  TRY(check_form(*entry, statement));
  ScenarioStep step{
      .verb = Verb::tell, .line = statement.line, .text = std::string(statement.text)};
  if (Result<void> done = entry->parse(reading, statement, step); !done) {
    Error error = std::move(done).error();
    if (error.where.empty()) error.where = verb.place.text();
    return fail(std::move(error));
  }
  if (step.verb != Verb::tell || !step.events.empty()) {
    reading.scenario.steps.push_back(std::move(step));
  }
  return {};
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const Catalog* catalog) {
  Reading reading{.descriptions = ScenarioDescriptions(catalog), .scenario = {}};
  reading.scenario.policy = TRY(builtin_policy("default"));
  for (const Statement& statement : TRY(split_statements(text))) {
    TRY(parse_statement(reading, statement));
  }
  const auto expects = [](const ScenarioStep& step) { return step.verb == Verb::expect; };
  if (std::ranges::none_of(reading.scenario.steps, expects)) {
    return fail(Error{Code::invalid, "the scenario expects nothing, so it cannot fail", "1:1",
                      "add, for example: expect JOB on NODE"});
  }
  TRY(reading.descriptions.finish(reading.scenario));
  return std::move(reading.scenario);
}

}  // namespace tutti
