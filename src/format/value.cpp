#include "format/value.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "format/text.h"

namespace tutti {
namespace {

/// What kind of number a text is, by its letters alone.
enum class Spelling { none, whole, fractional };

bool decimal(char c) { return c >= '0' && c <= '9'; }

std::size_t skip_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && decimal(text[at])) ++at;
  return at;
}

/// [-+]? (digits [. digits*]? | . digits) ([eE] [-+]? digits)?, without leading zeros.
Spelling spelling_of(std::string_view text) {
  std::size_t at = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const std::size_t whole_start = at;
  at = skip_digits(text, at);
  const std::size_t whole = at - whole_start;
  if (whole > 1 && text[whole_start] == '0') return Spelling::none;
  if (at == text.size()) return whole > 0 ? Spelling::whole : Spelling::none;
  if (text[at] == '.') {
    const std::size_t end = skip_digits(text, at + 1);
    if (whole == 0 && end == at + 1) return Spelling::none;
    at = end;
  } else if (whole == 0) {
    return Spelling::none;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t end = skip_digits(text, at);
    if (end == at) return Spelling::none;
    at = end;
  }
  return at == text.size() ? Spelling::fractional : Spelling::none;
}

/// How many bytes at the start of `text`, in steps of eight, are ASCII and no line feed.
std::size_t plain_run(std::string_view text) {
  constexpr std::uint64_t ones = 0x0101010101010101ULL;
  constexpr std::uint64_t tops = 0x8080808080808080ULL;
  std::size_t at = 0;
  std::uint64_t word = 0;
  while (text.size() - at >= sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    const std::uint64_t feeds = word ^ (ones * '\n');  // A zero byte where a line feed stands.
    if (((word | (feeds - ones)) & tops) != 0) break;  // Also breaks, harmlessly, behind one.
    at += sizeof word;
  }
  return at;
}

}  // namespace

std::string Place::text() const {
  return line == 0 ? std::string() : fmt::format("{}:{}", line, column);
}

Place Place::after(std::string_view text) const {
  Place end = *this;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t plain = plain_run(text.substr(at));
    end.column += static_cast<std::uint32_t>(plain);
    at += plain;
    for (const std::size_t stop = std::min(at + 8, text.size()); at < stop; ++at) {
      const bool line_feed = text[at] == '\n';
      // The continuation bytes of a character are not columns.
      const bool counts = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
      end.line += line_feed ? 1 : 0;
      end.column = line_feed ? 1 : end.column + (counts ? 1 : 0);
    }
  }
  return end;
}

std::string_view kind_text(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::decimal:
      return "a number";
    case Kind::text:
      return "text";
    case Kind::list:
      return "a list";
    case Kind::map:
      return "a map";
  }
  CHECK(false, static_cast<int>(kind));
  return {};
}

Value Value::null(Place place) {
  Value value;
  value.place_ = place;
  return value;
}

Value Value::boolean(bool value, Place place) {
  Value out = null(place);
  out.kind_ = Kind::boolean;
  out.content_ = value;
  return out;
}

Value Value::integer(std::int64_t value, Place place) {
  Value out = null(place);
  out.kind_ = Kind::integer;
  out.content_ = value;
  return out;
}

std::optional<Value> Value::number(std::string_view text, Place place) {
  const Spelling spelling = spelling_of(text);
  if (spelling == Spelling::none) return std::nullopt;
  if (spelling == Spelling::whole) {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const char* const begin = text.data() + (text.front() == '+' ? 1 : 0);
    const auto [stop, error] = std::from_chars(begin, end, value);
    if (error == std::errc() && stop == end) return integer(value, place);
  }
  Value out = null(place);
  out.kind_ = Kind::decimal;
  out.content_ = std::string(text);
  return out;
}

Value Value::text(std::string text, Place place, bool quoted) {
  Value out = null(place);
  out.kind_ = Kind::text;
  out.quoted_ = quoted;
  out.content_ = std::move(text);
  return out;
}

Value Value::list(List items, Place place) {
  Value out = null(place);
  out.kind_ = Kind::list;
  out.content_ = std::move(items);
  return out;
}

Value Value::map(Map members, Place place) {
  Value out = null(place);
  out.kind_ = Kind::map;
  out.content_ = std::move(members);
  return out;
}

Result<bool> Value::as_boolean() const {
  if (!is(Kind::boolean)) return fail(mismatch("a boolean"));
  return boolean_value();
}

Result<std::int64_t> Value::as_integer() const {
  if (!is(Kind::integer)) return fail(mismatch("an integer"));
  return integer_value();
}

Result<std::string> Value::as_number() const {
  if (is(Kind::integer)) return std::to_string(integer_value());
  if (!is(Kind::decimal)) return fail(mismatch("a number"));
  return std::string(text_value());
}

