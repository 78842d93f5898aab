#include "format/reader.h"

#include <fmt/core.h>

#include <algorithm>

#include "format/text.h"

namespace tutti {
namespace {

/// The text of a plain scalar that may be written with or without quotes: 2, 1.5, "80Gi", 90s.
Result<std::string> scalar_text(const Value& value, std::string_view expected) {
  if (value.is(Kind::integer)) return std::to_string(value.integer_value());
  if (value.is(Kind::decimal) || value.is(Kind::text)) return std::string(value.text_value());
  return fail(value.mismatch(expected));
}

Result<std::int64_t> integer_within(const Value& value, std::int64_t min, std::int64_t max) {
  const std::int64_t number = TRY(value.as_integer());
  if (number >= min && number <= max) return number;
  std::string range = fmt::format("{} to {}", min, max);
  if (max == Reader::most) range = fmt::format("{} or more", min);
  if (min == Reader::least) range = fmt::format("{} or less", max);
  return fail(Code::invalid, fmt::format("{} is out of range", number), "allowed: " + range);
}

Result<std::string> text_of(const Value& value) { return std::string(TRY(value.as_text())); }

Result<bool> boolean_of(const Value& value) {
  Result<bool> out = value.as_boolean();
  if (out || !value.is(Kind::text)) return out;
  Error error = std::move(out).error();
  const std::string_view word = value.text_value();
  if (word == "yes" || word == "on" || word == "True") error.hint = "write true";
  if (word == "no" || word == "off" || word == "False") error.hint = "write false";
  return fail(std::move(error));
}

/// Puts the path in front, and the place of the value where the error has none yet.
Error located(Error error, const std::string& path, const Value& value) {
  error.what = path + ": " + error.what;
  if (error.where.empty()) error.where = value.place().text();
  return error;
}

}  // namespace

std::string Reader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

// A key that the user chose may hold anything: only a plain one stands bare in a path.
std::string Reader::path_of_member(std::string_view name, std::string_view key) const {
  const bool plain = !key.empty() && key.size() <= 60 && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/' || c == '.';
  });
  return fmt::format("{}.{}", path_of(name), plain ? std::string(key) : quote(key));
}

Result<const Value*> Reader::get(std::string_view name) {
  if (!value_->is(Kind::map)) {
    return fail(located(value_->mismatch("a map"), path_.empty() ? "document" : path_, *value_));
  }
  if (std::ranges::find(asked_, name) == asked_.end()) asked_.push_back(name);
  const Value* const found = value_->find(name);
  return found == nullptr || found->is(Kind::null) ? nullptr : found;
}

Result<const Value*> Reader::need(std::string_view name) {
  const Value* const found = TRY(get(name));
  if (found != nullptr) return found;
  const Value* const null = value_->find(name);
  return fail(Error{Code::invalid, fmt::format("{} is missing", path_of(name)),
                    (null != nullptr ? null : value_)->place().text(),
                    fmt::format("add \"{}\"", name)});
}

template <class T, class Convert>
Result<std::optional<T>> Reader::optional(std::string_view name, Convert convert) {
  const Value* const found = TRY(get(name));
  if (found == nullptr) return std::nullopt;
  Result<T> out = convert(*found);
  if (!out) return fail(located(std::move(out).error(), path_of(name), *found));
  return *std::move(out);
}

template <class T, class Convert>
Result<T> Reader::required(std::string_view name, Convert convert) {
  TRY(need(name));
  return *TRY(optional<T>(name, convert));
}

Result<std::string> Reader::required_text(std::string_view name) {
  return required<std::string>(name, text_of);
}

Result<std::optional<std::string>> Reader::optional_text(std::string_view name) {
  return optional<std::string>(name, text_of);
}

Result<bool> Reader::required_boolean(std::string_view name) {
  return required<bool>(name, boolean_of);
}

Result<std::optional<bool>> Reader::optional_boolean(std::string_view name) {
  return optional<bool>(name, boolean_of);
}

Result<std::int64_t> Reader::required_integer(std::string_view name, std::int64_t min,
                                              std::int64_t max) {
  TRY(need(name));
  return *TRY(optional_integer(name, min, max));
}

Result<std::optional<std::int64_t>> Reader::optional_integer(std::string_view name,
                                                             std::int64_t min, std::int64_t max) {
  return optional<std::int64_t>(
      name, [min, max](const Value& value) { return integer_within(value, min, max); });
}

Result<std::int64_t> Reader::required_fixed(std::string_view name, unsigned digits) {
  TRY(need(name));
  return *TRY(optional_fixed(name, digits));
}

Result<std::optional<std::int64_t>> Reader::optional_fixed(std::string_view name, unsigned digits) {
  return optional<std::int64_t>(name, [digits](const Value& value) -> Result<std::int64_t> {
    return parse_fixed(TRY(value.as_number()), digits);
  });
}

