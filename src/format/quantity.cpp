#include "format/quantity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>

#include "base/check.h"
#include "format/text.h"

namespace tutti {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int digits_max = 36;  // A mantissa stays below 10^36 < 2^120.
constexpr std::int64_t int64_max = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view quantity_hint =
    "write a number with one of n u m k M G T P E Ki Mi Gi Ti Pi Ei, such as 500m or 80Gi";
constexpr std::string_view duration_hint = "write for example 90s, 250ms, 1h30m or 2d";

/// mantissa * 10^exponent, and where its text ended.
struct Decimal {
  bool negative = false;
  Wide mantissa = 0;
  int exponent = 0;
  std::string_view rest;
};

enum class Rounding : std::uint8_t { up, nearest, exact };

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<Error> bad(std::string_view what, std::string_view text, std::string_view hint) {
  return fail(Code::invalid, fmt::format("{} is not {}", quote(text), what), std::string(hint));
}

std::unexpected<Error> overflow(std::string_view text, std::string_view unit) {
  return fail(Code::limit, fmt::format("{} is more than {}{}", quote(text), int64_max, unit),
              "use a smaller number");
}

/// Reads [+-] digits [. digits]. The zeros at either end of the digits are never stored.
Result<Decimal> read_decimal(std::string_view text) {
  Decimal out;
  std::size_t at = 0;
  if (text.starts_with('-') || text.starts_with('+')) out.negative = text[at++] == '-';
  bool dot = false;
  bool any = false;
  int zeros = 0;
  int digits = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !dot)); ++at) {
    if (text[at] == '.') {
      dot = true;
      continue;
    }
    any = true;
    if (dot) --out.exponent;
    if (text[at] == '0') {
      ++zeros;
      continue;
    }
    if (out.mantissa == 0) zeros = 0;
    digits += zeros + 1;
    if (digits > digits_max) {
      return fail(Code::limit, fmt::format("{} has more than {} digits", quote(text), digits_max),
                  "round it");
    }
    for (; zeros > 0; --zeros) out.mantissa *= 10;
    out.mantissa = out.mantissa * 10 + static_cast<unsigned>(text[at] - '0');
  }
  if (!any) return fail(Code::invalid, fmt::format("{} is not a number", quote(text)));
  if (out.mantissa != 0) out.exponent += zeros;
  out.rest = text.substr(at);
  return out;
}

/// Takes a leading e+3 or E3 off `rest`, if there is one; leaves "E" and "Ei", which are suffixes.
bool read_exponent(Decimal& value) {
  constexpr int beyond_every_use = 9999;
  std::string_view rest = value.rest;
  if (rest.size() < 2 || (rest[0] != 'e' && rest[0] != 'E')) return false;
  rest.remove_prefix(1);
  const bool negative = rest.front() == '-';
  if (negative || rest.front() == '+') rest.remove_prefix(1);
  if (rest.empty() || !is_digit(rest.front())) return false;
  int exponent = 0;
  while (!rest.empty() && is_digit(rest.front())) {
    exponent = std::min(exponent * 10 + (rest.front() - '0'), beyond_every_use);
    rest.remove_prefix(1);
  }
  value.exponent += negative ? -exponent : exponent;
  value.rest = rest;
  return true;
}

/// The result when it is above zero and below one half.
std::optional<std::int64_t> tiny(Rounding rounding) {
  if (rounding == Rounding::exact) return std::nullopt;
  return rounding == Rounding::up ? 1 : 0;
}

/// mantissa * 2^twos / divisor, rounded; nullopt when it does not fit or is not exact as asked.
std::optional<std::int64_t> divided(Wide mantissa, unsigned twos, Wide divisor, Rounding rounding) {
  const Wide quotient = mantissa / divisor;
  if (quotient > static_cast<Wide>(int64_max) >> twos) return std::nullopt;
  const Wide part = (mantissa % divisor) << twos;
  Wide result = (quotient << twos) + part / divisor;
  const Wide left = part % divisor;
  if (left != 0 && rounding == Rounding::exact) return std::nullopt;
  if (left != 0 && (rounding == Rounding::up || left >= divisor - left)) ++result;
  if (result > static_cast<Wide>(int64_max)) return std::nullopt;
  return static_cast<std::int64_t>(result);
}

