#include "dialect/tutti_read.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/limits.h"
#include "dialect/names.h"
#include "format/text.h"
#include "format/yaml.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 3> own_fields{"cpu", "memory", "storage"};

Result<std::int64_t> bounded(std::int64_t amount) {
  if (amount <= limits::amount) return amount;
  return fail(Code::limit, fmt::format("{} is more than 2^60", amount));
}

Result<std::string> digits_of(const Value& value) {
  if (value.is(Kind::integer)) return std::to_string(value.integer_value());
  if (value.is(Kind::decimal) || value.is(Kind::text)) return std::string(value.text_value());
  return fail(value.mismatch("a quantity"));
}

/// An amount in the unit of its resource: milli-cores of cpu, else base units.
Result<std::int64_t> scalar_amount_of(std::string_view name, const Value& value) {
  const std::string digits = TRY(digits_of(value));
  return bounded(name == "cpu" ? TRY(parse_quantity_milli(digits)) : TRY(parse_quantity(digits)));
}

void set_amount(std::vector<NamedAmount>& amounts, std::string_view name, std::int64_t amount) {
  const auto at = std::ranges::lower_bound(amounts, name, {}, &NamedAmount::name);
  if (at != amounts.end() && at->name == name) {
    at->amount = amount;
  } else {
    amounts.insert(at, {std::string(name), amount});
  }
}

constexpr std::array<Choice<TaintEffect>, 6> effect_words{
    {{"no_schedule", TaintEffect::no_schedule},
     {"prefer_no_schedule", TaintEffect::prefer_no_schedule},
     {"no_execute", TaintEffect::no_execute},
     {"NoSchedule", TaintEffect::no_schedule},
     {"PreferNoSchedule", TaintEffect::prefer_no_schedule},
     {"NoExecute", TaintEffect::no_execute}}};

Result<TaintEffect> effect_of(std::string_view word) {
  const auto known = std::ranges::find(effect_words, word, &Choice<TaintEffect>::word);
  if (known != effect_words.end()) return known->value;
  std::vector<std::string_view> words;
  words.reserve(effect_words.size());
  for (const auto& effect : effect_words) words.push_back(effect.word);
  return fail(Code::invalid, fmt::format("{} is no effect of a taint", quote(word)),
              did_you_mean(word, std::span(words).first(3)));
}

/// "key=value:effect" in its parts; value and effect may be absent.
struct TaintText {
  std::string key;
  std::optional<std::string> value;
  std::optional<TaintEffect> effect;
};

Result<TaintText> split_taint(std::string_view text) {
  TaintText out;
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    out.effect = TRY(effect_of(text.substr(colon + 1)));
    text = text.substr(0, colon);
  }
  const std::size_t equals = text.find('=');
  out.key = text.substr(0, equals);
  if (equals != std::string_view::npos) out.value = text.substr(equals + 1);
  if (out.key.empty()) return fail(Code::invalid, "a taint needs a key", "key=value:no_schedule");
  return out;
}

/// A taint or toleration as a map; `key` may be absent for a toleration of every key.
Result<TaintText> read_taint_map(Reader& reader) {
  TaintText out;
  out.key = TRY(reader.optional_text("key")).value_or("");
  out.value = TRY(reader.optional_text("value"));
  const std::span<const Choice<TaintEffect>> choices(effect_words);
  out.effect = TRY(reader.optional_choice("effect", choices));
  return out;
}

Result<TaintText> taint_text_of(const Value& item, const std::string& path) {
  if (item.is(Kind::map)) return decode(item, path, read_taint_map);
  Result<std::string_view> text = item.as_text();
  if (!text) return fail(at_value(std::move(text).error(), path, item));
  Result<TaintText> out = split_taint(*text);
  if (!out) return fail(at_value(std::move(out).error(), path, item));
  return out;
}

template <class Visit>
Result<void> each_taint(Reader& reader, std::string_view field, Visit visit) {
  const Value* const value = TRY(reader.optional_value(field));
  if (value == nullptr) return {};
  const auto items = one_or_many(*value);
  for (std::size_t at = 0; at < items.size(); ++at) {
    const std::string path = fmt::format("{}[{}]", reader.path_of(field), at);
    TaintText text = TRY(taint_text_of(items[at], path));
    TRY(visit(std::move(text), items[at], path));
  }
  return {};
}

}  // namespace

Result<std::vector<Value>> documents_of(std::string_view yaml, std::string_view wanted) {
  std::vector<Value> documents = TRY(parse_yaml(yaml));
  std::erase_if(documents, [](const Value& document) { return document.is(Kind::null); });
  if (!documents.empty()) return documents;
  return fail(Error{Code::invalid, "the file is empty", "1:1", std::string(wanted)});
}

Error at_value(Error error, const std::string& path, const Value& value) {
  error.what = path + ": " + error.what;
  if (error.where.empty()) error.where = value.place().text();
  return error;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (!whole || text.starts_with('-')) return std::nullopt;
  return value;
}

std::span<const Value> one_or_many(const Value& value) {
  return value.is(Kind::list) ? value.items() : std::span(&value, 1);
}

