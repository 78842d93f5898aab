#include "format/json.h"

#include <fmt/core.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "format/text.h"

namespace tutti {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t members_expected = 4;  // Saves most maps two reallocations.

std::unexpected<Error> refuse(Code code, std::string what, Place place, std::string hint = {}) {
  return fail(Error{code, std::move(what), place.text(), std::move(hint)});
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
  return token;
}

/// JSON is narrower than Value::number: no plus, and digits on both sides of a point.
bool is_json_number(std::string_view token) {
  const std::size_t point = token.find('.');
  const auto digit_at = [token](std::size_t at) {
    return at < token.size() && token[at] >= '0' && token[at] <= '9';
  };
  if (!digit_at(token.starts_with('-') ? 1 : 0)) return false;
  return point == token.npos || digit_at(point + 1);
}

/// Places of values in the order of the text, so that each character is counted once.
class PlaceCursor {
 public:
  PlaceCursor(std::string_view text, Place start) : text_(text), place_(start) {}

  /// REQUIRES: offsets do not go down.
  Place at(std::size_t offset) {
    place_ = place_.after(text_.substr(offset_, offset - offset_));
    offset_ = offset;
    return place_;
  }

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  Place place_;
};

class JsonLoader {
 public:
  JsonLoader(std::string_view text, Place start)
      : text_(text),
        start_(start),
        padded_(text),
        cursor_(text, start),
        has_escaped_units_(text.find("\\u") != text.npos) {}

  Result<Value> load() {
    if (const auto bad = first_invalid_utf8(text_)) {
      const auto byte = static_cast<unsigned char>(text_[*bad]);
      return refuse(Code::invalid, fmt::format("byte 0x{:02x} is not valid UTF-8", byte),
                    place_at(*bad), "save the file as UTF-8");
    }
    if (const simdjson::error_code error = parser_.iterate(padded_).get(document_)) {
      return lexical(error);
    }
    ondemand::value root;
    if (document_.get_value().get(root) != simdjson::SUCCESS) return syntax();
    Value out;
    TRY(node(root, 1, out));
    const char* rest = nullptr;
    if (document_.current_location().get(rest) != simdjson::SUCCESS) return out;
    return refuse(Code::invalid, "text after the end of the document", place_at(offset_of(rest)));
  }

 private:
  std::size_t offset_of(const char* at) const {
    return std::min(static_cast<std::size_t>(at - padded_.data()), text_.size());
  }
  Place place_at(std::size_t offset) const { return start_.after(text_.substr(0, offset)); }

  /// An error of the first stage, which knows no place: strings are scanned again for it.
  std::unexpected<Error> lexical(simdjson::error_code error) const {
    if (error == simdjson::MEMALLOC || error == simdjson::CAPACITY) {
      return fail(Code::limit, "the JSON text is too large for the memory at hand");
    }
    std::size_t opened = 0;
    bool inside = false;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      if (inside && static_cast<unsigned char>(c) < 0x20) {
        return refuse(Code::invalid,
                      fmt::format("control character 0x{:02x} in text", static_cast<unsigned>(c)),
                      place_at(at), "escape it, as in \\n");
      }
      if (inside && c == '\\') {
        ++at;
      } else if (c == '"') {
        inside = !inside;
        opened = at;
      }
    }
    if (inside) return refuse(Code::invalid, "text without its closing quote", place_at(opened));
    return truncated();
  }

  std::unexpected<Error> truncated() const {
    return refuse(Code::invalid, "the document ends too early", place_at(text_.size()),
                  "is the file complete?");
  }

  /// A structural error at the parser's current place.
  std::unexpected<Error> syntax() {
    const char* at = nullptr;
    if (document_.current_location().get(at) != simdjson::SUCCESS) return truncated();
    const std::size_t offset = offset_of(at);
    if (offset >= text_.size()) return truncated();
    return refuse(Code::invalid, fmt::format("unexpected {}", quote(text_.substr(offset, 12))),
                  place_at(offset));
  }

  Result<void> count(Place place) {
    if (++nodes_ <= limits::yaml_nodes) return {};
    return refuse(Code::limit, fmt::format("more than {} values", limits::yaml_nodes), place,
                  "split the file");
  }

