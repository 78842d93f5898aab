#include "format/csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "format/quantity.h"
#include "format/text.h"

namespace tutti {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 16U;

// Columns are found by a scan; the widest trace known has 60.
constexpr std::size_t columns_max = 4096;

std::unexpected<Error> refuse(std::string what, Place place, std::string hint = {}) {
  return fail(Error{Code::invalid, std::move(what), place.text(), std::move(hint)});
}

}  // namespace

// The strings are never short, so that moving the reader leaves the fields where they are.
CsvReader::CsvReader(Source source, std::string_view text, char delimiter)
    : source_(std::move(source)), text_(text), delimiter_(delimiter) {
  CHECK(delimiter != '"' && delimiter != '\n' && delimiter != '\r');
  buffer_.reserve(sizeof(std::string) * 2);
  scratch_.reserve(sizeof(std::string) * 2);
}

Result<CsvReader> CsvReader::open(std::string_view text, char delimiter) {
  return start(CsvReader({}, text, delimiter));
}

Result<CsvReader> CsvReader::open(Source source, char delimiter) {
  CHECK(source != nullptr);
  return start(CsvReader(std::move(source), {}, delimiter));
}

Result<CsvReader> CsvReader::start(CsvReader reader) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  while (!reader.all_in_view() && reader.view().size() < mark.size()) TRY(reader.pull());
  if (reader.view().starts_with(mark)) reader.at_ = mark.size();
  TRY(reader.read_header());
  return reader;
}

Result<void> CsvReader::read_header() {
  const bool found = TRY(advance());
  if (!found) return refuse("the table is empty", {1, 1}, "its first row has to name the columns");
  if (fields_.size() > columns_max) {
    return fail(Error{Code::limit, fmt::format("more than {} columns", columns_max), "1:1", {}});
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (std::ranges::find(names, fields_[i]) != names.end()) {
      return refuse(fmt::format("column {} is named twice", quote(fields_[i])), place(i));
    }
    names.emplace_back(fields_[i]);
  }
  header_ = std::move(names);
  fields_.clear();
  pieces_.clear();
  return {};
}

Result<std::size_t> CsvReader::column(std::string_view name) const {
  const auto found = std::ranges::find(header_, name);
  if (found != header_.end()) return static_cast<std::size_t>(found - header_.begin());
  const std::vector<std::string_view> names(header_.begin(), header_.end());
  const auto near = closest(name, names);
  return fail(Error{Code::not_found, fmt::format("there is no column {}", quote(name)), "1:1",
                    near ? fmt::format("is it the one that is called {}?", quote(*near))
                         : "found: " + join_names(names)});
}

bool CsvReader::has(std::string_view name) const {
  return std::ranges::find(header_, name) != header_.end();
}

Result<bool> CsvReader::next() {
  if (failed_) return fail(*failed_);
  Result<bool> out = advance();
  if (!out) failed_ = out.error();
  return out;
}

Result<bool> CsvReader::advance() {
  while (true) {
    row_begin_ = at_;
    row_line_ = line_;
    Step step = TRY(read_row());
    while (step == Step::more) {  // The row is read again with more of it in view.
      TRY(pull());
      step = TRY(read_row());
    }
    if (step == Step::end) {
      fields_.clear();
      pieces_.clear();
      return false;
    }
    if (step == Step::blank) continue;
    TRY(finish_row());
    return true;
  }
}

Result<CsvReader::Step> CsvReader::read_row() {
  at_ = row_begin_;
  line_ = row_line_;
  line_begin_ = row_begin_;
  scratch_.clear();
  pieces_.clear();
  if (at_ == view().size()) return all_in_view() ? Step::end : Step::more;
  while (true) {
    const Step step = TRY(read_field());
    if (step == Step::more) return step;
    if (step == Step::field) continue;
    const Piece& only = pieces_.front();
    const bool blank = pieces_.size() == 1 && only.size == 0 && only.begin == only.start;
    return blank ? Step::blank : Step::row;
  }
}

Result<CsvReader::Step> CsvReader::read_field() {
  Piece& piece = pieces_.emplace_back();
  piece.begin = piece.start = at_;
  piece.line = line_;
  piece.line_begin = line_begin_;
  const bool quoted = at_ < view().size() && view()[at_] == '"';
  const Step step = TRY(quoted ? read_quoted(piece) : read_bare(piece));
  if (step == Step::more) return step;
  return end_of_field();
}

