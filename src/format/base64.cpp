#include "format/base64.h"

#include <array>
#include <cstdint>

namespace tutti {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 64;

constexpr std::array<std::uint8_t, 256> digit_values = [] {
  std::array<std::uint8_t, 256> out{};
  out.fill(no_digit);
  for (std::size_t at = 0; at < alphabet.size(); ++at) {
    out[static_cast<unsigned char>(alphabet[at])] = static_cast<std::uint8_t>(at);
  }
  return out;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t byte = 0; byte < 3; ++byte) {
      bits = bits << 8U | (byte < group.size() ? static_cast<unsigned char>(group[byte]) : 0U);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out += digit <= group.size() ? alphabet[bits >> (18 - 6 * digit) & 63U] : '=';
    }
  }
  return out;
}

Result<std::string> parse_base64(std::string_view text) {
  const auto bad = [] { return fail(Code::invalid, "this is no base64"); };
  std::string out;
  std::uint32_t bits = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::uint8_t digit = digit_values[static_cast<unsigned char>(c)];
    if (c == '=' ? digits % 4 < 2 : digit == no_digit || padding > 0) return bad();
    padding += c == '=' ? 1 : 0;
    bits = bits << 6U | (c == '=' ? 0U : digit);
    if (++digits % 4 != 0) continue;
    for (std::size_t byte = 0; byte + padding < 3; ++byte) {
      out += static_cast<char>(bits >> (16 - 8 * byte) & 255U);
    }
    if (padding > 0) digits = 4;  // Nothing but line ends may follow.
  }
  if (digits % 4 != 0 || padding > 2) return bad();
  return out;
}

}  // namespace tutti
