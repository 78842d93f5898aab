/// Selectors, affinities and spreads of Tutti's YAML.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "dialect/tutti_read.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::array<Choice<Operator>, 6> operators{{{"in", Operator::in},
                                                     {"not_in", Operator::not_in},
                                                     {"exists", Operator::exists},
                                                     {"does_not_exist", Operator::does_not_exist},
                                                     {"greater", Operator::greater},
                                                     {"less", Operator::less}}};

Result<std::string> word_of(const Value& value, const std::string& path) {
  Result<std::string_view> text = value.as_text();
  if (text) return std::string(*text);
  Error error = at_value(std::move(text).error(), path, value);
  if (value.is(Kind::integer) || value.is(Kind::boolean)) error.hint = "labels are text: quote it";
  return fail(std::move(error));
}

Result<std::vector<std::string>> words_of(const Value& value, const std::string& path) {
  std::vector<std::string> out;
  for (const Value& item : one_or_many(value)) out.push_back(TRY(word_of(item, path)));
  if (!out.empty()) return out;
  return fail(
      at_value({Code::invalid, "names no value, so nothing could match", {}, {}}, path, value));
}

Result<Requirement> requirement_of(const std::string& key, const Value::Member& test,
                                   const std::string& path) {
  const auto known = std::ranges::find(operators, test.key, &Choice<Operator>::word);
  if (known == operators.end()) {
    std::vector<std::string_view> words;
    words.reserve(operators.size());
    for (const auto& each : operators) words.push_back(each.word);
    return fail(Error{Code::invalid, fmt::format("{}: {} is no operator", path, quote(test.key)),
                      test.place.text(), did_you_mean(test.key, words)});
  }
  Requirement out{key, known->value, {}};
  if (out.op == Operator::exists || out.op == Operator::does_not_exist) {
    Result<bool> wanted = test.value.as_boolean();
    if (!wanted) return fail(at_value(std::move(wanted).error(), path, test.value));
    const bool exists = (out.op == Operator::exists) == *wanted;
    out.op = exists ? Operator::exists : Operator::does_not_exist;
    return out;
  }
  if (out.op == Operator::greater || out.op == Operator::less) {
    Result<std::int64_t> number = test.value.as_integer();
    if (!number) return fail(at_value(std::move(number).error(), path, test.value));
    out.values = {std::to_string(*number)};
    return out;
  }
  out.values = TRY(words_of(test.value, path));
  return out;
}

Result<std::uint16_t> small(Reader& reader, std::string_view field, std::int64_t otherwise,
                            std::int64_t most) {
  return static_cast<std::uint16_t>(
      TRY(reader.optional_integer(field, 1, most)).value_or(otherwise));
}

Result<TaskAffinity> read_affinity(Reader& reader) {
  TaskAffinity term;
  TRY(reader.required_value("tasks"));
  term.tasks = TRY(read_selector(reader, "tasks"));
  term.topology_key = TRY(reader.required_text("within"));
  term.namespaces = TRY(reader.texts("spaces"));
  const auto weight = TRY(reader.optional_integer("weight", 1, 100));
  term.weight = static_cast<std::uint16_t>(weight.value_or(0));
  return term;
}

Result<Spread> read_spread_rule(Reader& reader) {
  Spread spread;
  TRY(reader.required_value("tasks"));
  spread.tasks = TRY(read_selector(reader, "tasks"));
  spread.topology_key = TRY(reader.required_text("over"));
  spread.max_skew = TRY(small(reader, "skew", 1, 10'000));
  spread.min_domains = TRY(small(reader, "domains", 1, 10'000));
  spread.required = TRY(reader.optional_boolean("required")).value_or(true);
  spread.honor_node_affinity = TRY(reader.optional_boolean("honor_nodes")).value_or(true);
  spread.honor_node_taints = TRY(reader.optional_boolean("honor_taints")).value_or(false);
  return spread;
}

}  // namespace

Result<Selector> selector_of(const Value& value, const std::string& path) {
  Result<std::span<const Value::Member>> members = value.as_map();
  if (!members) {
    members.error().hint = "for example: {zone: east, rack: [r1, r2]}";
    return fail(at_value(std::move(members).error(), path, value));
  }
  Selector out;
  for (const Value::Member& member : *members) {
    const std::string inner = path + "." + member.key;
    if (!member.value.is(Kind::map)) {
      out.requirements.push_back({member.key, Operator::in, TRY(words_of(member.value, inner))});
      continue;
    }
    for (const Value::Member& test : member.value.members()) {
      out.requirements.push_back(TRY(requirement_of(member.key, test, inner)));
    }
  }
  return out;
}

Result<Selector> read_selector(Reader& reader, std::string_view field) {
  const Value* const value = TRY(reader.optional_value(field));
  if (value == nullptr) return Selector{};
  return selector_of(*value, reader.path_of(field));
}

Result<void> read_neighbours(Reader& reader, TaskShape& shape) {
  const bool given = TRY(reader.optional_value("affinity")) != nullptr;
  const bool anti_given = TRY(reader.optional_value("anti_affinity")) != nullptr;
  // Each of the two replaces what the base has of its own kind.
  std::erase_if(shape.affinities,
                [&](const TaskAffinity& term) { return term.anti ? anti_given : given; });
  for (TaskAffinity& term : TRY(reader.list("affinity", read_affinity))) {
    shape.affinities.push_back(std::move(term));
  }
  for (TaskAffinity& term : TRY(reader.list("anti_affinity", read_affinity))) {
    term.anti = true;
    shape.affinities.push_back(std::move(term));
  }
  if (TRY(reader.optional_value("spread")) != nullptr) {
    shape.spreads = TRY(reader.list("spread", read_spread_rule));
  }
  return {};
}

}  // namespace tutti