Result<CsvReader::Step> CsvReader::read_bare(Piece& piece) {
  const std::string_view text = view();
  while (at_ < text.size()) {
    const char c = text[at_];
    if (c == delimiter_ || c == '\n' || c == '\r') break;
    if (c == '"') {
      return refuse("a quote inside a field without quotes", here(),
                    "put the whole field in quotes and double the quotes inside");
    }
    ++at_;
  }
  if (at_ == text.size() && !all_in_view()) return Step::more;
  piece.size = at_ - piece.begin;
  return Step::field;
}

Result<CsvReader::Step> CsvReader::read_quoted(Piece& piece) {
  const std::string_view text = view();
  const Place opened = here();
  std::size_t begin = ++at_;
  piece.begin = begin;
  while (true) {
    const std::size_t end = text.find('"', at_);
    const bool certain = end != text.npos && end + 1 < text.size();
    if (!certain && !all_in_view()) return Step::more;
    if (end == text.npos) {
      return refuse("a quoted field is not closed", opened, "add the closing quote");
    }
    for (; at_ < end; ++at_) {
      if (text[at_] != '\n') continue;
      ++line_;
      line_begin_ = at_ + 1;
    }
    ++at_;
    const bool doubled = certain && text[at_] == '"';
    if (!doubled && !piece.in_scratch) {
      piece.size = end - begin;
      return Step::field;
    }
    if (!piece.in_scratch) piece.begin = scratch_.size();
    piece.in_scratch = true;
    scratch_ += text.substr(begin, end - begin + (doubled ? 1 : 0));
    piece.size = scratch_.size() - piece.begin;
    if (!doubled) return Step::field;
    begin = ++at_;
  }
}

/// At the delimiter or the end of the line behind a field.
Result<CsvReader::Step> CsvReader::end_of_field() {
  const std::string_view text = view();
  if (at_ == text.size()) return all_in_view() ? Step::row : Step::more;
  if (text[at_] == delimiter_) {
    ++at_;
    return Step::field;
  }
  if (text[at_] == '\r' && at_ + 1 == text.size() && !all_in_view()) return Step::more;
  const bool crlf = text.substr(at_, 2) == "\r\n";
  if (!crlf && text[at_] == '\r') return refuse("a carriage return without a line feed", here());
  if (!crlf && text[at_] != '\n') {
    return refuse("text behind the closing quote of a field", here(),
                  "double the quotes inside a quoted field");
  }
  at_ += crlf ? 2 : 1;
  ++line_;
  line_begin_ = at_;
  return Step::row;
}

Result<void> CsvReader::finish_row() {
  TRY(check_bytes());
  if (!header_.empty() && pieces_.size() != header_.size()) return check_width();
  fields_.clear();
  for (const Piece& piece : pieces_) {
    const std::string_view text = piece.in_scratch ? std::string_view(scratch_) : view();
    fields_.push_back(text.substr(piece.begin, piece.size));
  }
  return {};
}

Result<void> CsvReader::check_width() const {
  const std::string counts = fmt::format("the row has {} {}, the header {}", pieces_.size(),
                                         pieces_.size() == 1 ? "field" : "fields", header_.size());
  if (pieces_.size() > header_.size()) {
    const Piece& extra = pieces_[header_.size()];
    return refuse(counts, place_at(extra.line, extra.line_begin, extra.start),
                  "a field that holds the delimiter has to stand in quotes");
  }
  const Piece& last = pieces_.back();
  return refuse(fmt::format("column {} is missing: {}", quote(header_[pieces_.size()]), counts),
                place_at(last.line, last.line_begin, last.start), "is the file complete?");
}

Result<void> CsvReader::check_bytes() const {
  const std::string_view row = view().substr(row_begin_, at_ - row_begin_);
  const std::size_t null = row.find('\0');
  const std::optional<std::size_t> invalid = first_invalid_utf8(row);
  if (null == row.npos && !invalid) return {};
  const std::size_t offset = std::min(null, invalid.value_or(row.npos));
  const Place place = Place{row_line_, 1}.after(row.substr(0, offset));
  if (offset == null) return refuse("a NUL character", place);
  const auto byte = static_cast<unsigned char>(row[offset]);
  return refuse(fmt::format("byte 0x{:02x} is not valid UTF-8", byte), place,
                "save the file as UTF-8");
}

