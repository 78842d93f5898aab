#include "tutti/seeds.h"

#include <charconv>
#include <optional>

#include "format/text.h"

namespace tutti {
namespace {

std::optional<std::uint64_t> natural(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "42", "42..51".
Result<void> add_seeds(const std::string& text, std::vector<std::uint64_t>& seeds) {
  constexpr std::uint64_t most = 100'000;
  const std::size_t dots = text.find("..");
  const auto first = natural(std::string_view(text).substr(0, dots));
  const auto last = dots == text.npos ? first : natural(std::string_view(text).substr(dots + 2));
  if (!first || !last) {
    return fail(Code::invalid, "--seeds " + quote(text) + " is no seed", "write 42 or 42..51");
  }
  if (*last < *first) {
    return fail(Code::invalid, "--seeds " + quote(text) + " is no rising range",
                "write the smaller one first: 42..51");
  }
  if (*last - *first >= most - seeds.size()) {
    return fail(Code::limit, "--seeds " + quote(text) + " makes more than 100000 seeds in all",
                "at most 100000 are possible, such as 1..100000");
  }
  for (std::uint64_t at = 0; at <= *last - *first; ++at) seeds.push_back(*first + at);
  return {};
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_seeds(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> seeds;
  for (const std::string& text : texts) TRY(add_seeds(text, seeds));
  return seeds;
}

}  // namespace tutti
