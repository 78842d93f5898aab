#include "model/codec_read.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"
#include "format/text.h"

namespace tutti::codec {
namespace {

std::unexpected<Error> wrong(const Value& value, std::string what, std::string hint = {}) {
  return fail({.code = Code::invalid,
               .what = ": " + std::move(what),
               .where = value.place().text(),
               .hint = std::move(hint)});
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
  return std::nullopt;
}

Result<void> read_hex(const Value& value, std::string& out) {
  if (!value.is(Kind::text)) return mismatch(value, "text");
  const std::string_view digits = value.text_value();
  if (digits.size() % 2 != 0) return mismatch(value, "pairs of hexadecimal digits");
  out.clear();
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    const auto high = hex_digit(digits[at]);
    const auto low = hex_digit(digits[at + 1]);
    if (!high || !low) return mismatch(value, "pairs of hexadecimal digits");
    out += static_cast<char>(*high << 4U | *low);
  }
  return {};
}

}  // namespace

Error inside(std::string_view segment, Error error) {
  const bool joined = error.what.starts_with('[') || error.what.starts_with(": ");
  error.what = std::string(segment) + (joined ? "" : ".") + error.what;
  return error;
}

std::unexpected<Error> mismatch(const Value& value, std::string_view expected) {
  return wrong(value, "expected " + std::string(expected) + ", found " + value.describe());
}

std::unexpected<Error> unknown_field(const Value& value, std::span<const std::string_view> known) {
  for (const Value::Member& member : value.members()) {
    if (std::ranges::find(known, std::string_view(member.key)) != known.end()) continue;
    return fail({.code = Code::invalid,
                 .what = ": unknown field " + quote(member.key),
                 .where = member.place.text(),
                 .hint = did_you_mean(member.key, known)});
  }
  return wrong(value, "a field stands twice");
}

std::unexpected<Error> unknown_word(const Value& value, std::span<const std::string_view> known) {
  const std::string_view word = value.text_value();
  return wrong(value, quote(word) + " is not one of " + join_names(known),
               did_you_mean(word, known));
}

Result<void> read(const Value& value, bool& out) {
  if (!value.is(Kind::boolean)) return mismatch(value, "true or false");
  out = value.boolean_value();
  return {};
}

Result<void> read(const Value& value, std::int64_t& out) {
  if (!value.is(Kind::integer)) return mismatch(value, "an integer");
  out = value.integer_value();
  return {};
}

Result<void> read(const Value& value, Duration& out) { return read(value, out.us); }

Result<void> read(const Value& value, std::uint64_t& out) {
  const bool whole = value.is(Kind::integer) && value.integer_value() >= 0;
  if (!whole && !value.is(Kind::decimal)) return mismatch(value, "an integer of 0 or more");
  if (whole) {
    out = static_cast<std::uint64_t>(value.integer_value());
    return {};
  }
  const std::string_view digits = value.text_value();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error == std::errc{} && end == digits.data() + digits.size()) return {};
  return mismatch(value, "an integer of 0 or more");
}

Result<void> read(const Value& value, std::string& out) {
  if (value.is(Kind::map) && value.members().size() == 1 && value.members()[0].key == "hex") {
    return read_hex(value.members()[0].value, out);
  }
  if (!value.is(Kind::text)) return mismatch(value, "text");
  out = value.text_value();
  return {};
}

Result<void> read(const Value& value, AttributeExpression& out) {
  std::string text;
  TRY(read(value, text));
  Result<AttributeExpression> expression = AttributeExpression::parse(text);
  if (!expression) {
    return wrong(value, expression.error().what + ", at " + expression.error().where + " of it");
  }
  out = *std::move(expression);
  return {};
}

Result<void> read(const Value& value, Labels& out) {
  std::vector<Label> labels;
  if (value.is(Kind::list)) {
    TRY(read(value, labels));
  } else if (!value.is(Kind::map)) {
    return mismatch(value, "a map");
  } else {
    for (const Value::Member& member : value.members()) {
      Label label{.key = member.key, .value = {}};
      if (auto done = read(member.value, label.value); !done) {
        return fail(inside(member.key, std::move(done).error()));
      }
      labels.push_back(std::move(label));
    }
  }
  out = Labels(labels);
  return {};
}

Result<void> read(const Value& value, DeviceSet& out) {
  std::vector<std::uint8_t> ordinals;
  TRY(read(value, ordinals));
  out = {};
  for (const std::uint8_t ordinal : ordinals) {
    if (ordinal >= limits::devices_per_node || out.contains(ordinal)) {
      return wrong(value, std::to_string(ordinal) + " stands twice or is no ordinal");
    }
    out.add(ordinal);
  }
  return {};
}

Result<void> read(const Value& value, std::vector<DeviceSpec>& out) {
  if (!value.is(Kind::list)) return mismatch(value, "a list");
  out.clear();
  out.reserve(value.items().size());
  for (const Value& item : value.items()) {
    DeviceSpec fresh;
    if (auto done = read(item, fresh); !done) {
      return fail(inside("[" + std::to_string(out.size()) + "]", std::move(done).error()));
    }
    if (item.find("type") == nullptr && !out.empty()) fresh.type = out.back().type;
    out.push_back(std::move(fresh));
  }
  return {};
}

}  // namespace tutti::codec
