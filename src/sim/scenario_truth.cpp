#include "sim/scenario_truth.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sched/explain.h"
#include "sim/scenario_expect.h"

namespace tutti {
namespace {

using Expected = Expectation::Kind;

constexpr std::size_t ended_phase = 7;
constexpr std::size_t absent_phase = 8;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    out.emplace_back(line.substr(0, line.find_last_not_of(" \t\r") + 1));
    begin = end + 1;
  }
  return out;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// An explanation up to what would help: "waits; 3 nodes: devices in use; nearest: ...".
std::string in_one_line(std::string_view explanation) {
  std::string out;
  for (const std::string& line : lines_of(explanation)) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    if (line.find("it would start if") == begin) break;
    std::string text = line.substr(begin);
    const std::size_t gap = text.find("  ");
    if (gap != std::string::npos) text.replace(gap, 2, ": ");
    out += (out.empty() ? "" : "; ") + text;
  }
  return out;
}

/// Everything that is asked of one expectation's tasks.
class Look {
 public:
  Look(const Expectation& expectation, const ScenarioWorld& world)
      : expectation_(expectation), world_(world), state_(world.state()) {}

  std::string phases() const {
    std::array<std::int64_t, phases_told> counts{};
    for (const TaskId& id : expectation_.tasks) {
      const TaskIndex task = state_.find(id);
      const std::size_t gone = world_.accepted(id.job) ? ended_phase : absent_phase;
      ++counts[task.valid() ? static_cast<std::size_t>(state_.tasks()[task].phase) : gone];
    }
    return told_phases(counts);
  }

  /// Rows of the tasks; empty unless all of them hold something.
  std::vector<const Task*> holders() const {
    std::vector<const Task*> out;
    for (const TaskId& id : expectation_.tasks) {
      const TaskIndex task = state_.find(id);
      if (!task.valid() || !holds(state_.tasks()[task].phase)) return {};
      out.push_back(&state_.tasks()[task]);
    }
    return out;
  }

  std::string name(const Task& task) const { return state_.fleet().node(task.node).name; }

  std::string places(bool devices) const {
    std::vector<std::string> parts;
    for (const Task* task : holders()) {
      parts.push_back(devices ? told_place(state_, task->node, task->devices) : name(*task));
    }
    return told_short(parts);
  }

  /// The first gang that has one of the tasks and waits, explained.
  std::optional<Explanation> why() const {
    for (const TaskId& id : expectation_.tasks) {
      const TaskIndex task = state_.find(id);
      if (!task.valid() || state_.tasks()[task].phase != TaskPhase::pending) continue;
      return explain(state_, world_.factory(), state_.tasks()[task].gang);
    }
    return std::nullopt;
  }

  /// Why the tasks do not run, in one line; empty where they do or have.
  std::string why_not() const {
    if (const std::optional<Explanation> reasons = why()) {
      return in_one_line(to_text(state_, *reasons));
    }
    for (const TaskId& id : expectation_.tasks) {
      const std::string refusal = world_.refused(id.job);
      if (!refusal.empty()) return "refused: " + refusal;
    }
    return {};
  }

  std::vector<std::string> domains() const {
    std::vector<std::string> out;
    for (const Task* task : holders()) {
      const Node& node = state_.fleet().node(task->node);
      const std::string* const label = node.labels.find(expectation_.level);
      const bool host = expectation_.level == "host";
      out.push_back(host ? node.name : label == nullptr ? "-" : *label);
    }
    std::ranges::sort(out);
    const auto doubled = std::ranges::unique(out);
    out.erase(doubled.begin(), doubled.end());
    return out;
  }

  std::string numbers() const {
    std::vector<std::string> parts;
    for (const TaskId& id : expectation_.tasks) {
      const TaskIndex task = state_.find(id);
      if (!task.valid()) return "gone";
      parts.push_back(std::to_string(expectation_.kind == Expected::attempt
                                         ? state_.tasks()[task].attempt
                                         : alternative(state_.tasks()[task])));
    }
    return told_short(parts);
  }

 private:
  std::size_t alternative(const Task& task) const {
    if (!holds(task.phase)) return 0;
    const Gang& gang = state_.gangs()[task.gang];
    const auto& known = state_.gang_shape(gang.shape).roles[task.role].alternatives;
    return static_cast<std::size_t>(std::ranges::find(known, task.shape) - known.begin()) + 1;
  }

