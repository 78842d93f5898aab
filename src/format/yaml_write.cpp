#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "format/text.h"
#include "format/yaml.h"

namespace tutti {
namespace {

constexpr std::size_t step = 2;

// Readers look for the ":" of a simple key within 1024 characters.
constexpr std::size_t simple_key_max = 120;

/// Words that YAML 1.1 or 1.2 takes for null or a boolean, in lower case.
constexpr std::array<std::string_view, 11> reserved_words = {
    "", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Numbers, dates, sexagesimals and hexadecimals of any YAML version consist of these.
bool looks_like_a_number(std::string_view text) {
  if (text.empty()) return false;
  const bool starts = std::string_view("0123456789+-.").find(text.front()) != text.npos;
  return starts && text.find_first_not_of("0123456789+-.:_abcdefABCDEFoOxXtTzZ ") == text.npos;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '/' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
}

/// Not to be written bare: controls, invalid bytes, line separators, marks and private
/// noncharacters.
bool needs_escape(CodePoint point) {
  const char32_t c = point.value;
  if (point.length == 0 || c < 0x20 || (c >= 0x7F && c <= 0xA0)) return true;
  if (c == 0x2028 || c == 0x2029 || c == 0xFEFF) return true;
  return c == 0xFFFE || c == 0xFFFF;
}

bool has_escapes(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (needs_escape(point)) return true;
    at += point.length;
  }
  return false;
}

bool can_stand_plain(std::string_view text) {
  if (text.empty() || !is_word_character(text.front()) || text.back() == ' ') return false;
  if (text.starts_with("...")) return false;  // The end of a document.
  const std::string word = lower(text);
  if (std::ranges::find(reserved_words, word) != reserved_words.end()) return false;
  if (looks_like_a_number(text) || has_escapes(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size();
    if (c == ':' && (last || text[i + 1] == ' ')) return false;
    if (c == '#' && text[i - 1] == ' ') return false;  // The first character is no '#'.
    if (!is_word_character(c) && std::string_view(" :#-+=@%,()<>;!?*&|~^$'").find(c) == text.npos) {
      return false;
    }
  }
  return true;
}

/// Whether `|` or `|-` shows the text as it is: several lines, none of them blank but not empty.
bool can_stand_literal(std::string_view text) {
  if (text.find('\n') == text.npos || text.front() == '\n' || text.front() == ' ') return false;
  if (text.ends_with("\n\n")) return false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool blank = line.find_first_not_of(" \t") == line.npos && !line.empty();
    if (blank || line.starts_with('\t') || has_escapes(line)) return false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const auto c = static_cast<unsigned>(point.value);
    if (point.length == 0) {
      out += "\\uFFFD";
    } else if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (needs_escape(point)) {
      out += c < 0x100 ? fmt::format("\\x{:02X}", c) : fmt::format("\\u{:04X}", c);
    } else {
      out += text.substr(at, point.length);
    }
    at += std::max(point.length, 1U);
  }
  return out + "\"";
}

std::string one_line(std::string_view text) {
  return can_stand_plain(text) ? std::string(text) : double_quoted(text);
}

class Writer {
 public:
  std::string take() { return std::move(out_); }

  /// Writes `value` behind "key:", "-" or nothing (`glue` is what separates it from them), and ends
  /// the line. Lines of its own are indented by `indent`.
  void value(const Value& value, std::size_t indent, std::string_view glue) {
    switch (value.kind()) {
      case Kind::list:
        if (value.items().empty()) return line(glue, "[]");
        return list(value, indent);
      case Kind::map:
        if (value.members().empty()) return line(glue, "{}");
        return map(value, indent);
      case Kind::text:
        return text(value.text_value(), indent, glue);
      case Kind::decimal:
        return line(glue, value.text_value());
      case Kind::integer:
        return line(glue, std::to_string(value.integer_value()));
      case Kind::boolean:
        return line(glue, value.boolean_value() ? "true" : "false");
      case Kind::null:
        return line(glue, "null");
    }
  }

 private:
  void line(std::string_view glue, std::string_view text) {
    out_ += glue;
    out_ += text;
    out_ += '\n';
  }

  void text(std::string_view text, std::size_t indent, std::string_view glue) {
    if (!can_stand_literal(text)) return line(glue, one_line(text));
    line(glue, text.ends_with('\n') ? "|" : "|-");
    const std::size_t inner = std::max(indent, step);  // A document's own text is indented too.
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) out_.append(inner, ' ');
      line("", text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void list(const Value& list, std::size_t indent) {
    start(indent);
    bool first = true;
    for (const Value& item : list.items()) {
      if (!first) out_.append(indent, ' ');
      first = false;
      out_ += '-';
      value(item, indent + step, " ");
    }
  }

  void map(const Value& map, std::size_t indent) {
    start(indent);
    bool first = true;
    for (const Value::Member& member : map.members()) {
      if (!first) out_.append(indent, ' ');
      first = false;
      const std::string key = one_line(member.key);
      if (key.size() > simple_key_max) {
        out_ += "? " + key + "\n";
        out_.append(indent, ' ');
      } else {
        out_ += key;
      }
      out_ += ':';
      value(member.value, indent + step, " ");
    }
  }

  /// Brings the first item of a block to its column: behind "- " in the same line, else below.
  void start(std::size_t indent) {
    if (out_.empty()) return;
    if (out_.back() == '-') {
      out_ += ' ';
      return;
    }
    CHECK(out_.back() == ':');
    out_ += '\n';
    out_.append(indent, ' ');
  }

  std::string out_;
};

}  // namespace

std::string to_yaml(const Value& value) {
  Writer writer;
  writer.value(value, 0, "");
  return writer.take();
}

}  // namespace tutti