/// mantissa * 10^exponent * 2^twos as an int64. 2^twos / 10^x is taken as 2^(twos - x) / 5^x, which
/// keeps every intermediate below 2^128: 5^54 < 2^126, and a remainder below min(5^x, 10^36) times
/// 2^(60 - x) stays below 2^128 for each x. REQUIRES: twos <= 60.
std::optional<std::int64_t> scaled(Wide mantissa, int exponent, unsigned twos, Rounding rounding) {
  if (mantissa == 0) return 0;
  if (exponent >= 0) {
    if (exponent > 18 || mantissa > static_cast<Wide>(int64_max)) return std::nullopt;
    for (; exponent > 0; --exponent) mantissa *= 10;
    return divided(mantissa, twos, 1, rounding);
  }
  if (exponent < -54) return tiny(rounding);  // Below 10^36 * 2^60 / 10^55 < 0.12.
  const auto down = static_cast<unsigned>(-exponent);
  Wide fives = 1;
  for (unsigned i = 0; i < down; ++i) fives *= 5;
  if (twos >= down) return divided(mantissa, twos - down, fives, rounding);
  const unsigned halvings = down - twos;
  if (fives > ~Wide{0} >> halvings) return tiny(rounding);  // A mantissa is below 2^120.
  return divided(mantissa, 0, fives << halvings, rounding);
}

struct Suffix {
  std::string_view text;
  int exponent;
  unsigned twos;
};

constexpr std::array suffixes = {
    Suffix{"", 0, 0},    Suffix{"n", -9, 0},  Suffix{"u", -6, 0},  Suffix{"m", -3, 0},
    Suffix{"k", 3, 0},   Suffix{"M", 6, 0},   Suffix{"G", 9, 0},   Suffix{"T", 12, 0},
    Suffix{"P", 15, 0},  Suffix{"E", 18, 0},  Suffix{"Ki", 0, 10}, Suffix{"Mi", 0, 20},
    Suffix{"Gi", 0, 30}, Suffix{"Ti", 0, 40}, Suffix{"Pi", 0, 50}, Suffix{"Ei", 0, 60},
};

std::string suffix_hint(std::string_view rest) {
  if (rest == "K" || rest == "KB" || rest == "kB") return "use k (1000) or Ki (1024)";
  if (rest == "B") return "leave out the B: amounts of memory are bytes already";
  if (rest.size() == 2 && rest[1] == 'B') {
    return fmt::format("use {0} (decimal) or {0}i (binary), without B", rest[0]);
  }
  return std::string(quantity_hint);
}

std::unexpected<Error> negative(std::string_view text) {
  return fail(Code::invalid, fmt::format("{} is negative", quote(text)), "use zero or more");
}

Result<std::int64_t> quantity(std::string_view text, Sign sign, int scale, std::string_view unit) {
  Result<Decimal> read = read_decimal(text);
  if (!read && read.error().code == Code::invalid) return bad("a quantity", text, quantity_hint);
  Decimal value = TRY(std::move(read));
  const bool has_exponent = read_exponent(value);
  const auto suffix = std::ranges::find(suffixes, value.rest, &Suffix::text);
  if (suffix == suffixes.end() || (has_exponent && !suffix->text.empty())) {
    return bad("a quantity", text, suffix_hint(value.rest));
  }
  if (value.negative && sign == Sign::positive && value.mantissa != 0) return negative(text);
  const auto amount =
      scaled(value.mantissa, value.exponent + suffix->exponent + scale, suffix->twos, Rounding::up);
  if (!amount) return overflow(text, unit);
  return value.negative ? -*amount : *amount;
}

