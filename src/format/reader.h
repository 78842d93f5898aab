/// A typed view of a map, so that decoding a struct reads as the list of its fields:
///
///   Result<NodeSpec> decode_node(Reader& r) {
///     NodeSpec node;
///     node.name = TRY(r.required_text("name"));
///     node.count = TRY(r.optional_integer("count", 1, 1'000)).value_or(1);
///     node.memory = TRY(r.optional_quantity("memory")).value_or(0);
///     node.mode = TRY(r.optional_choice<Mode>("mode", mode_words)).value_or(Mode::whole);
///     node.devices = TRY(r.list("devices", decode_device));
///     return node;
///   }
///   const Fleet fleet = TRY(decode(document, "fleet", decode_fleet));
///
/// Every field is marked when it is asked for; `done` reports the first field that nobody asked
/// for, with the nearest known name. `decode`, `list`, `object` and `objects` call it themselves. A
/// field whose value is null counts as absent. Each error stands at the line:column of the value,
/// and starts with the path of the field: "fleet.nodes[3].count: expected an integer, found ...".
/// Field names must outlive the reader (they are literals); the document must too.
/// Complexity: one scan of the members per field.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "format/quantity.h"
#include "format/value.h"

namespace tutti {

/// One row of a table of enumerators: their words are those of the CLI and of the API.
template <class E>
struct Choice {
  std::string_view word;
  E value;
};

class Reader {
 public:
  static constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

  /// A value that is not a map makes the first read fail.
  Reader(const Value& value, std::string path) : value_(&value), path_(std::move(path)) {}

  Result<std::string> required_text(std::string_view name);
  Result<std::optional<std::string>> optional_text(std::string_view name);
  Result<bool> required_boolean(std::string_view name);
  Result<std::optional<bool>> optional_boolean(std::string_view name);
  Result<std::int64_t> required_integer(std::string_view name, std::int64_t min = least,
                                        std::int64_t max = most);
  Result<std::optional<std::int64_t>> optional_integer(std::string_view name,
                                                       std::int64_t min = least,
                                                       std::int64_t max = most);
  /// A decimal times 10^digits (see parse_fixed): 1.5 with 3 digits is 1500. Not negative.
  Result<std::int64_t> required_fixed(std::string_view name, unsigned digits);
  Result<std::optional<std::int64_t>> optional_fixed(std::string_view name, unsigned digits);
  /// "80Gi" or a plain number, in base units or in thousandths. Not negative.
  Result<std::int64_t> required_quantity(std::string_view name);
  Result<std::optional<std::int64_t>> optional_quantity(std::string_view name);
  Result<std::int64_t> required_quantity_milli(std::string_view name);
  Result<std::optional<std::int64_t>> optional_quantity_milli(std::string_view name);
  /// "1h30m", or a plain number of seconds.
  Result<Duration> required_duration(std::string_view name);
  Result<std::optional<Duration>> optional_duration(std::string_view name);

  template <class E>
  Result<E> required_choice(std::string_view name, std::span<const Choice<E>> choices) {
    TRY(need(name));
    return *TRY(optional_choice<E>(name, choices));
  }
  template <class E>
  Result<std::optional<E>> optional_choice(std::string_view name,
                                           std::span<const Choice<E>> choices) {
    std::vector<std::string_view> words;
    for (const Choice<E>& choice : choices) words.push_back(choice.word);
    const std::optional<std::size_t> row = TRY(choice_row(name, words));
    if (!row) return std::nullopt;
    return choices[*row].value;
  }

  /// Lists; absent is empty. `decode` is `Result<T>(Reader&)`, called for each item, each a map.
  Result<std::vector<std::string>> texts(std::string_view name);
  Result<std::vector<std::int64_t>> integers(std::string_view name, std::int64_t min = least,
                                             std::int64_t max = most);
  template <class Decode>
  auto list(std::string_view name, Decode decode)
      -> Result<std::vector<typename std::invoke_result_t<Decode, Reader&>::value_type>>;

