/// A document tree, the same for YAML and JSON input.
///
/// Invariants: a `decimal` is a number that no int64 holds exactly, kept as the text that was read
/// (no rounding ever happens here); a map keeps the order of its members and has no key twice; text
/// read by a parser is valid UTF-8 without NUL. Nodes own their children by value, so a tree moves
/// in O(1); a copy is O(nodes) and has to be asked for. The parsers bound the depth, so recursion
/// over a parsed tree is safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tutti {

/// Where a value starts in its text, both from 1; columns count characters, not bytes.
/// Line 0 means that it was not read from a text.
struct Place {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  /// "3:7", or empty for a value that was not read.
  std::string text() const;
  /// The place behind `text` when this is the place of its start.
  Place after(std::string_view text) const;

  friend bool operator==(Place, Place) = default;
};

enum class Kind : std::uint8_t { null, boolean, integer, decimal, text, list, map };

/// "an integer", "text", "a list": as it stands in "expected an integer".
std::string_view kind_text(Kind kind);

class Value {
 public:
  struct Member;
  using List = std::vector<Value>;
  using Map = std::vector<Member>;

  Value() = default;  ///< null
  Value(Value&&) noexcept = default;
  Value& operator=(Value&&) noexcept = default;
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() = default;

  static Value null(Place place = {});
  static Value boolean(bool value, Place place = {});
  static Value integer(std::int64_t value, Place place = {});
  /// The number that `text` spells: an integer where an int64 holds it, else a decimal; nullopt
  /// when it is no number. Sign, fraction and exponent are understood; leading zeros are not.
  static std::optional<Value> number(std::string_view text, Place place = {});
  static Value text(std::string text, Place place = {}, bool quoted = true);
  static Value list(List items, Place place = {});
  /// REQUIRES: no key twice (see duplicate_member).
  static Value map(Map members, Place place = {});

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  Place place() const { return place_; }
  /// False only for text that stood in YAML without quotes.
  bool quoted() const { return quoted_; }

  /// Each fails with "expected an integer, found text "8Gi"" at the place of the value.
  Result<bool> as_boolean() const;
  Result<std::int64_t> as_integer() const;
  /// The digits of an integer or a decimal.
  Result<std::string> as_number() const;
  Result<std::string_view> as_text() const;
  Result<std::span<const Value>> as_list() const;
  Result<std::span<const Member>> as_map() const;

  /// For callers that have looked at kind(): anything else is a bug.
  bool boolean_value() const;
  std::int64_t integer_value() const;
  std::string_view text_value() const;  ///< Of text, or the digits of a decimal.
  std::span<const Value> items() const;
  std::span<const Member> members() const;

  /// The member called `key`, or nullptr; also when this is not a map. O(members).
  const Value* find(std::string_view key) const;

  /// `text "8Gi"`, `integer 5`, `a list of 3`: what was found, for an error.
  std::string describe() const;
  Error mismatch(std::string_view expected) const;

  Value copy() const;

  /// Same kinds, contents and order; places and quotes do not count.
  friend bool operator==(const Value& a, const Value& b);

 private:
  Kind kind_ = Kind::null;
  bool quoted_ = false;
  Place place_;
  std::variant<std::monostate, bool, std::int64_t, std::string, List, Map> content_;
};

struct Value::Member {
  std::string key;
  Place place;  ///< Of the key.
  Value value;

  friend bool operator==(const Member& a, const Member& b) {
    return a.key == b.key && a.value == b.value;
  }
};

/// The first member whose key stands in the map before it, or nullopt. O(n log n).
std::optional<std::size_t> duplicate_member(std::span<const Value::Member> members);

/// The parsers' check of a finished map: an error naming the key and both of its places.
Result<Value> map_without_duplicates(Value::Map members, Place place);

}  // namespace tutti