Result<std::int64_t> Reader::required_quantity(std::string_view name) {
  TRY(need(name));
  return *TRY(optional_quantity(name));
}

Result<std::optional<std::int64_t>> Reader::optional_quantity(std::string_view name) {
  return optional<std::int64_t>(name, [](const Value& value) -> Result<std::int64_t> {
    return parse_quantity(TRY(scalar_text(value, "a quantity")));
  });
}

Result<std::int64_t> Reader::required_quantity_milli(std::string_view name) {
  TRY(need(name));
  return *TRY(optional_quantity_milli(name));
}

Result<std::optional<std::int64_t>> Reader::optional_quantity_milli(std::string_view name) {
  return optional<std::int64_t>(name, [](const Value& value) -> Result<std::int64_t> {
    return parse_quantity_milli(TRY(scalar_text(value, "a quantity")));
  });
}

Result<Duration> Reader::required_duration(std::string_view name) {
  TRY(need(name));
  return *TRY(optional_duration(name));
}

Result<std::optional<Duration>> Reader::optional_duration(std::string_view name) {
  return optional<Duration>(name, [](const Value& value) -> Result<Duration> {
    return parse_duration(TRY(scalar_text(value, "a duration")));
  });
}

Result<std::optional<std::size_t>> Reader::choice_row(std::string_view name,
                                                      std::span<const std::string_view> words) {
  const auto row_of = [words](const Value& value) -> Result<std::size_t> {
    const std::string_view word = TRY(value.as_text());
    const auto row = std::ranges::find(words, word);
    if (row != words.end()) return static_cast<std::size_t>(row - words.begin());
    std::string hint;
    if (const auto near = closest(word, words)) hint = fmt::format("did you mean \"{}\"?", *near);
    return fail(Code::invalid, fmt::format("{} is not one of {}", quote(word), join_names(words)),
                std::move(hint));
  };
  return optional<std::size_t>(name, row_of);
}

Result<std::span<const Value>> Reader::items_of(std::string_view name) {
  const auto items = [](const Value& value) { return value.as_list(); };
  return TRY(optional<std::span<const Value>>(name, items)).value_or(std::span<const Value>());
}

Result<std::span<const Value::Member>> Reader::members_of(std::string_view name) {
  const auto members = [](const Value& value) { return value.as_map(); };
  return TRY(optional<std::span<const Value::Member>>(name, members))
      .value_or(std::span<const Value::Member>());
}

Result<std::vector<std::string>> Reader::texts(std::string_view name) {
  std::vector<std::string> out;
  for (const Value& item : TRY(items_of(name))) {
    Result<std::string> text = text_of(item);
    const std::string path = fmt::format("{}[{}]", path_of(name), out.size());
    if (!text) return fail(located(std::move(text).error(), path, item));
    out.push_back(*std::move(text));
  }
  return out;
}

Result<std::vector<std::int64_t>> Reader::integers(std::string_view name, std::int64_t min,
                                                   std::int64_t max) {
  std::vector<std::int64_t> out;
  for (const Value& item : TRY(items_of(name))) {
    Result<std::int64_t> number = integer_within(item, min, max);
    const std::string path = fmt::format("{}[{}]", path_of(name), out.size());
    if (!number) return fail(located(std::move(number).error(), path, item));
    out.push_back(*number);
  }
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> Reader::text_map(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Value::Member& member : TRY(members_of(name))) {
    Result<std::string> text = text_of(member.value);
    const std::string path = path_of_member(name, member.key);
    if (!text) return fail(located(std::move(text).error(), path, member.value));
    out.emplace_back(member.key, *std::move(text));
  }
  return out;
}

Result<void> Reader::ignore(std::string_view name) {
  TRY(get(name));
  return {};
}

Result<void> Reader::done() const {
  if (ignores_rest_) return {};
  if (!value_->is(Kind::map)) {
    return fail(located(value_->mismatch("a map"), path_.empty() ? "document" : path_, *value_));
  }
  for (const Value::Member& member : value_->members()) {
    if (std::ranges::find(asked_, std::string_view(member.key)) != asked_.end()) continue;
    const std::string prefix = path_.empty() ? "" : path_ + ": ";
    // All of them: what is meant may be called quite differently.
    const auto near = closest(member.key, asked_);
    const std::string known =
        asked_.empty() ? ""
                       : "known: " + join_names(asked_, std::max<std::size_t>(1, asked_.size()));
    return fail(Error{Code::invalid, fmt::format("{}unknown field {}", prefix, quote(member.key)),
                      member.place.text(),
                      near ? fmt::format("did you mean {}?", quote(*near)) : known});
  }
  return {};
}

Error Reader::error(std::string_view name, std::string_view what, std::string hint) const {
  const Value* const found = value_->find(name);
  return {Code::invalid, fmt::format("{}: {}", path_of(name), what),
          (found != nullptr ? found : value_)->place().text(), std::move(hint)};
}

}  // namespace tutti