Result<void> check_width(std::span<const Value::Member> members, const std::string& path) {
  for (const Value::Member& member :
       members.first(std::min(members.size(), limits::names_per_map))) {
    if (!member.key.empty()) continue;
    return fail(Error{Code::invalid, path + ": a name is empty", member.place.text(),
                      "give it one, or leave it out"});
  }
  if (members.size() <= limits::names_per_map) return {};
  return fail(Error{
      Code::limit,
      fmt::format("{}: {} names; at most {} are read", path, members.size(), limits::names_per_map),
      members[limits::names_per_map].place.text(),
      {}});
}

Result<std::string> read_name(Reader& reader, std::string_view field) {
  std::string name = TRY(reader.required_text(field));
  Result<void> good = check_name(name);
  if (!good) return fail(reader.error(field, good.error().what, good.error().hint));
  return name;
}

Result<std::vector<NamedAmount>> read_amounts(Reader& reader, std::vector<NamedAmount> base,
                                              Zeros zeros) {
  const auto read = [&](std::string_view name, const Value& value,
                        const std::string& path) -> Result<void> {
    Result<std::int64_t> amount = scalar_amount_of(name, value);
    if (!amount) return fail(at_value(std::move(amount).error(), path, value));
    set_amount(base, name, *amount);
    return {};
  };
  for (const std::string_view name : own_fields) {
    const Value* const value = TRY(reader.optional_value(name));
    if (value != nullptr) TRY(read(name, *value, reader.path_of(name)));
  }
  const Value* const others = TRY(reader.optional_value("resources"));
  if (others != nullptr) {
    const std::string path = reader.path_of("resources");
    Result<std::span<const Value::Member>> members = others->as_map();
    if (!members) return fail(at_value(std::move(members).error(), path, *others));
    TRY(check_width(*members, path));
    for (const Value::Member& member : *members) {
      if (std::ranges::find(own_fields, member.key) != own_fields.end()) {
        return fail(Error{Code::invalid,
                          fmt::format("{}: {} is a field of its own", path, member.key),
                          member.place.text(), fmt::format("write it beside \"resources\"")});
      }
      TRY(read(member.key, member.value, path + "." + member.key));
    }
  }
  if (zeros == Zeros::drop) {
    std::erase_if(base, [](const NamedAmount& part) { return part.amount == 0; });
  }
  return base;
}

Result<std::vector<NamedAmount>> read_amount_map(Reader& reader, std::string_view field) {
  std::vector<NamedAmount> out;
  const Value* const value = TRY(reader.optional_value(field));
  if (value == nullptr) return out;
  Result<std::span<const Value::Member>> members = value->as_map();
  if (!members) return fail(at_value(std::move(members).error(), reader.path_of(field), *value));
  TRY(check_width(*members, reader.path_of(field)));
  for (const Value::Member& member : *members) {
    Result<std::int64_t> amount = scalar_amount_of(member.key, member.value);
    if (!amount) {
      const std::string path = reader.path_of(field) + "." + member.key;
      return fail(at_value(std::move(amount).error(), path, member.value));
    }
    set_amount(out, member.key, *amount);
  }
  return out;
}

Result<Labels> read_labels(Reader& reader, std::string_view field) {
  std::vector<Label> labels;
  auto pairs = reader.text_map(field);
  if (!pairs && pairs.error().hint.empty()) pairs.error().hint = "for example: {zone: east}";
  for (auto& [key, value] : TRY(std::move(pairs))) {
    if (key.empty()) return fail(reader.error(field, "a key is empty", "every label has a key"));
    labels.push_back({std::move(key), std::move(value)});
  }
  return Labels(std::move(labels));
}

Result<Closeness> read_closeness(Reader& reader) {
  const auto together = TRY(reader.optional_text("together"));
  const auto near = TRY(reader.optional_text("near"));
  if (together && near) {
    return fail(reader.error("near", "\"together\" is there already",
                             "together: must share a domain; near: should; give one of them"));
  }
  for (const std::string_view field : {"together", "near"}) {
    const auto& level = field == "together" ? together : near;
    if (level && level->empty()) {
      return fail(reader.error(field, "names no level", "for example: rack, host, island"));
    }
  }
  if (together) return Closeness{*together, true};
  return near ? Closeness{*near, false} : Closeness{};
}

Result<std::vector<Taint>> read_taints(Reader& reader) {
  std::vector<Taint> out;
  TRY(each_taint(reader, "taints",
                 [&](TaintText text, const Value& item, const std::string& path) -> Result<void> {
                   if (text.key.empty()) {
                     return fail(
                         at_value({Code::invalid, "a taint needs a key", {}, {}}, path, item));
                   }
                   out.push_back({std::move(text.key), std::move(text.value).value_or(""),
                                  text.effect.value_or(TaintEffect::no_schedule)});
                   return {};
                 }));
  return out;
}

Result<std::vector<Toleration>> read_tolerations(Reader& reader) {
  std::vector<Toleration> out;
  TRY(each_taint(reader, "tolerations",
                 [&](TaintText text, const Value&, const std::string&) -> Result<void> {
                   if (text.key == "*") text.key.clear();
                   out.push_back({.key = std::move(text.key),
                                  .value = text.value.value_or(""),
                                  .any_value = !text.value.has_value(),
                                  .any_effect = !text.effect.has_value(),
                                  .effect = text.effect.value_or(TaintEffect::no_schedule)});
                   return {};
                 }));
  return out;
}

}  // namespace tutti