  /// Reads into `out`, which already stands in its parent: a tree is built without moving nodes.
  Result<void> node(ondemand::value value, unsigned depth, Value& out) {
    const std::string_view token = value.raw_json_token();
    const char* const start = token.data();
    const Place place = cursor_.at(offset_of(start));
    TRY(count(place));
    if (depth > limits::input_depth) {
      return refuse(Code::limit, fmt::format("nested deeper than {} levels", limits::input_depth),
                    place);
    }
    switch (token.empty() ? '\0' : token.front()) {
      case '{':
        return object(value, place, depth, out);
      case '[':
        return list(value, place, depth, out);
      case '"':
        return text(value, place, out);
      default:
        return plain(token, place, out);
    }
  }

  std::unexpected<Error> bad_text(Place place) const {
    return refuse(Code::invalid, "text with an invalid escape", place);
  }

  Result<void> check(std::string_view text, Place place) const {
    if (!has_escaped_units_) return {};
    if (text.find('\0') != text.npos) {
      return refuse(Code::invalid, "text with a NUL character", place);
    }
    if (first_invalid_utf8(text)) return bad_text(place);  // An escaped lone surrogate.
    return {};
  }

  Result<void> text(ondemand::value value, Place place, Value& out) const {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return bad_text(place);
    TRY(check(text, place));
    out = Value::text(std::string(text), place);
    return {};
  }

  Result<void> plain(std::string_view raw, Place place, Value& out) const {
    const std::string_view token = trimmed(raw);
    std::optional<Value> value;
    if (token == "null") value = Value::null(place);
    if (token == "true") value = Value::boolean(true, place);
    if (token == "false") value = Value::boolean(false, place);
    if (!value && is_json_number(token)) value = Value::number(token, place);
    if (!value) {
      return refuse(Code::invalid, fmt::format("{} is not JSON", quote(token)), place,
                    "text stands in double quotes");
    }
    out = *std::move(value);
    return {};
  }

  Result<void> list(ondemand::value value, Place place, unsigned depth, Value& out) {
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) return syntax();
    Value::List items;
    for (auto element : array) {
      ondemand::value item;
      if (element.get(item) != simdjson::SUCCESS) return syntax();
      TRY(node(item, depth + 1, items.emplace_back()));
    }
    out = Value::list(std::move(items), place);
    return {};
  }

  Result<void> object(ondemand::value value, Place place, unsigned depth, Value& out) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) return syntax();
    Value::Map members;
    for (auto element : object) {
      ondemand::field field;
      if (std::move(element).get(field) != simdjson::SUCCESS) return syntax();
      const Place key_place = cursor_.at(offset_of(field.key().raw() - 1));
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) return bad_text(key_place);
      TRY(check(key, key_place));
      if (members.empty()) members.reserve(members_expected);
      Value::Member& member = members.emplace_back();
      member.key = key;
      member.place = key_place;
      TRY(node(field.value(), depth + 1, member.value));
    }
    out = TRY(map_without_duplicates(std::move(members), place));
    return {};
  }

  std::string_view text_;
  Place start_;
  simdjson::padded_string padded_;
  PlaceCursor cursor_;
  ondemand::parser parser_;
  ondemand::document document_;
  // Only \u can spell a NUL or a lone surrogate: the text itself has been checked.
  bool has_escaped_units_;
  std::uint64_t nodes_ = 0;
};

}  // namespace

Result<Value> parse_json(std::string_view text, Place start) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // A byte order mark.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool nested = first != text.npos && (text[first] == '{' || text[first] == '[');
  if (nested) return JsonLoader(text, start).load();
  // The streaming parser reads no bare scalar: it becomes the only item of a list.
  const std::string wrapped = fmt::format("[{}]", text);
  Value list = TRY(JsonLoader(wrapped, {start.line, start.column - 1}).load());
  if (list.items().size() == 1) return list.items().front().copy();
  const Place end = start.after(text);
  if (list.items().empty()) return refuse(Code::invalid, "the document is empty", end);
  return refuse(Code::invalid, "more than one value", list.items()[1].place());
}

}  // namespace tutti
