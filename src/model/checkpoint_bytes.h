/// Numbers and texts of a checkpoint, to bytes and back.
///
/// A number takes seven bits a byte, the low ones first, so most take one; negative ones are folded
/// to odd numbers. The reader never trusts a count: it is refused where more would follow than
/// there are bytes. After the first thing that is wrong it reads zeros and empty texts, so that
/// callers look once at the end; loops end by themselves.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/id.h"
#include "base/result.h"

namespace tutti {

class BytesOut {
 public:
  void byte(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7U;
    }
    byte(static_cast<std::uint8_t>(value));
  }
  void signed_number(std::int64_t value) {
    const auto folded = static_cast<std::uint64_t>(value) << 1U;
    number(value < 0 ? ~folded : folded);
  }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  /// None is 0, so that it takes one byte.
  template <class Tag, class Rep>
  void index(Index<Tag, Rep> value) {
    number(static_cast<Rep>(value.value() + 1));
  }

  void append(const BytesOut& other) { bytes_ += other.bytes_; }

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class BytesIn {
 public:
  explicit BytesIn(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (at_ >= bytes_.size()) return static_cast<std::uint8_t>(refuse("it ends too early"));
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    const std::uint8_t first = byte();
    return first < 0x80 ? first : long_number(first);
  }
  std::int64_t signed_number() {
    const std::uint64_t folded = number();
    return static_cast<std::int64_t>((folded & 1U) != 0 ? ~(folded >> 1U) : folded >> 1U);
  }
  /// At most `most`.
  std::uint64_t number_to(std::uint64_t most, std::string_view what) {
    return bounded(number(), most, what);
  }
  /// Of things that follow, each of a byte at least.
  std::size_t count() {
    const std::uint64_t value = number();  // What is left is counted behind it.
    return bounded(value, bytes_.size() - at_, "a count");
  }
  /// Valid as long as the bytes are.
  std::string_view text() {
    const std::size_t size = count();
    const std::string_view value = bytes_.substr(at_, size);
    at_ += size;
    return value;
  }
  /// Of a table with `size` rows.
  template <class Key>
  Key index(std::size_t size, std::string_view what) {
    const std::uint64_t value = number_to(size, what);
    if (value > 0) return Key(value - 1);
    refuse(std::string(what) + " is missing");
    return Key(0);
  }
  template <class Key>
  Key index_or_none(std::size_t size, std::string_view what) {
    const std::uint64_t value = number_to(size, what);
    return value == 0 ? Key::none() : Key(value - 1);
  }

  bool ok() const { return what_.empty(); }
  bool at_end() const { return at_ == bytes_.size(); }
  std::size_t at() const { return at_; }
  /// Notes the first thing that is wrong, and where; 0, for whoever returns it.
  std::uint64_t refuse(std::string what) {
    if (!ok()) return 0;
    what_ = std::move(what);
    wrong_at_ = at_;
    at_ = bytes_.size();
    return 0;
  }
  Result<void> result() const {
    if (ok()) return {};
    return fail({.code = Code::invalid,
                 .what = what_,
                 .where = "byte " + std::to_string(wrong_at_),
                 .hint = {}});
  }

 private:
  std::uint64_t bounded(std::uint64_t value, std::uint64_t most, std::string_view what) {
    if (value <= most) return value;
    return refuse(std::string(what) + " is " + std::to_string(value) + "; at most " +
                  std::to_string(most) + " is possible");
  }
  std::uint64_t long_number(std::uint8_t first) {
    std::uint64_t value = first & 0x7fU;
    for (unsigned shift = 7; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x7fU} << shift;
      if (next >= 0x80) continue;
      if (shift == 63 && next > 1) break;
      return value;
    }
    return refuse("a number of more than 64 bits");
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t wrong_at_ = 0;
  std::string what_;
};

}  // namespace tutti
