#include "dialect/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "base/limits.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t digits_max = 9;

Result<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && text.size() <= digits_max) return value;
  return fail(Code::invalid,
              fmt::format("{} is no number of at most {} digits", quote(text), digits_max),
              "a range looks like [0-15] or [0-7,9]");
}

/// One part of a range, "3" or "0-15": appends its numbers as text.
Result<void> add_numbers(std::string_view part, std::size_t most, std::vector<std::string>& out) {
  const std::size_t dash = part.find('-');
  const std::string_view low = part.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : part.substr(dash + 1);
  const std::uint32_t first = TRY(number_of(low));
  const std::uint32_t last = TRY(number_of(high));
  if (last < first) {
    return fail(Code::invalid, fmt::format("the range {} runs backwards", quote(part)));
  }
  if (last - first >= most - out.size()) {
    return fail(Code::limit,
                fmt::format("the range {} is one of more than {} names", quote(part), most));
  }
  for (std::uint32_t number = first; number <= last; ++number) {
    out.push_back(fmt::format("{:0{}}", number, low.size()));
  }
  return {};
}

Result<std::vector<std::string>> numbers_of(std::string_view range, std::size_t most) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= range.size();) {
    const std::size_t end = std::min(range.find(',', begin), range.size());
    TRY(add_numbers(range.substr(begin, end - begin), most, out));
    begin = end + 1;
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> expand_names(std::string_view pattern, std::size_t most) {
  std::vector<std::string> names{""};
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::size_t open = std::min(rest.find('['), rest.size());
    for (std::string& name : names) name += rest.substr(0, open);
    if (open == rest.size()) break;
    const std::size_t close = rest.find(']', open);
    if (close == std::string_view::npos) {
      return fail(Code::invalid,
                  fmt::format("{} opens a range with \"[\" that never ends", quote(pattern)),
                  "a range looks like [0-15] or [0-7,9]");
    }
    const auto numbers = TRY(numbers_of(rest.substr(open + 1, close - open - 1), most));
    if (names.size() * numbers.size() > most) {
      return fail(Code::limit, fmt::format("{} stands for {} names; at most {} are allowed here",
                                           quote(pattern), names.size() * numbers.size(), most));
    }
    std::vector<std::string> longer;
    longer.reserve(names.size() * numbers.size());
    for (const std::string& name : names) {
      for (const std::string& number : numbers) longer.push_back(name + number);
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
  for (const std::string& name : names) TRY(check_name(name));
  return names;
}

Result<void> check_name(std::string_view name) {
  if (name.empty() || name.size() > limits::name_length) {
    return fail(Code::invalid, fmt::format("a name has 1 to {} characters, this one {}",
                                           limits::name_length, name.size()));
  }
  const auto bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7f || c == '[' || c == ']';
  };
  if (std::ranges::none_of(name, bad)) return {};
  return fail(Code::invalid,
              fmt::format("{} has a blank, a bracket or a control character", quote(name)));
}

}  // namespace tutti
