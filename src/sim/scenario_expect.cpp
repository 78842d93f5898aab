#include "sim/scenario_expect.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "dialect/names.h"
#include "format/quantity.h"
#include "format/text.h"

namespace tutti {
namespace {

using Words = std::span<const ScenarioWord>;

constexpr std::array<std::string_view, 9> phases{"pending",   "assigned",  "running",
                                                 "stopping",  "succeeded", "failed",
                                                 "cancelled", "ended",     "absent"};
constexpr std::array<std::string_view, 7> task_words{"on",    "among",   "in",         "waits",
                                                     "never", "nearest", "alternative"};

/// Amounts that are kept in thousandths.
bool in_milli(std::string_view name) { return name == "gpus" || name == "cpu"; }

/// The rest of the statement, as it is written.
std::string_view text_from(const Statement& statement, const ScenarioWord& word) {
  const auto offset = static_cast<std::size_t>(word.text.data() - statement.text.data());
  return statement.text.substr(offset);
}

Error no_such(const ScenarioWord& word) {
  std::vector<std::string_view> known(task_words.begin(), task_words.end());
  known.insert(known.end(), {"attempt", "reasons"});
  known.insert(known.end(), phases.begin(), phases.end());
  const auto near = closest(word.text, known);
  return wrong_at(word, quote(word.text) + " is nothing that can be expected of tasks",
                  near ? fmt::format("did you mean \"{}\"?", *near)
                       : "known: " + join_names(known, known.size()));
}

Result<std::string> text_in_quotes(const ScenarioWord& word) {
  if (word.text.size() >= 2 && word.text.front() == '"' && word.text.back() == '"') {
    return std::string(word.text.substr(1, word.text.size() - 2));
  }
  return fail(wrong_at(word, "a text in quotes is expected here", "for example: \"lacks 1\""));
}

/// "0-3,6" in ascending order, as it is compared.
Result<std::string> device_list(const ScenarioWord& word, std::string_view text) {
  const auto numbers = expand_names(fmt::format("[{}]", text), 1'000);
  if (!numbers) return fail(wrong_at(word, numbers.error().what, "NODE:0-3,6"));
  DeviceSet devices;
  for (const std::string& number : *numbers) {
    const std::int64_t ordinal = TRY(count_of({number, word.place}, 0));
    if (ordinal >= limits::devices_per_node) {
      return fail(wrong_at(word, fmt::format("no node has a device {}", ordinal)));
    }
    devices.add(static_cast<unsigned>(ordinal));
  }
  return told_devices(devices);
}

/// "n[0-3]:0-3*2": nodes, their devices, and how often each.
struct NodeToken {
  std::vector<std::string> nodes;
  std::string devices;
  std::size_t times = 1;
};

Result<NodeToken> node_token(const ScenarioWord& word, const ScenarioNames& names) {
  NodeToken out;
  std::string_view text = word.text;
  if (const std::size_t star = text.rfind('*'); star != std::string_view::npos) {
    const ScenarioWord times{text.substr(star + 1), word.place.after(text.substr(0, star + 1))};
    out.times = static_cast<std::size_t>(TRY(count_of(times, 1)));
    if (out.times > scenario_tasks) return fail(wrong_at(times, "no job has so many tasks"));
    text = text.substr(0, star);
  }
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    out.devices = TRY(device_list(word, text.substr(colon + 1)));
    text = text.substr(0, colon);
  }
  out.nodes = TRY(names.nodes_of({text, word.place}));
  return out;
}

Result<void> parse_on(Words words, const ScenarioNames& names, Expectation& out) {
  if (words.size() == 1) return fail(wrong_at(words[0], "the nodes are missing"));
  std::vector<std::string> parts;
  for (const ScenarioWord& word : words.subspan(1)) {
    const NodeToken token = TRY(node_token(word, names));
    if (parts.size() + token.nodes.size() * token.times > scenario_tasks) {
      return fail(wrong_at(word, "no job has so many tasks"));
    }
    for (const std::string& node : token.nodes) {
      const std::string part = token.devices.empty() ? node : node + ":" + token.devices;
      parts.insert(parts.end(), token.times, part);
      out.devices |= !token.devices.empty();
    }
  }
  if (parts.size() == 1) parts.assign(out.tasks.size(), parts.front());
  if (parts.size() != out.tasks.size()) {
    return fail(wrong_at(words[1],
                         fmt::format("{} nodes for {} tasks", parts.size(), out.tasks.size()),
                         "one for each task, by rank (n0*2: twice), or one for all"));
  }
  out.kind = Expectation::Kind::on;
  out.wanted = "on " + told_short(parts);
  return {};
}

Result<void> parse_among(Words words, const ScenarioNames& names, Expectation& out) {
  if (words.size() == 1) return fail(wrong_at(words[0], "the nodes are missing"));
  out.kind = Expectation::Kind::among;
  for (const ScenarioWord& word : words.subspan(1)) {
    const auto nodes = TRY(names.nodes_of(word));
    out.names.insert(out.names.end(), nodes.begin(), nodes.end());
    out.wanted += fmt::format(" {}", word.text);
  }
  out.wanted = "among" + out.wanted;
  return {};
}

/// A level is `host`, or a label that some node has.
Result<void> check_level(const ScenarioNames& names, const ScenarioWord& word) {
  std::set<std::string_view> known{"host"};
  for (const auto& [name, node] : names.nodes) {
    for (const Label& label : node.labels.all()) known.insert(label.key);
  }
  if (known.contains(word.text)) return {};
  const std::vector<std::string_view> levels(known.begin(), known.end());
  return fail(
      wrong_at(word, "no node has a label " + quote(word.text), did_you_mean(word.text, levels)));
}

/// "in 1 rack": how many domains; "in rack r1 r2": which.
Result<void> parse_within(Words words, const ScenarioNames& names, Expectation& out) {
  if (words.size() < 3) {
    return fail(wrong_at(words[0], "the domains are missing", "in 1 rack, or: in rack r1"));
  }
  out.kind = Expectation::Kind::within;
  const std::string_view first = words[1].text;
  if (first.find_first_not_of("0123456789") != std::string_view::npos) {
    TRY(check_level(names, words[1]));
    out.level = first;
    for (const ScenarioWord& word : words.subspan(2)) out.names.emplace_back(word.text);
    std::ranges::sort(out.names);
    for (const std::string& name : out.names) out.wanted += " " + name;
    out.wanted = out.level + out.wanted;
    return {};
  }
  if (words.size() > 3)
    return fail(wrong_at(words[3], fmt::format("{} is one word too many", quote(words[3].text)),
                         "in 1 rack"));
  TRY(check_level(names, words[2]));
  out.level = words[2].text;
  out.wanted = fmt::format("{} {}", TRY(count_of(words[1], 1)), out.level);
  return {};
}

/// "running", or "3 running, 1 pending".
Result<void> parse_phases(Words words, Expectation& out) {
  std::array<std::int64_t, phases.size()> counts{};
  const bool counted = words[0].text.find_first_not_of("0123456789") == std::string_view::npos;
  if (counted && words.size() % 2 != 0) {
    return fail(wrong_at(words.back(), "counts and phases come in pairs", "3 running, 1 pending"));
  }
  for (std::size_t at = 0; at < words.size(); at += counted ? 2 : 1) {
    ScenarioWord word = words[counted ? at + 1 : at];
    if (word.text.ends_with(',')) word.text.remove_suffix(1);
    const auto* const phase = std::ranges::find(phases, word.text);
    if (phase == phases.end()) return fail(no_such(word));
    if (!counted && words.size() > 1) {
      return fail(wrong_at(words[1], fmt::format("{} is one word too many", quote(words[1].text)),
                           "one expectation a line, such as: expect JOB on NODE"));
    }
    counts[static_cast<std::size_t>(phase - phases.begin())] +=
        counted ? TRY(count_of(words[at], 0)) : static_cast<std::int64_t>(out.tasks.size());
  }
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  if (sum != static_cast<std::int64_t>(out.tasks.size())) {
    return fail(wrong_at(words[0], fmt::format("{} tasks are spoken of, {} has {}", sum,
                                               out.subject, out.tasks.size())));
  }
  out.kind = Expectation::Kind::phase;
  out.wanted = told_phases(counts);
  return {};
}

Result<void> parse_numbers(Words words, Expectation& out) {
  if (words.size() == 1) return fail(wrong_at(words[0], "the numbers are missing"));
  std::vector<std::string> parts;
  for (const ScenarioWord& word : words.subspan(1)) {
    parts.push_back(std::to_string(TRY(count_of(word, 0))));
  }
  if (parts.size() == 1) parts.assign(out.tasks.size(), parts.front());
  if (parts.size() != out.tasks.size()) {
    return fail(
        wrong_at(words[1], fmt::format("{} numbers for {} tasks", parts.size(), out.tasks.size())));
  }
  out.wanted = told_short(parts);
  return {};
}

std::string lines_of(const Statement& statement) {
  std::string out;
  for (const std::string& line : block_text(statement)) out += line + "\n";
  return out;
}

Result<void> parse_of_tasks(const Statement& statement, const ScenarioNames& names,
                            Expectation& out) {
  const Words words = std::span(statement.words).subspan(1);
  out.subject = words[0].text;
  out.tasks = TRY(names.tasks_of(words[0]));
  if (words.size() == 1) {
    return fail(wrong_at(words[0], "what is expected of the tasks?", "on NODES, running, waits"));
  }
  const Words rest = words.subspan(1);
  const std::string_view what = rest[0].text;
  if (what == "on") return parse_on(rest, names, out);
  if (what == "among") return parse_among(rest, names, out);
  if (what == "in") return parse_within(rest, names, out);
  if (what == "attempt" || what == "alternative") {
    out.kind = what == "attempt" ? Expectation::Kind::attempt : Expectation::Kind::alternative;
    return parse_numbers(rest, out);
  }
  if (what == "nearest") {
    if (rest.size() == 1) return fail(wrong_at(rest[0], "what is nearest?", "n2 lacks 1 device"));
    out.kind = Expectation::Kind::nearest;
    out.wanted = text_from(statement, rest[1]);
    return {};
  }
  if ((what == "waits" || what == "never" || what == "reasons") && rest.size() > 1) {
    return fail(wrong_at(rest[1], fmt::format("{} is one word too many", quote(rest[1].text)),
                         fmt::format("write: expect {} {}", out.subject, what)));
  }
  if (what == "reasons") {
    out.kind = Expectation::Kind::reasons;
    out.wanted = lines_of(statement);
    return {};
  }
  if (what != "waits" && what != "never") return parse_phases(rest, out);
  out.kind = Expectation::Kind::outcome;
  out.wanted = what;
  return {};
}

Result<void> parse_explanation(const Statement& statement, const ScenarioNames& names,
                               Expectation& out) {
  const Words words = std::span(statement.words).subspan(2);
  if (words.empty()) return fail(wrong_at(statement, "what is explained?", "expect explain JOB"));
  out.subject = words[0].text;
  out.tasks = TRY(names.tasks_of(words[0]));
  out.kind = Expectation::Kind::explanation;
  out.wanted = lines_of(statement);
  if (words.size() == 1) return {};
  if (words[1].text != "contains" || words.size() != 3) {
    return fail(wrong_at(words[1], "expect explain JOB contains \"TEXT\", or its lines below"));
  }
  out.kind = Expectation::Kind::contains;
  out.wanted = TRY(text_in_quotes(words[2]));
  return {};
}

/// Amounts are of gpus, or of what some node has.
Result<void> check_amount_name(const ScenarioNames& names, const ScenarioWord& item,
                               std::string_view name) {
  std::vector<std::string_view> known{"gpus", "cpu", "memory", "storage", "pods"};
  std::set<std::string_view> others;
  for (const auto& [node, spec] : names.nodes) {
    for (const NamedAmount& amount : spec.capacity) others.insert(amount.name);
  }
  for (const std::string_view own : known) others.erase(own);
  known.insert(known.end(), others.begin(), others.end());
  if (std::ranges::find(known, name) != known.end()) return {};
  return fail(wrong_at(item, "no node has " + quote(name), did_you_mean(name, known)));
}

/// "free on n0: gpus 3, cpu 8", "used by research: gpus 8".
Result<void> parse_amounts(const Statement& statement, const ScenarioNames& names,
                           Expectation& out) {
  const Words words = std::span(statement.words).subspan(1);
  const bool free = words[0].text == "free";
  const std::string_view form =
      free ? "expect free on NODE: gpus 3" : "expect used by QUEUE: gpus 3";
  if (words.size() != 3 || words[1].text != (free ? "on" : "by") || statement.rest.text.empty()) {
    return fail(wrong_at(words[0], "not understood", fmt::format("write: {}", form)));
  }
  out.kind = free ? Expectation::Kind::free : Expectation::Kind::used;
  out.subject = words[2].text;
  if (free && TRY(names.nodes_of(words[2])).size() != 1) {
    return fail(wrong_at(words[2], "one node is expected here"));
  }
  if (!free && !names.queues.contains(out.subject)) {
    const std::vector<std::string_view> known(names.queues.begin(), names.queues.end());
    return fail(wrong_at(words[2], "there is no queue " + quote(out.subject),
                         did_you_mean(out.subject, known)));
  }
  for (const ScenarioWord& item : TRY(items_of(statement.rest))) {
    const std::size_t space = item.text.find(' ');
    if (space == std::string_view::npos) {
      return fail(wrong_at(item, quote(item.text) + " is no amount", "for example: gpus 3"));
    }
    const std::size_t begin = item.text.find_first_not_of(' ', space);
    const ScenarioWord number{item.text.substr(begin),
                              item.place.after(item.text.substr(0, begin))};
    out.names.emplace_back(item.text.substr(0, space));
    const std::string& name = out.names.back();
    TRY(check_amount_name(names, item, name));
    const Result<std::int64_t> amount = in_milli(name)
                                            ? parse_quantity_milli(number.text, Sign::any)
                                            : parse_quantity(number.text, Sign::any);
    if (!amount) return fail(wrong_at(number, amount.error().what, amount.error().hint));
    out.wanted +=
        fmt::format("{}{} {}", out.wanted.empty() ? "" : ", ", name, told_amount(name, *amount));
  }
  return {};
}

}  // namespace

std::string told_short(const std::vector<std::string>& parts) {
  if (parts.empty()) return {};
  if (std::ranges::count(parts, parts.front()) == std::ssize(parts)) return parts.front();
  std::string out;
  for (std::size_t begin = 0; begin < parts.size();) {
    std::size_t end = begin;
    while (end < parts.size() && parts[end] == parts[begin]) ++end;
    if (!out.empty()) out += " ";
    out += parts[begin];
    if (end > begin + 1) out += fmt::format("*{}", end - begin);
    begin = end;
  }
  return out;
}

std::string told_amount(std::string_view name, std::int64_t amount) {
  if (amount < 0) return "-" + told_amount(name, -amount);
  if (!in_milli(name)) return quantity_text(amount);
  std::string out = fmt::format("{}.{:03}", amount / 1000, amount % 1000);
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

std::string told_devices(const DeviceSet& devices) {
  std::string out;
  for (unsigned at = 0; at < limits::devices_per_node; ++at) {
    if (!devices.contains(at)) continue;
    const unsigned first = at;
    while (at + 1 < limits::devices_per_node && devices.contains(at + 1)) ++at;
    if (!out.empty()) out += ",";
    out += first == at ? std::to_string(first) : fmt::format("{}-{}", first, at);
  }
  return out;
}

std::string told_phases(std::span<const std::int64_t> counts) {
  std::string out;
  std::size_t kinds = 0;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    if (counts[at] == 0) continue;
    out += fmt::format("{}{} {}", ++kinds > 1 ? ", " : "", counts[at], phases[at]);
  }
  return kinds == 1 ? out.substr(out.find(' ') + 1) : out;
}

Result<Expectation> parse_expectation(const Statement& statement, const ScenarioNames& names) {
  Expectation out{.block_line = statement.block_line, .block_lines = statement.block_lines};
  if (statement.words.size() == 1) {
    return fail(wrong_at(statement, "what is expected?", "for example: expect JOB on NODE"));
  }
  const Words words = std::span(statement.words).subspan(1);
  const std::string_view first = words[0].text;
  const bool amounts = first == "free" || first == "used";
  if (first == "explain") {
    TRY(parse_explanation(statement, names, out));
  } else if (amounts) {
    TRY(parse_amounts(statement, names, out));
  } else if (first == "placements" || first == "evictions") {
    if (words.size() != 2) return fail(wrong_at(words[0], "one number is expected behind this"));
    out.kind = first == "placements" ? Expectation::Kind::placements : Expectation::Kind::evictions;
    out.wanted = std::to_string(TRY(count_of(words[1], 0)));
  } else if (first == "refused") {
    if (words.size() != 2) return fail(wrong_at(words[0], "a part of the reason is expected"));
    out.kind = Expectation::Kind::refused;
    out.wanted = TRY(text_in_quotes(words[1]));
  } else if (first == "replay") {
    if (words.size() != 1) return fail(wrong_at(words[1], "one word too many", "expect replay"));
    out.kind = Expectation::Kind::replayed;
    out.wanted = "the same state";
  } else {
    TRY(parse_of_tasks(statement, names, out));
  }
  const bool block =
      out.kind == Expectation::Kind::explanation || out.kind == Expectation::Kind::reasons;
  if (statement.colon && !amounts) {
    return fail(wrong_at(words.back(), "nothing is read behind a colon here"));
  }
  if (block && statement.block_lines == 0) {
    return fail(wrong_at(words[0], "the expected lines are missing",
                         "write anything below it, indented; --update then writes what is true"));
  }
  if (block || statement.block_lines == 0) return out;
  return fail(Error{Code::invalid,
                    "this expectation takes no lines below it",
                    Place{statement.block_line, 1}.text(),
                    {}});
}

}  // namespace tutti
