#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "format/json.h"
#include "format/json_scan.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t buffer_size = std::size_t{1} << 16U;
constexpr std::size_t kept_member_max = std::size_t{64} << 10U;
constexpr std::size_t key_max = std::size_t{64} << 10U;
constexpr int end_of_input = -1;

}  // namespace

JsonItems::JsonItems(Source source, std::string name, std::size_t element_bytes_max)
    : source_(std::move(source)),
      name_(std::move(name)),
      element_bytes_max_(element_bytes_max),
      buffer_(buffer_size, '\0') {}

Result<std::optional<Value>> JsonItems::next() {
  const std::optional<std::string_view> text = TRY(next_text());
  if (!text) return std::nullopt;
  Result<Value> value = parse_json(*text, element_place_);
  if (!value) {
    failed_ = value.error();
    return fail(*failed_);
  }
  return *std::move(value);
}

Result<std::optional<std::string_view>> JsonItems::next_text() {
  if (failed_) return fail(*failed_);
  auto out = step();
  if (!out) failed_ = out.error();
  return out;
}

Result<std::optional<std::string_view>> JsonItems::step() {
  if (stage_ == Stage::start) TRY(begin());
  if (stage_ == Stage::members) {
    const bool found = TRY(find_list());
    if (!found) TRY(end_of_document());
  }
  if (stage_ == Stage::elements) {
    const bool found = TRY(next_element());
    if (found) return std::string_view(element_);
    if (name_.empty()) {
      TRY(end_of_document());
    } else {
      stage_ = Stage::members;
      const bool again = TRY(find_list());
      CHECK(!again);
      TRY(end_of_document());
    }
  }
  return std::nullopt;
}

Result<Value> JsonItems::rest() const {
  CHECK(stage_ == Stage::done);
  Value::Map members;
  for (const Value::Member& member : rest_) {
    members.push_back({member.key, member.place, member.value.copy()});
  }
  return map_without_duplicates(std::move(members), {1, 1});
}

Result<void> JsonItems::begin() {
  Result<int> first = peek();
  if (first && *first == 0xEF) {  // A byte order mark.
    for (const char byte : std::string_view("\xEF\xBB\xBF")) {
      const int found = TRY(peek());
      if (found != static_cast<unsigned char>(byte)) return bad("a document", found);
      ++at_;  // It takes no column.
    }
    first = peek();
  }
  const int bracket = TRY(std::move(first));
  const char expected = name_.empty() ? '[' : '{';
  if (bracket != expected) return bad(name_.empty() ? "a list" : "an object", bracket);
  take();
  stage_ = name_.empty() ? Stage::elements : Stage::members;
  return {};
}

/// Reads members up to and into the list. False when the object has ended.
Result<bool> JsonItems::find_list() {
  while (true) {
    int next = TRY(peek());
    if (next == '}') {
      take();
      return false;
    }
    if (!first_ && next != ',') return bad("\",\" or \"}\"", next);
    if (!first_) {
      take();
      next = TRY(peek());
    }
    first_ = false;
    if (next != '"') return bad("a key", next);
    const Place key_place = here_;
    std::string key = TRY(read_key());
    const int colon = TRY(peek());
    if (colon != ':') return bad("\":\"", colon);
    take();
    if (key != name_) {
      TRY(read_member(std::move(key), key_place));
      continue;
    }
    if (found_) {
      return fail(Error{Code::invalid, fmt::format("duplicate key {}", quote(key)),
                        key_place.text(), "keep one"});
    }
    found_ = true;
    const int start = TRY(peek());
    if (start == '[') {
      take();
      first_ = true;
      stage_ = Stage::elements;
      return true;
    }
    const Place place = here_;
    TRY(read_value(kept_member_max, /*keep_all=*/false));
    if (element_ == "null") continue;
    return fail(Error{Code::invalid, fmt::format("{} is not a list", quote(name_)), place.text(),
                      "it has to be a list of objects"});
  }
}