  /// Maps whose keys the user chooses (labels, queues by name), in their order; absent is empty.
  Result<std::vector<std::pair<std::string, std::string>>> text_map(std::string_view name);
  template <class Decode>
  auto map(std::string_view name, Decode decode) -> Result<std::vector<
      std::pair<std::string, typename std::invoke_result_t<Decode, Reader&>::value_type>>>;

  /// A nested map of fixed fields.
  template <class Decode>
  auto required_object(std::string_view name, Decode decode)
      -> std::invoke_result_t<Decode, Reader&>;
  template <class Decode>
  auto optional_object(std::string_view name, Decode decode)
      -> Result<std::optional<typename std::invoke_result_t<Decode, Reader&>::value_type>>;

  /// The field itself, for fields of several shapes; nullptr when absent.
  Result<const Value*> optional_value(std::string_view name) { return get(name); }
  Result<const Value*> required_value(std::string_view name) { return need(name); }

  /// Accepts a field, or all fields not yet asked for, without reading them.
  Result<void> ignore(std::string_view name);
  void ignore_rest() { ignores_rest_ = true; }

  /// Fails at the first field that was never asked for.
  Result<void> done() const;

  /// An error about a field that has the right type, at its place: r.error("count", "is odd").
  Error error(std::string_view name, std::string_view what, std::string hint = {}) const;

  const Value& value() const { return *value_; }
  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const;

 private:
  std::string path_of_member(std::string_view name, std::string_view key) const;
  Result<const Value*> get(std::string_view name);
  Result<const Value*> need(std::string_view name);
  Result<std::span<const Value>> items_of(std::string_view name);
  Result<std::span<const Value::Member>> members_of(std::string_view name);
  Result<std::optional<std::size_t>> choice_row(std::string_view name,
                                                std::span<const std::string_view> words);
  template <class T, class Convert>
  Result<std::optional<T>> optional(std::string_view name, Convert convert);
  template <class T, class Convert>
  Result<T> required(std::string_view name, Convert convert);

  const Value* value_;
  std::string path_;
  std::vector<std::string_view> asked_;
  bool ignores_rest_ = false;
};

/// Decodes a whole value with `decode`, a `Result<T>(Reader&)`, and refuses fields it did not read.
template <class Decode>
auto decode(const Value& value, std::string path, Decode decode)
    -> std::invoke_result_t<Decode, Reader&> {
  Reader reader(value, std::move(path));
  auto out = TRY(decode(reader));
  TRY(reader.done());
  return out;
}

template <class Decode>
auto Reader::list(std::string_view name, Decode decode_item)
    -> Result<std::vector<typename std::invoke_result_t<Decode, Reader&>::value_type>> {
  std::vector<typename std::invoke_result_t<Decode, Reader&>::value_type> out;
  for (const Value& item : TRY(items_of(name))) {
    const std::string path = path_of(name) + "[" + std::to_string(out.size()) + "]";
    out.push_back(TRY(decode(item, path, decode_item)));
  }
  return out;
}

template <class Decode>
auto Reader::map(std::string_view name, Decode decode_item) -> Result<std::vector<
    std::pair<std::string, typename std::invoke_result_t<Decode, Reader&>::value_type>>> {
  std::vector<std::pair<std::string, typename std::invoke_result_t<Decode, Reader&>::value_type>>
      out;
  for (const Value::Member& member : TRY(members_of(name))) {
    auto item = TRY(decode(member.value, path_of_member(name, member.key), decode_item));
    out.emplace_back(member.key, std::move(item));
  }
  return out;
}

template <class Decode>
auto Reader::required_object(std::string_view name, Decode decode_object)
    -> std::invoke_result_t<Decode, Reader&> {
  return decode(*TRY(need(name)), path_of(name), decode_object);
}

template <class Decode>
auto Reader::optional_object(std::string_view name, Decode decode_object)
    -> Result<std::optional<typename std::invoke_result_t<Decode, Reader&>::value_type>> {
  const Value* const value = TRY(get(name));
  if (value == nullptr) return std::nullopt;
  return TRY(decode(*value, path_of(name), decode_object));
}

}  // namespace tutti
