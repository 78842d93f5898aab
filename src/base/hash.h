/// A 64-bit fingerprint of values, the same on every machine and compiler. Not cryptographic.
#pragma once

#include <cstdint>
#include <string_view>

namespace tutti {

/// Finaliser of MurmurHash3 (Appleby): every input bit reaches every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33U;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33U;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33U;
  return x;
}

/// Order matters: adding 1 then 2 differs from adding 2 then 1.
class Hash {
 public:
  constexpr Hash& add(std::uint64_t value) {
    value_ = mix(value_ * 31 + value + 0x9e3779b97f4a7c15ULL);
    return *this;
  }
  constexpr Hash& add(std::string_view text) {
    add(text.size());
    std::uint64_t word = 0;
    unsigned filled = 0;
    for (const char c : text) {
      word = word << 8U | static_cast<unsigned char>(c);
      if (++filled == 8) {
        add(word);
        word = filled = 0;
      }
    }
    return filled == 0 ? *this : add(word);
  }
  constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace tutti