/// Reads the next element into `element_`. False when the list has ended.
Result<bool> JsonItems::next_element() {
  int next = TRY(peek());
  if (next == ']') {
    take();
    first_ = false;  // More members may follow.
    return false;
  }
  if (!first_ && next != ',') return bad("\",\" or \"]\"", next);
  if (!first_) {
    take();
    next = TRY(peek());
  }
  first_ = false;
  element_place_ = here_;
  TRY(read_value(element_bytes_max_, /*keep_all=*/true));
  if (element_.empty()) return bad("a value", next);
  return true;
}

Result<void> JsonItems::end_of_document() {
  const int next = TRY(peek());
  if (next != end_of_input) return bad("the end of the document", next);
  if (!found_ && !name_.empty()) {
    return fail(Error{Code::invalid, fmt::format("the document has no list {}", quote(name_)),
                      here_.text(), "is it the right file?"});
  }
  stage_ = Stage::done;
  return {};
}

Result<void> JsonItems::read_member(std::string key, Place key_place) {
  const int next = TRY(peek());
  const Place place = here_;
  TRY(read_value(kept_member_max, /*keep_all=*/false));
  if (element_.empty()) return bad("a value", next);
  if (element_.size() > kept_member_max) return {};
  rest_.push_back({std::move(key), key_place, TRY(parse_json(element_, place))});
  return {};
}

Result<std::string> JsonItems::read_key() {
  const Place place = here_;
  TRY(read_value(key_max, /*keep_all=*/true));
  const Value key = TRY(parse_json(element_, place));
  return std::string(TRY(key.as_text()));
}

/// Reads one value into `element_`. Beyond `bytes_max` it is an error, or (unless `keep_all`) its
/// start alone is kept, longer than `bytes_max`.
Result<void> JsonItems::read_value(std::size_t bytes_max, bool keep_all) {
  JsonEnd scanner;
  element_.clear();
  const Place start = here_;
  while (!scanner.done()) {
    const bool more = TRY(fill());
    if (!more) return bad("the rest of a value", end_of_input);
    const std::size_t used = scanner.scan(window());
    if (element_.size() <= bytes_max) element_ += window().substr(0, used);
    consume(used);
    if (element_.size() > bytes_max && keep_all) {
      return fail(Error{Code::limit, fmt::format("an element of more than {} bytes", bytes_max),
                        start.text(), "is the list the right one?"});
    }
  }
  return {};
}

/// Whether there is a byte in the window.
Result<bool> JsonItems::fill() {
  if (at_ < end_) return true;
  if (source_ended_) return false;
  at_ = end_ = 0;
  const std::size_t count = TRY(source_(std::span<char>(buffer_)));
  CHECK(count <= buffer_.size(), count);
  end_ = count;
  source_ended_ = count == 0;
  return count > 0;
}

/// The next byte that is no space, or end_of_input; it stays in the window.
Result<int> JsonItems::peek() {
  while (true) {
    const bool more = TRY(fill());
    if (!more) return end_of_input;
    const std::size_t space = window().find_first_not_of(" \t\r\n");
    consume(std::min(space, window().size()));
    if (at_ < end_) return static_cast<unsigned char>(buffer_[at_]);
  }
}

char JsonItems::take() {
  CHECK(at_ < end_);
  const char c = buffer_[at_];
  consume(1);
  return c;
}

void JsonItems::consume(std::size_t count) {
  here_ = here_.after(window().substr(0, count));
  at_ += count;
}

std::unexpected<Error> JsonItems::bad(std::string_view expected, int found) const {
  if (found == end_of_input) {
    return fail(Error{Code::invalid,
                      fmt::format("the document ends too early: expected {}", expected),
                      here_.text(), "is the file complete?"});
  }
  const char byte = static_cast<char>(found);
  return fail(Error{Code::invalid,
                    fmt::format("expected {}, found {}", expected, quote({&byte, 1})),
                    here_.text(),
                    {}});
}

}  // namespace tutti
