/// Fields of a statement: what stands on its line, and the YAML below it.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "format/text.h"
#include "format/yaml.h"
#include "sim/scenario_text.h"

namespace tutti {
namespace {

/// Fields that hold a map, so that "limit gpu=8 cpu=64" can be meant.
constexpr std::array<std::string_view, 7> map_fields{"labels", "nodes",     "domains",  "limit",
                                                     "stack",  "guarantee", "resources"};
/// Units that stand behind a number: "4 tasks".
struct Unit {
  std::string_view word;
  std::string_view field;
};
constexpr std::array<Unit, 6> units{{{"tasks", "tasks"},
                                     {"task", "tasks"},
                                     {"gpus", "gpus"},
                                     {"gpu", "gpus"},
                                     {"npus", "npus"},
                                     {"npu", "npus"}}};

Place moved(Place place, Place start) {
  if (place.line == 0) return place;
  if (place.line == 1) place.column += start.column - 1;
  place.line += start.line - 1;
  return place;
}

Value moved(const Value& value, Place start) {
  const Place place = moved(value.place(), start);
  switch (value.kind()) {
    case Kind::null:
      return Value::null(place);
    case Kind::boolean:
      return Value::boolean(value.boolean_value(), place);
    case Kind::integer:
      return Value::integer(value.integer_value(), place);
    case Kind::decimal:
      return *Value::number(value.text_value(), place);
    case Kind::text:
      return Value::text(std::string(value.text_value()), place, value.quoted());
    case Kind::list: {
      Value::List items;
      for (const Value& item : value.items()) items.push_back(moved(item, start));
      return Value::list(std::move(items), place);
    }
    case Kind::map: {
      Value::Map members;
      for (const Value::Member& member : value.members()) {
        members.push_back({member.key, moved(member.place, start), moved(member.value, start)});
      }
      return Value::map(std::move(members), place);
    }
  }
  return Value::null(place);
}

/// The place of an error, "3:7", as its text has it.
Place place_of(std::string_view where) {
  Place place{0, 0};
  std::uint32_t* part = &place.line;
  for (const char c : where) {
    if (c == ':') part = &place.column;
    if (c >= '0' && c <= '9') *part = *part * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return {std::max(place.line, 1U), std::max(place.column, 1U)};
}

std::vector<ScenarioWord> words_of(const ScenarioWord& item) {
  std::vector<ScenarioWord> out;
  for (std::size_t begin = 0; begin < item.text.size();) {
    begin = std::min(item.text.find_first_not_of(" \t", begin), item.text.size());
    const std::size_t end = std::min(item.text.find_first_of(" \t", begin), item.text.size());
    if (end > begin) {
      out.push_back(
          {item.text.substr(begin, end - begin), item.place.after(item.text.substr(0, begin))});
    }
    begin = end;
  }
  return out;
}

bool name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '/';
}

/// The length of the key in "key=value", or 0.
std::size_t key_of_pair(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) return 0;
  return std::ranges::all_of(word.substr(0, equals), name_letter) ? equals : 0;
}

bool number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// The fields of one entry, gathered from its items.
class Fields {
 public:
  explicit Fields(Value::Map first) : members_(std::move(first)) {}

  Result<void> add(const ScenarioWord& item) {
    const std::vector<ScenarioWord> all = words_of(item);
    const std::span<const ScenarioWord> words(all);
    const ScenarioWord& head = words.front();
    if (words.size() == 1 && key_of_pair(head.text) != 0) return pair("labels", head, true);
    if (const std::string devices = devices_of(words); !devices.empty()) {
      gpus_.push_back(Value::text(devices, head.place, false));
      if (gpus_.size() == 1) gpus_place_ = head.place;
      return {};
    }
    if (words.size() > 1 && !devices_of(words.first(1)).empty()) {
      return fail(wrong_at(words[1], "a comma is missing before " + quote(words[1].text),
                           "fields are separated by commas: 8xA100-80G, cpu 64"));
    }
    if (words.size() == 2 && number(head.text)) return amount(words);
    const bool word = std::ranges::all_of(head.text, name_letter);
    if (!word) return fail(wrong_at(item, quote(item.text) + " is no field", "write: KEY VALUE"));
    const std::string key(head.text);
    if (words.size() == 1) return set(key, head.place, Value::boolean(true, head.place));
    const bool pairs = std::ranges::all_of(words.begin() + 1, words.end(),
                                           [](const auto& each) { return key_of_pair(each.text); });
    if (pairs && std::ranges::find(map_fields, head.text) != map_fields.end()) {
      for (std::size_t at = 1; at < words.size(); ++at) {
        TRY(pair(key, words[at], key == "labels" || key == "stack"));
      }
      return {};
    }
    const auto offset = static_cast<std::size_t>(words[1].text.data() - item.text.data());
    Value value = TRY(yaml_at(item.text.substr(offset), words[1].place));
    if (key.find('/') != std::string::npos) {
      return into("resources", {key, head.place, std::move(value)});
    }
    return set(key, head.place, std::move(value));
  }