/// Drops what stands before the row and at least doubles what is held of it, so that reading it
/// again from its start stays linear.
Result<void> CsvReader::pull() {
  std::memmove(buffer_.data(), buffer_.data() + row_begin_, filled_ - row_begin_);
  filled_ -= row_begin_;
  at_ -= row_begin_;
  row_begin_ = 0;
  const std::size_t held = filled_;
  if (held > row_bytes_max) {
    return fail(Error{Code::limit, fmt::format("a row of more than {} bytes", row_bytes_max),
                      Place{row_line_, 1}.text(), "is a closing quote missing?"});
  }
  while (!source_ended_ && filled_ < std::max<std::size_t>(2 * held, 1)) {
    if (buffer_.size() - filled_ < chunk) buffer_.resize(filled_ + std::max(chunk, held));
    const std::size_t count = TRY(source_(std::span<char>(buffer_).subspan(filled_)));
    CHECK(count <= buffer_.size() - filled_, count);
    filled_ += count;
    source_ended_ = count == 0;
  }
  return {};
}

Place CsvReader::place_at(std::uint32_t line, std::size_t line_begin, std::size_t offset) const {
  return Place{line, 1}.after(view().substr(line_begin, offset - line_begin));
}

std::string_view CsvReader::text(std::size_t column) const {
  CHECK(column < fields_.size(), column, fields_.size());
  return fields_[column];
}

Place CsvReader::place(std::size_t column) const {
  CHECK(column < pieces_.size(), column, pieces_.size());
  const Piece& piece = pieces_[column];
  return place_at(piece.line, piece.line_begin, piece.start);
}

Result<std::string_view> CsvReader::text(std::string_view name) const {
  return text(TRY(column(name)));
}

Result<std::int64_t> CsvReader::integer(std::size_t column, std::int64_t min,
                                        std::int64_t max) const {
  const std::string_view digits = text(column);
  std::int64_t value = 0;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto [stop, failure] = std::from_chars(begin, end, value);
  if (failure == std::errc::result_out_of_range && stop == end) {
    return fail(error(column, fmt::format("{} does not fit 64 bits", quote(digits))));
  }
  if (failure != std::errc() || stop != end) {
    return fail(error(column, fmt::format("{} is not an integer", quote(digits))));
  }
  if (value < min || value > max) {
    return fail(error(column, fmt::format("{} is out of range", value),
                      fmt::format("allowed: {} to {}", min, max)));
  }
  return value;
}

Result<std::int64_t> CsvReader::integer(std::string_view name, std::int64_t min,
                                        std::int64_t max) const {
  return integer(TRY(column(name)), min, max);
}

Result<std::optional<std::int64_t>> CsvReader::optional_integer(std::string_view name,
                                                                std::int64_t min,
                                                                std::int64_t max) const {
  const std::size_t index = TRY(column(name));
  if (text(index).empty()) return std::nullopt;
  return TRY(integer(index, min, max));
}

Result<std::int64_t> CsvReader::fixed(std::string_view name, unsigned digits) const {
  const std::size_t index = TRY(column(name));
  Result<std::int64_t> value = parse_fixed(text(index), digits, Sign::any);
  if (!value) return fail(located(std::move(value).error(), index));
  return value;
}

Result<std::optional<std::int64_t>> CsvReader::optional_fixed(std::string_view name,
                                                              unsigned digits) const {
  if (TRY(text(name)).empty()) return std::nullopt;
  return TRY(fixed(name, digits));
}

Error CsvReader::error(std::size_t column, std::string_view what, std::string hint) const {
  return located(Error{Code::invalid, std::string(what), {}, std::move(hint)}, column);
}

Error CsvReader::located(Error error, std::size_t column) const {
  error.what = fmt::format("column {}: {}", quote(header_[column]), error.what);
  error.where = place(column).text();
  return error;
}

}  // namespace tutti
