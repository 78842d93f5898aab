/// Text for people: UTF-8 checks, safe quoting, "did you mean", display width and aligned tables.
///
/// Nothing here trusts its input: `quote` escapes control characters, so that hostile text cannot
/// drive a terminal, and shortens long text. Widths follow the usual terminal rule: East Asian wide
/// characters and emoji take two columns, combining marks none.
/// Complexity: linear, except edit_distance, O(n * m) on names of at most 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// One character of UTF-8 text. `length` is 0 where the bytes are not valid UTF-8 (overlong forms,
/// surrogates and values above U+10FFFF included).
struct CodePoint {
  char32_t value = 0;
  unsigned length = 0;
};

/// The character that starts at `text[at]`. REQUIRES: at < text.size().
CodePoint decode_utf8(std::string_view text, std::size_t at);

/// Appends `value` as UTF-8. REQUIRES: a Unicode scalar value.
void append_utf8(std::string& out, char32_t value);

/// The byte offset of the first invalid sequence, or nullopt for valid UTF-8.
std::optional<std::size_t> first_invalid_utf8(std::string_view text);

/// Columns on a terminal; an invalid byte counts as one.
std::size_t display_width(std::string_view text);

/// `"8Gi"`: in double quotes, control characters and invalid bytes as \xNN, at most about 60 bytes.
std::string quote(std::string_view text);

/// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, on bytes.
/// Texts longer than 64 bytes are not compared: the answer is the longer length.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, near enough to be a typing error (a third of its length; case
/// does not count), else the only one that starts with it ("mem"), or nullopt. Ties fall to one
/// with the same first letter, then to the first.
std::optional<std::string_view> closest(std::string_view name,
                                        std::span<const std::string_view> candidates);

/// A hint for a name that does not exist: `did you mean "count"?`, or else `known: count, name`
/// (at most 12 of them), or empty when there are no candidates.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

/// "a, b, c", or "a, b and 7 more" beyond `most`. REQUIRES: most > 0.
std::string join_names(std::span<const std::string_view> names, std::size_t most = 12);

/// An aligned table: two spaces between columns, no trailing spaces, and numbers to the right. A
/// column is numeric when each of its cells, but for empty ones and "-", starts with a digit after
/// an optional sign.
///
///   Table table({"NODE", "GPU"});
///   table.add({"n0", "8"});
///   out += table.text();
class Table {
 public:
  explicit Table(std::vector<std::string> header);

  /// REQUIRES: as many cells as the header has.
  void add(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size(); }
  std::string text() const;

 private:
  bool numeric(std::size_t column) const;

  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tutti
