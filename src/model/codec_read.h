/// Reads a struct from JSON by its list of fields; what is absent keeps its default, what is not
/// listed is an error. Private to model/.
///
/// An error's text begins with the path to the value: `spec.gangs[0].copies: expected ...`. It is
/// put together on the way out, so that a line without errors costs no paths. Linear.
#pragma once

#include <concepts>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/value.h"
#include "model/codec_write.h"

namespace tutti::codec {

/// The error of a member or an item, seen from what holds it.
Error inside(std::string_view segment, Error error);
std::unexpected<Error> mismatch(const Value& value, std::string_view expected);
std::unexpected<Error> unknown_field(const Value& value, std::span<const std::string_view> known);
std::unexpected<Error> unknown_word(const Value& value, std::span<const std::string_view> known);

template <Described T>
std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  const auto member = [&](std::string_view name, auto) { names.push_back(name); };
  fields(member, Of<T>{});
  return names;
}

Result<void> read(const Value& value, bool& out);
Result<void> read(const Value& value, std::int64_t& out);
Result<void> read(const Value& value, std::uint64_t& out);
Result<void> read(const Value& value, std::string& out);
Result<void> read(const Value& value, Duration& out);
Result<void> read(const Value& value, AttributeExpression& out);
Result<void> read(const Value& value, Labels& out);
Result<void> read(const Value& value, DeviceSet& out);
Result<void> read(const Value& value, std::vector<DeviceSpec>& out);

template <std::integral T>
Result<void> read(const Value& value, T& out);
template <class Tag, class Rep>
Result<void> read(const Value& value, Index<Tag, Rep>& out);
template <Worded T>
Result<void> read(const Value& value, T& out);
template <Described T>
Result<void> read(const Value& value, T& out);
template <class T>
Result<void> read(const Value& value, std::vector<T>& out);
template <class T>
Result<void> read(const Value& value, std::shared_ptr<const T>& out);

/// The fields of T from a map that may also hold the members `others`, which are not its concern.
template <Described T>
Result<void> read_members(const Value& value, T& out, std::span<const std::string_view> others) {
  if (!value.is(Kind::map)) return mismatch(value, "a map");
  std::size_t known = 0;
  for (const std::string_view other : others) known += value.find(other) != nullptr ? 1 : 0;
  std::optional<Error> error;
  const auto member = [&](std::string_view name, auto pointer) {
    const Value* const found = error ? nullptr : value.find(name);
    if (found == nullptr) return;
    ++known;
    if (auto done = read(*found, out.*pointer); !done)
      error = inside(name, std::move(done).error());
  };
  fields(member, Of<T>{});
  if (error) return fail(*std::move(error));
  if (known == value.members().size()) return {};
  std::vector<std::string_view> names = field_names<T>();
  names.insert(names.end(), others.begin(), others.end());
  return unknown_field(value, names);
}

template <Described T>
Result<void> read(const Value& value, T& out) {
  out = T{};
  return read_members(value, out, {});
}

template <std::integral T>
Result<void> read(const Value& value, T& out) {
  std::int64_t number = 0;
  TRY(read(value, number));
  if (!std::in_range<T>(number)) {
    return mismatch(value, std::to_string(std::numeric_limits<T>::min()) + " to " +
                               std::to_string(std::numeric_limits<T>::max()));
  }
  out = static_cast<T>(number);
  return {};
}

template <class Tag, class Rep>
Result<void> read(const Value& value, Index<Tag, Rep>& out) {
  Rep number = 0;
  TRY(read(value, number));
  out = Index<Tag, Rep>(number);
  return {};
}

template <Worded T>
Result<void> read(const Value& value, T& out) {
  if (!value.is(Kind::text)) return mismatch(value, "text");
  std::vector<std::string_view> words;
  for (int at = 0; at <= static_cast<int>(last_of(Of<T>{})); ++at) {
    out = static_cast<T>(at);
    words.push_back(to_text(out));
    if (words.back() == value.text_value()) return {};
  }
  return unknown_word(value, words);
}

template <class T>
Result<void> read(const Value& value, std::vector<T>& out) {
  if (!value.is(Kind::list)) return mismatch(value, "a list");
  out.clear();
  out.reserve(value.items().size());
  for (const Value& item : value.items()) {
    T fresh{};
    if (auto done = read(item, fresh); !done) {
      return fail(inside("[" + std::to_string(out.size()) + "]", std::move(done).error()));
    }
    out.push_back(std::move(fresh));
  }
  return {};
}

template <class T>
Result<void> read(const Value& value, std::shared_ptr<const T>& out) {
  auto fresh = std::make_shared<T>();
  TRY(read(value, *fresh));
  out = std::move(fresh);
  return {};
}

}  // namespace tutti::codec