struct TimeUnit {
  std::string_view text;
  unsigned factor;  // Of 10^exponent microseconds.
  int exponent;
};

// Largest first: a spelling must go down this list.
constexpr std::array time_units = {
    TimeUnit{"w", 6048, 8}, TimeUnit{"d", 864, 8}, TimeUnit{"h", 36, 8}, TimeUnit{"m", 6, 7},
    TimeUnit{"s", 1, 6},    TimeUnit{"ms", 1, 3},  TimeUnit{"us", 1, 0},
};

/// One "90s" of a duration, added to `total`.
Result<void> add_part(const Decimal& part, const TimeUnit& unit, std::string_view text,
                      std::int64_t& total) {
  constexpr unsigned factor_max = 6048;
  if (part.mantissa > ~Wide{0} / 256 / factor_max) {
    return fail(Code::limit, fmt::format("{} has too many digits", quote(text)), "round it");
  }
  const Wide mantissa = part.mantissa * unit.factor;
  const int exponent = part.exponent + unit.exponent;
  const auto rough = scaled(mantissa, exponent, 0, Rounding::up);
  if (!rough || *rough > int64_max - total) return overflow(text, " microseconds");
  const auto exact = scaled(mantissa, exponent, 0, Rounding::exact);
  if (!exact) {
    return fail(Code::invalid, fmt::format("{} is finer than a microsecond", quote(text)),
                "round it to microseconds");
  }
  total += *exact;
  return {};
}

/// Takes the unit off the front of `rest`; nullptr when there is none of those after `above`.
const TimeUnit* take_unit(std::string_view& rest, const TimeUnit* above) {
  std::size_t length = 0;
  while (length < rest.size() && rest[length] >= 'a' && rest[length] <= 'z') ++length;
  std::string_view word = rest.substr(0, length);
  if (word == "min") word = "m";
  const auto unit = std::ranges::find(time_units, word, &TimeUnit::text);
  if (unit == time_units.end() || (above != nullptr && &*unit <= above)) return nullptr;
  rest.remove_prefix(length);
  return &*unit;
}

std::string two_units(std::int64_t large, std::string_view large_name, std::int64_t small,
                      std::string_view small_name) {
  if (small == 0) return fmt::format("{}{}", large, large_name);
  return fmt::format("{}{}{}{}", large, large_name, small, small_name);
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text, Sign sign) {
  return quantity(text, sign, 0, "");
}

Result<std::int64_t> parse_quantity_milli(std::string_view text, Sign sign) {
  return quantity(text, sign, 3, " thousandths");
}

Result<std::int64_t> parse_fixed(std::string_view text, unsigned digits, Sign sign) {
  CHECK(digits <= 18, digits);
  constexpr std::string_view hint = "write a plain number such as 12 or 0.25";
  Result<Decimal> read = read_decimal(text);
  if (!read && read.error().code == Code::invalid) return bad("a number", text, hint);
  Decimal value = TRY(std::move(read));
  read_exponent(value);
  if (!value.rest.empty()) return bad("a number", text, hint);
  if (value.negative && sign == Sign::positive && value.mantissa != 0) return negative(text);
  const auto amount =
      scaled(value.mantissa, value.exponent + static_cast<int>(digits), 0, Rounding::nearest);
  if (!amount) return overflow(text, fmt::format(" / 10^{}", digits));
  return value.negative ? -*amount : *amount;
}

Result<std::int64_t> parse_permille(std::string_view text, unsigned digits) {
  constexpr unsigned guard = 3;
  return TRY(parse_fixed(text, digits + guard)) / 1000;
}