  const Expectation& expectation_;
  const ScenarioWorld& world_;
  const State& state_;
};

Truth of_places(const Expectation& expectation, const Look& look) {
  const std::string& subject = expectation.subject;
  Truth out;
  const std::vector<const Task*> holders = look.holders();
  if (holders.empty()) {
    out.actual = look.phases();
    out.statement = fmt::format("expect {} {}", subject, out.actual);
    return out;
  }
  if (expectation.kind == Expected::on) {
    out.actual = "on " + look.places(expectation.devices);
    out.holds = out.actual == expectation.wanted;
    out.statement = fmt::format("expect {} {}", subject, out.actual);
  } else if (expectation.kind == Expected::among) {
    out.actual = "on " + look.places(false);
    out.holds = std::ranges::all_of(holders, [&](const Task* task) {
      return std::ranges::find(expectation.names, look.name(*task)) != expectation.names.end();
    });
    out.statement = fmt::format("expect {} {}", subject, out.actual);
  } else {
    std::string names;
    const std::vector<std::string> domains = look.domains();
    for (const std::string& domain : domains) names += " " + domain;
    const std::string counted = fmt::format("{} {}", domains.size(), expectation.level);
    const bool named = !expectation.names.empty();
    out.holds = expectation.wanted == (named ? expectation.level + names : counted);
    out.actual = fmt::format("{}:{}", counted, names);
    out.statement = named ? fmt::format("expect {} in {}{}", subject, expectation.level, names)
                          : fmt::format("expect {} in {}", subject, counted);
    if (named && !std::ranges::all_of(domains, plain_name)) out.statement.reset();
  }
  return out;
}

std::vector<std::string> reasons_of(const State& state, const Explanation& why) {
  std::vector<std::string> out;
  for (const Explanation::Count& count : why.counts) {
    out.push_back(fmt::format("{} {}", count.nodes, to_text(state, why, count.reject)));
  }
  if (why.fitting > 0) out.push_back(fmt::format("{} fit", why.fitting));
  if (out.empty()) out.emplace_back("no nodes");
  return out;
}

std::string nearest_of(const std::vector<std::string>& text) {
  constexpr std::string_view head = "nearest: ";
  for (const std::string& line : text) {
    const std::size_t at = line.find(head);
    if (at != std::string::npos) return line.substr(at + head.size());
  }
  return "none";
}

Truth of_waiting(const Expectation& expectation, const ScenarioWorld& world, const Look& look) {
  const std::string& subject = expectation.subject;
  Truth out;
  const std::optional<Explanation> why = look.why();
  if (!why) {
    const std::vector<const Task*> holders = look.holders();
    out.actual = holders.empty() ? look.phases() : "on " + look.places(false);
    if (expectation.kind != Expected::contains) {
      out.statement = fmt::format("expect {} {}", subject, out.actual);
    }
    return out;
  }
  const std::vector<std::string> text = lines_of(to_text(world.state(), *why));
  switch (expectation.kind) {
    case Expected::outcome:
      out.actual = to_text(why->outcome);
      out.statement = fmt::format("expect {} {}", subject, out.actual);
      break;
    case Expected::nearest:
      out.actual = nearest_of(text);
      out.statement = fmt::format("expect {} nearest {}", subject, out.actual);
      break;
    case Expected::reasons:
      out.block = reasons_of(world.state(), *why);
      out.actual = joined(out.block);
      out.statement = fmt::format("expect {} reasons", subject);
      break;
    case Expected::explanation:
      out.block = text;
      out.actual = joined(text);
      out.statement = fmt::format("expect explain {}", subject);
      break;
    default:
      out.actual = joined(text);
      out.holds = out.actual.find(expectation.wanted) != std::string::npos;
      return out;
  }
  out.holds = out.actual == expectation.wanted;
  return out;
}

/// Compute of the devices of a node that is open to new work: "3", "2.5".
std::string open_devices(const State& state, NodeIndex node) {
  std::int64_t sum = 0;
  for (std::uint32_t row = state.fleet().device_begin(node); row < state.fleet().device_end(node);
       ++row) {
    sum += state.usage().open_permille()[row];
  }
  return told_amount("gpus", sum);
}

