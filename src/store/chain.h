/// The hash chain over a journal: who changes, drops, adds or swaps a row changes all that follow.
///
/// The hash of a row is SHA-256, as 64 lower-case hexadecimal digits, of
///
///   hash of the row before, line feed, number of the row in decimal, line feed, the line
///
/// so that `printf '%s\n%s\n%s' "$before" "$row" "$line" | sha256sum` checks it without Tutti.
/// There is no key in it: it proves that nothing changed since somebody noted the last hash
/// elsewhere. Complexity: linear in the line.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tutti {

/// What stands before row 1: 64 zeros.
std::string chain_origin();
bool is_chain_hash(std::string_view text);

class Chain {
 public:
  Chain();
  ~Chain();
  Chain(Chain&&) noexcept;
  Chain& operator=(Chain&&) noexcept;

  /// The hash of row `row`, which holds `line`, after a row whose hash is `before`.
  std::string hash(std::string_view before, std::uint64_t row, std::string_view line);
  /// SHA-256 of the text alone, in the same form.
  std::string hash(std::string_view text);

 private:
  struct Digest;
  std::unique_ptr<Digest> digest_;
};

}  // namespace tutti
