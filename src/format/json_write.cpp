#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "format/json.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t indent_step = 2;

/// The two-character escape of `c`, or 0.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\n':
      return 'n';
    case '\t':
      return 't';
    case '\r':
      return 'r';
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    default:
      return '\0';
  }
}

bool is_bare(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7F && c != '"' && c != '\\';
}

void append_escaped(std::string& out, std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto* const stop = std::find_if_not(text.begin() + at, text.end(), is_bare);
    const auto run = static_cast<std::size_t>(stop - text.begin()) - at;
    out += text.substr(at, run);
    at += run;
    if (at == text.size()) return;
    const CodePoint point = decode_utf8(text, at);
    if (const char escape = short_escape(text[at]); escape != '\0') {
      out += {'\\', escape};
    } else if (point.length == 0) {
      append_utf8(out, 0xFFFD);
    } else if (point.value < 0x20 || point.value == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out += text.substr(at, point.length);
    }
    at += std::max(point.length, 1U);
  }
}

/// A decimal that came from YAML may say "+.5" or "5.e3": JSON wants 0.5 and 5.0e3.
std::string json_number(std::string_view digits) {
  std::string out;
  if (digits.starts_with('-')) out += '-';
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.starts_with('.')) out += '0';
  for (std::size_t at = 0; at < digits.size(); ++at) {
    out += digits[at];
    const bool bare_point = digits[at] == '.' && (at + 1 == digits.size() || digits[at + 1] < '0' ||
                                                  digits[at + 1] > '9');
    if (bare_point) out += '0';
  }
  return out;
}

}  // namespace

JsonWriter& JsonWriter::key(std::string_view name) {
  CHECK(!open_.empty() && open_.back().end == '}' && !keyed_, name);
  if (!open_.back().empty) *out_ += ',';
  open_.back().empty = false;
  new_line();
  *out_ += '"';
  append_escaped(*out_, name);
  *out_ += style_ == JsonStyle::indented ? "\": " : "\":";
  keyed_ = true;
  return *this;
}

JsonWriter& JsonWriter::null() { return raw("null"); }

JsonWriter& JsonWriter::value(bool value) { return raw(value ? "true" : "false"); }

JsonWriter& JsonWriter::value(double value) {
  if (!std::isfinite(value)) return null();
  std::array<char, 32> room{};
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), value);
  CHECK(error == std::errc());
  return raw({room.data(), static_cast<std::size_t>(end - room.data())});
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  *out_ += '"';
  append_escaped(*out_, text);
  *out_ += '"';
  return *this;
}

JsonWriter& JsonWriter::value(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return null();
    case Kind::boolean:
      return this->value(value.boolean_value());
    case Kind::integer:
      return whole(value.integer_value());
    case Kind::decimal:
      return raw(json_number(value.text_value()));
    case Kind::text:
      return this->value(value.text_value());
    case Kind::list:
      begin_list();
      for (const Value& item : value.items()) this->value(item);
      return end_list();
    case Kind::map:
      begin_object();
      for (const Value::Member& member : value.members()) key(member.key).value(member.value);
      return end_object();
  }
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  *out_ += json;
  return *this;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  *out_ += bracket;
  open_.push_back({bracket == '{' ? '}' : ']'});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  CHECK(!open_.empty() && open_.back().end == bracket && !keyed_);
  const bool empty = open_.back().empty;
  open_.pop_back();
  if (!empty) new_line();
  *out_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::whole(std::int64_t number) { return raw(std::to_string(number)); }

JsonWriter& JsonWriter::natural(std::uint64_t number) { return raw(std::to_string(number)); }

/// What has to stand between the last value and the next.
void JsonWriter::separate() {
  if (open_.empty()) {
    CHECK(!written_);
    written_ = true;
    return;
  }
  if (keyed_) {
    keyed_ = false;
    return;
  }
  CHECK(open_.back().end == ']');  // A value in an object needs its key.
  if (!open_.back().empty) *out_ += ',';
  open_.back().empty = false;
  new_line();
}

void JsonWriter::new_line() {
  if (style_ == JsonStyle::compact) return;
  *out_ += '\n';
  out_->append(open_.size() * indent_step, ' ');
}

std::string to_json(const Value& value, JsonStyle style) {
  std::string out;
  JsonWriter(out, style).value(value);
  return out;
}

}  // namespace tutti