Result<Duration> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  const TimeUnit* above = nullptr;
  std::string_view rest = text;
  do {
    Result<Decimal> read = read_decimal(rest);
    if (!read && read.error().code == Code::invalid) return bad("a duration", text, duration_hint);
    Decimal part = TRY(std::move(read));
    if (part.negative && part.mantissa != 0) return negative(text);
    const bool first = rest.size() == text.size();
    if (!first && !is_digit(rest.front()) && rest.front() != '.') {
      return bad("a duration", text, duration_hint);  // A sign in the middle.
    }
    read_exponent(part);
    rest = part.rest;
    constexpr const TimeUnit* seconds = &time_units[4];
    const bool plain = first && rest.empty();
    const TimeUnit* const unit = plain ? seconds : take_unit(rest, above);
    if (unit == nullptr) return bad("a duration", text, duration_hint);
    TRY(add_part(part, *unit, text, total));
    above = unit;
  } while (!rest.empty());
  return Duration{total};
}

std::string quantity_text(std::int64_t base_units) {
  std::string best = std::to_string(base_units);
  for (const Suffix& suffix : suffixes) {
    std::int64_t unit = std::int64_t{1} << suffix.twos;
    for (int i = 0; i < suffix.exponent; ++i) unit *= 10;
    if (suffix.exponent < 0 || base_units == 0 || base_units % unit != 0) continue;
    const std::string text = fmt::format("{}{}", base_units / unit, suffix.text);
    if (text.size() < best.size()) best = text;
  }
  return best;
}

std::string quantity_milli_text(std::int64_t milli) {
  if (milli % 1000 == 0) return std::to_string(milli / 1000);
  return fmt::format("{}m", milli);
}

std::string duration_text(Duration length) {
  CHECK(length.us >= 0, length.us);
  std::string out;
  std::int64_t left = length.us;
  for (const TimeUnit& unit : time_units) {
    if (unit.text == "w") continue;  // "14d" reads better than "2w".
    std::int64_t us = unit.factor;
    for (int i = 0; i < unit.exponent; ++i) us *= 10;
    if (left >= us) out += fmt::format("{}{}", left / us, unit.text);
    left %= us;
  }
  return out.empty() ? "0s" : out;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 7> units = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  const bool negative = bytes < 0;
  const std::uint64_t size =
      negative ? 0 - static_cast<std::uint64_t>(bytes) : static_cast<std::uint64_t>(bytes);
  std::size_t unit = 0;
  while (unit + 1 < units.size() && size >> (10 * unit) >= 1024) ++unit;
  const auto tenths_at = [size](std::size_t u) -> std::uint64_t {
    const auto wide = static_cast<Wide>(size) * 10;
    return static_cast<std::uint64_t>(u == 0 ? wide
                                             : (wide + (Wide{1} << (10 * u - 1))) >> (10 * u));
  };
  // 1023.96 Mi would print as 1024.0Mi.
  if (unit + 1 < units.size() && tenths_at(unit) >= 10240) ++unit;
  const std::uint64_t tenths = tenths_at(unit);
  const std::string number = tenths % 10 == 0 ? fmt::format("{}", tenths / 10)
                                              : fmt::format("{}.{}", tenths / 10, tenths % 10);
  return fmt::format("{}{}{}", negative ? "-" : "", number, units[unit]);
}

std::string to_text(Duration length) {
  if (length.us < 0) {
    // The most negative one has no positive twin.
    return "-" + to_text(Duration{-std::max(length.us, -int64_max)});
  }
  const std::int64_t seconds = length.us / 1'000'000;
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  if (length.us == 0) return "0 s";
  if (length.us < 1000) return fmt::format("{} us", length.us);
  if (seconds == 0) return fmt::format("{} ms", length.us / 1000);
  if (minutes == 0) return fmt::format("{} s", seconds);
  if (hours == 0) return fmt::format("{} min", minutes);
  if (hours < 24) return two_units(hours, "h", minutes % 60, "m");
  return two_units(hours / 24, "d", hours % 24, "h");
}

}  // namespace tutti
