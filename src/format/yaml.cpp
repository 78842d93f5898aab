#include "format/yaml.h"

#include <fmt/core.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "format/text.h"

namespace tutti {
namespace {

Place place_of(const yaml_mark_t& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

std::unexpected<Error> refuse_at(Code code, std::string what, Place place, std::string hint = {}) {
  return fail(Error{code, std::move(what), place.text(), std::move(hint)});
}

std::string_view view_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

/// The characters that YAML allows to stand in a text, escapes aside.
bool is_allowed(char32_t c) {
  if (c < 0x20) return c == '\t' || c == '\n' || c == '\r';
  if (c >= 0x7F && c < 0xA0) return c == 0x85;
  return c != 0xFEFF && c != 0xFFFE && c != 0xFFFF;
}

Result<void> check_characters(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (point.length > 0 && is_allowed(point.value)) {
      at += point.length;
      continue;
    }
    const Place place = Place{1, 1}.after(text.substr(0, at));
    if (point.length == 0) {
      const auto byte = static_cast<unsigned char>(text[at]);
      return refuse_at(Code::invalid, fmt::format("byte 0x{:02x} is not valid UTF-8", byte), place,
                       "save the file as UTF-8");
    }
    return refuse_at(Code::invalid,
                     fmt::format("character U+{:04X} is not allowed in YAML",
                                 static_cast<unsigned>(point.value)),
                     place);
  }
  return {};
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

Value resolve_plain(std::string_view text, Place place) {
  constexpr std::array<std::string_view, 5> nulls = {"", "~", "null", "Null", "NULL"};
  constexpr std::array<std::string_view, 3> trues = {"true", "True", "TRUE"};
  constexpr std::array<std::string_view, 3> falses = {"false", "False", "FALSE"};
  if (is_one_of(text, nulls)) return Value::null(place);
  if (is_one_of(text, trues)) return Value::boolean(true, place);
  if (is_one_of(text, falses)) return Value::boolean(false, place);
  if (std::optional<Value> number = Value::number(text, place)) return *std::move(number);
  return Value::text(std::string(text), place, /*quoted=*/false);
}

/// What most likely is behind a complaint of the parser.
std::string hint_for(std::string_view problem) {
  if (problem.contains("cannot start any token")) {
    return "indent with blanks, not tabs, and put text in quotes that starts with @ or `";
  }
  if (problem.contains("expected ',' or")) {
    return "within [ ] and { } put text in quotes that has brackets, braces or commas: \"n-[0-3]\"";
  }
  if (problem.contains("mapping values are not allowed")) {
    return "put text in quotes that has a colon and a blank; is the indentation right?";
  }
  return {};
}

/// A finished value that aliases may copy, and what a copy costs.
struct Anchor {
  Value value;
  std::uint64_t nodes = 0;
  std::uint64_t bytes = 0;
  unsigned depth = 0;
};

void measure(const Value& value, unsigned depth, Anchor& anchor) {
  ++anchor.nodes;
  anchor.bytes += sizeof(Value);
  anchor.depth = std::max(anchor.depth, depth);
  if (value.is(Kind::text) || value.is(Kind::decimal)) anchor.bytes += value.text_value().size();
  if (value.is(Kind::list)) {
    for (const Value& item : value.items()) measure(item, depth + 1, anchor);
  }
  if (value.is(Kind::map)) {
    for (const Value::Member& member : value.members()) {
      anchor.bytes += sizeof(Value::Member) - sizeof(Value) + member.key.size();
      measure(member.value, depth + 1, anchor);
    }
  }
}

/// One libyaml parser and its current event. Recursion follows the nesting, so it is bounded by
/// limits::input_depth.
class YamlLoader {
 public:
  explicit YamlLoader(std::string_view text) {
    CHECK(yaml_parser_initialize(&parser_) == 1);
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~YamlLoader() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  YamlLoader(const YamlLoader&) = delete;
  YamlLoader& operator=(const YamlLoader&) = delete;

  Result<std::vector<Value>> documents() {
    std::vector<Value> out;
    TRY(advance());  // The start of the stream.
    while (true) {
      TRY(advance());
      if (event_.type == YAML_STREAM_END_EVENT) return out;
      CHECK(event_.type == YAML_DOCUMENT_START_EVENT, static_cast<int>(event_.type));
      anchors_.clear();
      TRY(advance());
      out.push_back(TRY(node(1)));
      TRY(advance());  // The end of the document.
    }
  }

 private:
  Place place() const { return place_of(event_.start_mark); }

  Result<void> advance() {
    yaml_event_delete(&event_);
    if (yaml_parser_parse(&parser_, &event_) == 1) return {};
    event_ = {};
    if (parser_.error == YAML_MEMORY_ERROR) return fail(Code::limit, "out of memory");
    std::string what(parser_.problem == nullptr ? "not YAML" : parser_.problem);
    if (parser_.context != nullptr) what += fmt::format(" ({})", parser_.context);
    std::string hint = hint_for(what);
    return refuse_at(Code::invalid, std::move(what), place_of(parser_.problem_mark),
                     std::move(hint));
  }

  /// The value that starts at the current event; afterwards its last event is the current one.
  Result<Value> node(unsigned depth) {
    if (depth > limits::input_depth) {
      return refuse_at(Code::limit,
                       fmt::format("nested deeper than {} levels", limits::input_depth), place());
    }
    TRY(count(1));
    switch (event_.type) {
      case YAML_SCALAR_EVENT:
        return scalar();
      case YAML_ALIAS_EVENT:
        return alias(depth);
      case YAML_SEQUENCE_START_EVENT:
        return sequence(depth);
      case YAML_MAPPING_START_EVENT:
        return mapping(depth);
      default:
        CHECK(false, static_cast<int>(event_.type));
        return Value();
    }
  }

  Result<void> count(std::uint64_t nodes) {
    nodes_ += nodes;
    if (nodes_ <= limits::yaml_nodes) return {};
    return refuse_at(Code::limit, fmt::format("more than {} values", limits::yaml_nodes), place(),
                     "split the file");
  }

  Result<void> spend(std::uint64_t bytes, Place at) {
    copied_ += bytes;
    if (copied_ <= yaml_alias_bytes) return {};
    return refuse_at(
        Code::limit,
        fmt::format("anchors and aliases expand to more than {} bytes", yaml_alias_bytes), at,
        "write the values out, or use fewer aliases");
  }

  Result<void> check_tag(const yaml_char_t* tag) const {
    if (tag == nullptr) return {};
    return refuse_at(Code::unsupported, fmt::format("tag {} is not supported", quote(view_of(tag))),
                     place(), "leave out the tag; put text in quotes");
  }

  Result<void> remember(std::string name, const Value& value) {
    if (name.empty()) return {};
    Anchor anchor;
    measure(value, 1, anchor);
    TRY(spend(anchor.bytes, value.place()));
    anchor.value = value.copy();
    anchors_.insert_or_assign(std::move(name), std::move(anchor));
    return {};
  }

  Result<Value> scalar() {
    TRY(check_tag(event_.data.scalar.tag));
    const std::string_view text(reinterpret_cast<const char*>(event_.data.scalar.value),
                                event_.data.scalar.length);
    if (text.find('\0') != std::string_view::npos) {
      return refuse_at(Code::invalid, "text with a NUL character", place());
    }
    const bool plain = event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    Value out = plain ? resolve_plain(text, place()) : Value::text(std::string(text), place());
    TRY(remember(std::string(view_of(event_.data.scalar.anchor)), out));
    return out;
  }

  Result<Value> alias(unsigned depth) {
    const std::string_view name = view_of(event_.data.alias.anchor);
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return refuse_at(Code::invalid, fmt::format("alias {} has no anchor before it", quote(name)),
                       place());
    }
    const Anchor& anchor = found->second;
    if (depth - 1 + anchor.depth > limits::input_depth) {
      return refuse_at(Code::limit,
                       fmt::format("nested deeper than {} levels", limits::input_depth), place());
    }
    TRY(count(anchor.nodes - 1));
    TRY(spend(anchor.bytes, place()));
    return anchor.value.copy();
  }

  Result<Value> sequence(unsigned depth) {
    TRY(check_tag(event_.data.sequence_start.tag));
    const Place start = place();
    const std::string anchor(view_of(event_.data.sequence_start.anchor));
    Value::List items;
    while (true) {
      TRY(advance());
      if (event_.type == YAML_SEQUENCE_END_EVENT) break;
      items.push_back(TRY(node(depth + 1)));
    }
    Value out = Value::list(std::move(items), start);
    TRY(remember(anchor, out));
    return out;
  }

  Result<Value> mapping(unsigned depth) {
    TRY(check_tag(event_.data.mapping_start.tag));
    const Place start = place();
    const std::string anchor(view_of(event_.data.mapping_start.anchor));
    Value::Map members;
    while (true) {
      TRY(advance());
      if (event_.type == YAML_MAPPING_END_EVENT) break;
      const Place key_place = place();
      std::string name = TRY(key());
      TRY(advance());
      members.push_back({std::move(name), key_place, TRY(node(depth + 1))});
    }
    Value out = TRY(map_without_duplicates(std::move(members), start));
    TRY(remember(anchor, out));
    return out;
  }

  Result<std::string> key() {
    if (event_.type != YAML_SCALAR_EVENT) {
      return refuse_at(Code::unsupported, "a key that is not plain or quoted text", place(),
                       "write the key as a word");
    }
    const bool plain = event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    std::string text(reinterpret_cast<const char*>(event_.data.scalar.value),
                     event_.data.scalar.length);
    if (plain && text.empty()) {
      return refuse_at(Code::invalid, "a key is missing before \":\"", place());
    }
    if (plain && text == "<<") {
      return refuse_at(Code::unsupported, "merge keys (\"<<\") are not supported", place(),
                       "write the fields out");
    }
    TRY(scalar());  // Its checks, and its anchor.
    return text;
  }

  yaml_parser_t parser_{};
  yaml_event_t event_{};
  std::map<std::string, Anchor, std::less<>> anchors_;
  std::uint64_t nodes_ = 0;
  std::uint64_t copied_ = 0;
};

}  // namespace

Result<std::vector<Value>> parse_yaml(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // A byte order mark.
  TRY(check_characters(text));
  return YamlLoader(text).documents();
}

}  // namespace tutti
