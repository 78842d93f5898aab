/// JSON text <-> values: a parser, a streaming reader of one huge list, and a writer.
///
/// The parser is strict (RFC 8259) and refuses also duplicate keys, NUL in text, nesting beyond
/// limits::input_depth and more than limits::yaml_nodes values. Integers beyond int64 and all
/// fractions are kept as their text. Errors stand at "line:column".
/// Complexity: linear; parse_json holds the text twice plus the tree, JsonItems holds one element.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/source.h"
#include "format/value.h"

namespace tutti {

/// `start` is the place of the first character, for a piece of a larger text.
Result<Value> parse_json(std::string_view text, Place start = {1, 1});

/// Indented by two spaces per level, or on one line.
enum class JsonStyle : std::uint8_t { compact, indented };

std::string to_json(const Value& value, JsonStyle style = JsonStyle::compact);

/// Appends one JSON document to a string. Misuse (a value without its key, an unclosed list) is a
/// bug. Invalid UTF-8 is written as U+FFFD, so the output is always JSON.
///
///   JsonWriter json(out);
///   json.begin_object().member("name", node.name).member("gpu", 8).end_object();
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out, JsonStyle style = JsonStyle::compact)
      : out_(&out), style_(style) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_list() { return open('['); }
  JsonWriter& end_list() { return close(']'); }
  /// REQUIRES: inside an object, and no key twice (not checked).
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& value(bool value);
  /// The shortest text that reads back as the same double; NaN and infinity are null.
  JsonWriter& value(double value);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const Value& value);
  template <std::integral T>
  JsonWriter& value(T number) {
    if constexpr (std::signed_integral<T>) return whole(static_cast<std::int64_t>(number));
    return natural(static_cast<std::uint64_t>(number));
  }
  /// Any text that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// Whether one whole document has been written.
  bool complete() const { return open_.empty() && written_; }

 private:
  struct Level {
    char end;
    bool empty = true;
  };

  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& whole(std::int64_t number);
  JsonWriter& natural(std::uint64_t number);
  void separate();
  void new_line();

  std::string* out_;
  JsonStyle style_;
  std::vector<Level> open_;
  bool keyed_ = false;
  bool written_ = false;
};

/// The elements of one list of a huge document, one at a time: the member `name` of the top-level
/// object ("items" of a Kubernetes List), or the top-level list itself when `name` is empty. Memory
/// is bounded by the largest element. The other members are kept for `rest`, those of more than 64
/// KiB left out. A list that is null counts as empty; one that is absent is an error at the end.
///
///   JsonItems pods(file_source(file), "items");
///   while (const std::optional<Value> pod = TRY(pods.next())) ...
///
/// After an error every further call fails with it again.
class JsonItems {
 public:
  static constexpr std::size_t element_bytes_default = std::size_t{64} << 20U;

  JsonItems(Source source, std::string name, std::size_t element_bytes_max = element_bytes_default);

  /// The next element, with places in the whole document; nullopt after the last one, when the
  /// document has been read to its end.
  Result<std::optional<Value>> next();

  /// The same as text, valid until the next call; its brackets balance, nothing else is checked.
  Result<std::optional<std::string_view>> next_text();

  /// Where the element last returned starts.
  Place place() const { return element_place_; }

  /// A map of the other top-level members. REQUIRES: next returned nullopt.
  Result<Value> rest() const;

 private:
  enum class Stage : std::uint8_t { start, members, elements, done };

  Result<std::optional<std::string_view>> step();
  Result<void> begin();
  Result<bool> find_list();
  Result<bool> next_element();
  Result<void> end_of_document();
  Result<void> read_member(std::string key, Place key_place);
  Result<void> read_value(std::size_t bytes_max, bool keep_all);
  Result<std::string> read_key();

  Result<bool> fill();
  Result<int> peek();
  char take();
  std::string_view window() const { return std::string_view(buffer_).substr(at_, end_ - at_); }
  void consume(std::size_t count);
  std::unexpected<Error> bad(std::string_view expected, int found) const;

  Source source_;
  std::string name_;
  std::size_t element_bytes_max_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  bool source_ended_ = false;
  Place here_{1, 1};
  Place element_place_{1, 1};
  Stage stage_ = Stage::start;
  bool found_ = false;
  bool first_ = true;  ///< Of the members, or of the elements.
  std::string element_;
  Value::Map rest_;
  std::optional<Error> failed_;
};

}  // namespace tutti