Result<std::string_view> Value::as_text() const {
  if (!is(Kind::text)) return fail(mismatch("text"));
  return text_value();
}

Result<std::span<const Value>> Value::as_list() const {
  if (!is(Kind::list)) return fail(mismatch("a list"));
  return items();
}

Result<std::span<const Value::Member>> Value::as_map() const {
  if (!is(Kind::map)) return fail(mismatch("a map"));
  return members();
}

bool Value::boolean_value() const {
  CHECK(is(Kind::boolean), describe());
  return std::get<bool>(content_);
}

std::int64_t Value::integer_value() const {
  CHECK(is(Kind::integer), describe());
  return std::get<std::int64_t>(content_);
}

std::string_view Value::text_value() const {
  CHECK(is(Kind::text) || is(Kind::decimal), describe());
  return std::get<std::string>(content_);
}

std::span<const Value> Value::items() const {
  CHECK(is(Kind::list), describe());
  return std::get<List>(content_);
}

std::span<const Value::Member> Value::members() const {
  CHECK(is(Kind::map), describe());
  return std::get<Map>(content_);
}

const Value* Value::find(std::string_view key) const {
  if (!is(Kind::map)) return nullptr;
  const Map& members = std::get<Map>(content_);
  const auto found = std::ranges::find(members, key, &Member::key);
  return found == members.end() ? nullptr : &found->value;
}

std::string Value::describe() const {
  switch (kind_) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return std::get<bool>(content_) ? "boolean true" : "boolean false";
    case Kind::integer:
      return fmt::format("integer {}", std::get<std::int64_t>(content_));
    case Kind::decimal: {
      const std::string& digits = std::get<std::string>(content_);
      return fmt::format("number {}{}", digits.substr(0, 40), digits.size() > 40 ? "..." : "");
    }
    case Kind::text:
      return "text " + quote(std::get<std::string>(content_));
    case Kind::list:
      return fmt::format("a list of {}", std::get<List>(content_).size());
    case Kind::map:
      return fmt::format("a map of {}", std::get<Map>(content_).size());
  }
  return {};
}

Error Value::mismatch(std::string_view expected) const {
  std::string hint;
  if (expected == "text" && (is(Kind::integer) || is(Kind::decimal) || is(Kind::boolean))) {
    hint = "put it in quotes";
  }
  const bool number_in_quotes = is(Kind::text) && quoted_ && number(text_value()).has_value();
  if ((expected == "an integer" || expected == "a number") && number_in_quotes) {
    hint = "leave out the quotes";
  }
  return {Code::invalid, fmt::format("expected {}, found {}", expected, describe()), place_.text(),
          std::move(hint)};
}

Value Value::copy() const {
  Value out = null(place_);
  out.kind_ = kind_;
  out.quoted_ = quoted_;
  if (is(Kind::boolean)) out.content_ = boolean_value();
  if (is(Kind::integer)) out.content_ = integer_value();
  if (is(Kind::text) || is(Kind::decimal)) out.content_ = std::string(text_value());
  if (is(Kind::list)) {
    List list;
    list.reserve(items().size());
    for (const Value& item : items()) list.push_back(item.copy());
    out.content_ = std::move(list);
  }
  if (is(Kind::map)) {
    Map map;
    map.reserve(members().size());
    for (const Member& member : members()) {
      map.push_back({member.key, member.place, member.value.copy()});
    }
    out.content_ = std::move(map);
  }
  return out;
}

bool operator==(const Value& a, const Value& b) {
  return a.kind_ == b.kind_ && a.content_ == b.content_;
}

std::optional<std::size_t> duplicate_member(std::span<const Value::Member> members) {
  constexpr std::size_t small = 16;
  if (members.size() <= small) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      const auto earlier = members.first(i);
      if (std::ranges::find(earlier, members[i].key, &Value::Member::key) != earlier.end()) {
        return i;
      }
    }
    return std::nullopt;
  }
  std::vector<std::uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    const int compared = members[a].key.compare(members[b].key);
    return compared != 0 ? compared < 0 : a < b;
  });
  std::optional<std::size_t> first;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const bool same = members[order[i - 1]].key == members[order[i]].key;
    if (same && (!first || order[i] < *first)) first = order[i];
  }
  return first;
}

Result<Value> map_without_duplicates(Value::Map members, Place place) {
  const std::optional<std::size_t> twice = duplicate_member(members);
  if (!twice) return Value::map(std::move(members), place);
  const Value::Member& second = members[*twice];
  const auto first = std::ranges::find(members, second.key, &Value::Member::key);
  return fail(Error{Code::invalid, fmt::format("duplicate key {}", quote(second.key)),
                    second.place.text(),
                    fmt::format("it stands first at {}; keep one", first->place.text())});
}

}  // namespace tutti
