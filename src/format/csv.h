/// RFC 4180 tables: a header row, then rows of the same number of fields.
///
///   CsvReader csv = TRY(CsvReader::open(text));
///   while (TRY(csv.next())) {
///     const std::int64_t cpu = TRY(csv.integer("cpu_milli", 0, limits::amount));
///   }
///
/// Lines end in LF or CRLF; quoted fields may hold delimiters, doubled quotes and line ends; a byte
/// order mark and empty lines are skipped. Refused, with line and column: rows with missing or
/// extra fields, stray quotes, a bare CR, NUL, invalid UTF-8, a header that names a column twice.
/// Fields stay valid until the next call of next(). Complexity: linear; memory is
/// that of the longest row when read from a source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/source.h"
#include "format/value.h"

namespace tutti {

class CsvReader {
 public:
  static constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  static constexpr std::size_t row_bytes_max = std::size_t{16} << 20U;

  /// Reads the header. `text` must outlive the reader.
  static Result<CsvReader> open(std::string_view text, char delimiter = ',');
  static Result<CsvReader> open(Source source, char delimiter = ',');

  std::span<const std::string> header() const { return header_; }
  /// The index of a column, or an error with the nearest name. O(columns).
  Result<std::size_t> column(std::string_view name) const;
  bool has(std::string_view name) const;

  /// Moves to the next row; false after the last one. After an error every call fails with it.
  Result<bool> next();

  /// The fields of the row, without their quotes.
  std::span<const std::string_view> fields() const { return fields_; }
  /// REQUIRES: column < header().size().
  std::string_view text(std::size_t column) const;
  Place place(std::size_t column) const;

  /// Typed fields, by index or by name; errors name the column. An empty field is an error, or
  /// nullopt for the optional ones.
  Result<std::string_view> text(std::string_view name) const;
  Result<std::int64_t> integer(std::size_t column, std::int64_t min = least,
                               std::int64_t max = most) const;
  Result<std::int64_t> integer(std::string_view name, std::int64_t min = least,
                               std::int64_t max = most) const;
  Result<std::optional<std::int64_t>> optional_integer(std::string_view name,
                                                       std::int64_t min = least,
                                                       std::int64_t max = most) const;
  /// A decimal times 10^digits, rounded half away from zero (see parse_fixed); may be negative.
  Result<std::int64_t> fixed(std::string_view name, unsigned digits) const;
  Result<std::optional<std::int64_t>> optional_fixed(std::string_view name, unsigned digits) const;

  /// An error about a field that was read: csv.error(column, "no such node").
  Error error(std::size_t column, std::string_view what, std::string hint = {}) const;

 private:
  /// A field of the row being read. Unescaped text stands in `scratch_`, other text in the window.
  struct Piece {
    std::size_t begin = 0;
    std::size_t size = 0;
    bool in_scratch = false;
    std::uint32_t line = 0;
    std::size_t line_begin = 0;  ///< Of the line that the field starts in.
    std::size_t start = 0;       ///< Of the field, its quote included.
  };
  enum class Step : std::uint8_t { field, row, blank, more, end };

  CsvReader(Source source, std::string_view text, char delimiter);
  static Result<CsvReader> start(CsvReader reader);

  Result<void> read_header();
  Result<bool> advance();
  Result<Step> read_row();
  Result<Step> read_field();
  Result<Step> read_quoted(Piece& piece);
  Result<Step> read_bare(Piece& piece);
  Result<Step> end_of_field();
  Result<void> finish_row();
  Result<void> check_width() const;
  Result<void> check_bytes() const;
  Result<void> pull();
  std::string_view view() const {
    return source_ ? std::string_view(buffer_).substr(0, filled_) : text_;
  }
  bool all_in_view() const { return !source_ || source_ended_; }
  Place place_at(std::uint32_t line, std::size_t line_begin, std::size_t offset) const;
  Place here() const { return place_at(line_, line_begin_, at_); }
  Error located(Error error, std::size_t column) const;

  Source source_;  ///< Empty when reading from `text_`.
  std::string_view text_;
  std::string buffer_;  ///< Its first `filled_` bytes: what the source gave since the row began.
  std::size_t filled_ = 0;
  bool source_ended_ = false;
  char delimiter_;

  std::size_t row_begin_ = 0;  ///< All offsets are into view().
  std::uint32_t row_line_ = 1;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t line_begin_ = 0;
  std::string scratch_;
  std::vector<Piece> pieces_;
  std::vector<std::string_view> fields_;
  std::vector<std::string> header_;
  std::optional<Error> failed_;
};

}  // namespace tutti
