#include "net/message.h"

#include <algorithm>

#include "base/check.h"
#include "format/json.h"

namespace tutti::net {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           others.find(c) != std::string_view::npos;
  });
}

bool breaks_line(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

Headers::Headers(std::initializer_list<Field> fields) {
  for (const auto& [name, value] : fields) add(name, value);
}

Headers& Headers::add(std::string_view name, std::string_view value) {
  CHECK(is_token(name), name);
  CHECK(!breaks_line(value), name, value);
  places_.push_back({.at = static_cast<std::uint32_t>(text_.size()),
                     .name_size = static_cast<std::uint32_t>(name.size()),
                     .value_size = static_cast<std::uint32_t>(value.size())});
  text_.append(name).append(value);
  return *this;
}

Headers::Field Headers::operator[](std::size_t index) const {
  const Place& place = places_[index];
  const std::string_view all = std::string_view(text_).substr(place.at);
  return {all.substr(0, place.name_size), all.substr(place.name_size, place.value_size)};
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (std::size_t index = 0; index < size(); ++index) {
    const Field field = (*this)[index];
    if (equal_ignoring_case(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::size_t Headers::count(std::string_view name) const {
  std::size_t found = 0;
  for (std::size_t index = 0; index < size(); ++index) {
    found += equal_ignoring_case((*this)[index].first, name) ? 1 : 0;
  }
  return found;
}

bool Headers::lists(std::string_view name, std::string_view word) const {
  for (std::size_t index = 0; index < size(); ++index) {
    auto [field, value] = (*this)[index];
    if (!equal_ignoring_case(field, name)) continue;
    while (!value.empty()) {
      const std::size_t comma = std::min(value.find(','), value.size());
      if (equal_ignoring_case(trimmed(value.substr(0, comma)), word)) return true;
      value.remove_prefix(std::min(comma + 1, value.size()));
    }
  }
  return false;
}

std::optional<std::string_view> Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::string error_body(std::string_view code, std::string_view message) {
  std::string out;
  JsonWriter json(out);
  json.begin_object().key("error").begin_object();
  json.member("code", code).member("message", message).end_object().end_object();
  return out;
}

Response error_response(int status, std::string_view code, std::string_view message) {
  return {.status = status,
          .headers = {{"Content-Type", "application/json"}},
          .body = error_body(code, message)};
}

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> phrases[] = {
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {428, "Precondition Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
      {507, "Insufficient Storage"},
  };
  const auto* const found =
      std::ranges::find(phrases, status, &std::pair<int, std::string_view>::first);
  return found == std::end(phrases) ? "Unknown" : found->second;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace tutti::net