/// None where the engine has not heard of the node, queue or resource.
std::optional<std::string> amount_of(const Expectation& expectation, const State& state,
                                     const std::string& name) {
  const auto lane = state.fleet().lanes().find(name);
  if (expectation.kind == Expected::free) {
    const auto node = state.fleet().find(expectation.subject);
    if (!node) return std::nullopt;
    if (name == "gpus") return open_devices(state, *node);
    if (!lane) return std::nullopt;
    return told_amount(name, state.usage().free(*node, *lane));
  }
  const auto queue = state.find_queue(expectation.subject);
  if (!queue) return std::nullopt;
  const QueueUsage& usage = state.queue_usage(*queue);
  if (name == "gpus") return told_amount(name, usage.gpu_milli);
  if (!lane) return std::nullopt;
  return told_amount(name, lane->value() < usage.lanes.size() ? usage.lanes[lane->value()] : 0);
}

Truth of_amounts(const Expectation& expectation, const State& state) {
  Truth out;
  bool known = true;
  for (const std::string& name : expectation.names) {
    const std::optional<std::string> amount = amount_of(expectation, state, name);
    known &= amount.has_value();
    out.actual +=
        fmt::format("{}{} {}", out.actual.empty() ? "" : ", ", name, amount.value_or("-"));
  }
  out.holds = out.actual == expectation.wanted;
  if (!known) return out;
  out.statement =
      fmt::format("expect {} {}: {}", expectation.kind == Expected::free ? "free on" : "used by",
                  expectation.subject, out.actual);
  return out;
}

Truth of_counts(const Expectation& expectation, const ScenarioBackend& backend) {
  const bool places = expectation.kind == Expected::placements;
  Truth out{.actual = std::to_string(places ? backend.placements() : backend.evictions())};
  out.holds = out.actual == expectation.wanted;
  out.statement = fmt::format("expect {} {}", places ? "placements" : "evictions", out.actual);
  return out;
}

/// What the engine refused last is no failure once it was expected.
Truth of_refusal(const Expectation& expectation, ScenarioWorld& world) {
  Truth out{.actual = "nothing was refused"};
  for (const ScenarioWorld::Refusal& refusal : std::exchange(world.refusals(), {})) {
    out.actual = refusal.why.what;
    out.holds |= out.actual.find(expectation.wanted) != std::string::npos;
  }
  return out;
}

}  // namespace

std::string told_place(const State& state, NodeIndex node, const DeviceSet& devices) {
  const std::string& name = state.fleet().node(node).name;
  return devices.empty() ? name : name + ":" + told_devices(devices);
}

namespace {

Truth plain_truth_of(const Expectation& expectation, ScenarioWorld& world, const Look& look) {
  switch (expectation.kind) {
    case Expected::on:
    case Expected::among:
    case Expected::within:
      return of_places(expectation, look);
    case Expected::phase: {
      Truth out{.actual = look.phases()};
      out.holds = out.actual == expectation.wanted;
      out.statement = fmt::format("expect {} {}", expectation.subject, out.actual);
      return out;
    }
    case Expected::outcome:
    case Expected::reasons:
    case Expected::nearest:
    case Expected::explanation:
    case Expected::contains:
      return of_waiting(expectation, world, look);
    case Expected::attempt:
    case Expected::alternative: {
      Truth out{.actual = look.numbers()};
      out.holds = out.actual == expectation.wanted;
      const std::string_view word =
          expectation.kind == Expected::attempt ? "attempt " : "alternative ";
      const bool gone = out.actual == "gone";
      out.statement = fmt::format("expect {} {}{}", expectation.subject, gone ? "" : word,
                                  gone ? look.phases() : out.actual);
      return out;
    }
    case Expected::free:
    case Expected::used:
      return of_amounts(expectation, world.state());
    case Expected::placements:
    case Expected::evictions:
      return of_counts(expectation, world.backend());
    case Expected::refused:
      return of_refusal(expectation, world);
    case Expected::replayed: {
      Truth out{.holds = world.same_after_replay()};
      out.actual = out.holds ? "the same state" : "another state";
      return out;
    }
  }
  return {};
}

}  // namespace

Truth truth_of(const Expectation& expectation, ScenarioWorld& world) {
  const Look look(expectation, world);
  Truth out = plain_truth_of(expectation, world, look);
  const bool told = out.actual.find('\n') != std::string::npos;  // It is the reason itself.
  if (!out.holds && !told) out.why = look.why_not();
  return out;
}

}  // namespace tutti