  Result<void> add_block(Value block) {
    for (const Value::Member& member : TRY(block.as_map())) {
      TRY(set(member.key, member.place, member.value.copy()));
    }
    return {};
  }

  Result<Value> finish(Place place) && {
    if (!gpus_.empty()) TRY(set("gpus", gpus_place_, Value::list(std::move(gpus_), gpus_place_)));
    return map_without_duplicates(std::move(members_), place);
  }

 private:
  /// "8xA100-80G", "8 x A100-80G"; empty for what is not that.
  static std::string devices_of(std::span<const ScenarioWord> words) {
    std::string text;
    for (const ScenarioWord& word : words) text += word.text;
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool shape = digits > 0 && digits + 1 < text.size() && text[digits] == 'x';
    const bool split = words.size() == 1 || (words.size() == 3 && words[1].text == "x");
    return shape && split ? text : "";
  }

  Result<void> amount(std::span<const ScenarioWord> words) {
    const auto unit = std::ranges::find(units, words[1].text, &Unit::word);
    if (unit == units.end()) {
      std::vector<std::string_view> known;
      for (const Unit& each : units) known.push_back(each.word);
      return fail(wrong_at(words[1], quote(words[1].text) + " is nothing that is counted",
                           did_you_mean(words[1].text, known)));
    }
    Value value = TRY(yaml_at(words[0].text, words[0].place));
    return set(std::string(unit->field), words[0].place, std::move(value));
  }

  Result<void> pair(const std::string& field, const ScenarioWord& word, bool text) {
    const std::size_t equals = key_of_pair(word.text);
    const Place place = word.place.after(word.text.substr(0, equals + 1));
    const std::string_view content = word.text.substr(equals + 1);
    Value value = text ? Value::text(std::string(content), place) : TRY(yaml_at(content, place));
    return into(field, {std::string(word.text.substr(0, equals)), word.place, std::move(value)});
  }

  /// Adds a member to a field that is a map.
  Result<void> into(const std::string& field, Value::Member member) {
    const auto known = std::ranges::find(members_, field, &Value::Member::key);
    Value::Map inner;
    Place place = member.place;
    if (known != members_.end()) {
      place = known->place;
      for (const Value::Member& each : TRY(known->value.as_map())) {
        inner.push_back({each.key, each.place, each.value.copy()});
      }
      members_.erase(known);
    }
    inner.push_back(std::move(member));
    return set(field, place, TRY(map_without_duplicates(std::move(inner), place)));
  }

  Result<void> set(std::string key, Place place, Value value) {
    members_.push_back({std::move(key), place, std::move(value)});
    return {};
  }

  Value::Map members_;
  Value::List gpus_;
  Place gpus_place_;
};

}  // namespace

Error moved(Error error, Place start) {
  error.where = moved(place_of(error.where), start).text();
  return error;
}

Result<Value> yaml_at(std::string_view yaml, Place start) {
  Result<std::vector<Value>> documents = parse_yaml(yaml);
  if (!documents) {
    return fail(moved(std::move(documents).error(), start));
  }
  if (documents->size() > 1) {
    return fail(Error{Code::invalid,
                      "one document is expected, here are several",
                      moved((*documents)[1].place(), start).text(),
                      {}});
  }
  return documents->empty() ? Value::null(start) : moved(documents->front(), start);
}

Result<Value> fields_of(const Statement& statement, Value::Map first) {
  Fields fields(std::move(first));
  if (!statement.rest.text.empty()) {
    for (const ScenarioWord& item : TRY(items_of(statement.rest))) TRY(fields.add(item));
  }
  if (statement.block_lines > 0) {
    Value block = TRY(yaml_at(statement.block, Place{statement.block_line, 1}));
    TRY(fields.add_block(std::move(block)));
  }
  return std::move(fields).finish(Place{statement.line, 1});
}

}  // namespace tutti
