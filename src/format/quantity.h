/// Amounts as people write them: Kubernetes quantities, decimals of a fixed scale, durations.
///
/// All arithmetic is exact, in integers; a result that does not fit is an error, never a wrapped or
/// rounded one. Errors carry no place: the reader that knows it adds it.
/// Complexity: linear in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tutti {

enum class Sign : std::uint8_t {
  positive,  ///< Zero or more; a minus sign is an error.
  any,
};

/// Base units of a Kubernetes quantity (bytes, cards): "80Gi", "1e3", "1.5k", "500m". Suffixes are
/// n u m k M G T P E and Ki Mi Gi Ti Pi Ei; a fraction of a unit is rounded away from zero, as
/// Kubernetes does, so a request is never understated.
Result<std::int64_t> parse_quantity(std::string_view text, Sign sign = Sign::positive);

/// The same in thousandths: "500m" is 500, "2" is 2000, "0.0001m" is 1.
Result<std::int64_t> parse_quantity_milli(std::string_view text, Sign sign = Sign::positive);

/// A plain decimal times 10^digits, rounded half away from zero: parse_fixed("1.2345", 3) is 1235.
/// Accepts a sign when asked to, a fraction and an exponent, no suffix. REQUIRES: digits <= 18.
Result<std::int64_t> parse_fixed(std::string_view text, unsigned digits,
                                 Sign sign = Sign::positive);

/// A part of one in thousandths, rounded down so that N parts of 1/N always fit: "0.1429" is 142.
/// `digits` as above: 1 for a number of percent, 3 for a fraction.
Result<std::int64_t> parse_permille(std::string_view text, unsigned digits);

/// "1h30m", "90s", "250ms", "2d", "1.5h"; a plain number is seconds ("90", "0.25"). Units us ms s m
/// h d w (also "min"), each at most once and largest first. Finer than a microsecond is an error.
Result<Duration> parse_duration(std::string_view text);

/// The shortest spelling that parse_quantity reads back exactly: "80Gi", "1536Mi", "1000".
std::string quantity_text(std::int64_t base_units);

/// The shortest spelling that parse_quantity_milli reads back exactly: "2", "500m".
std::string quantity_milli_text(std::int64_t milli);

/// The spelling that parse_duration reads back exactly: "1h30m", "90s" as "1m30s", "250ms", "0s".
/// REQUIRES: length >= 0.
std::string duration_text(Duration length);

/// For people, rounded to nearest: "79.2Gi", "512Mi", "100".
std::string bytes_text(std::int64_t bytes);

/// For people, the two leading units at most, rounded down: "250 ms", "42 s", "4 min", "1h30m",
/// "2d4h".
std::string to_text(Duration length);

}  // namespace tutti
